"""`replay`: a replay of any kind, whose results go to a separate folder. The output of a failed replay never reaches real data.

`dataset: "@cause"` names the dataset of the cause, so one trigger can refresh any dataset that changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.rerun.replay import ReplayRequest, ReplayState
from headwater.backend.rerun.replay.kinds import KINDS, load_kind, refuse_other_parts
from headwater.backend.triggers.actions.action import CAUSE, Order, Site
from headwater.backend.triggers.conditions import NameLookup
from headwater.backend.triggers.conditions.condition import choice_of, refuse_unknown, text_of
from headwater.backend.triggers.model import Fact, FactKind
from headwater.errors import HeadwaterError, InvalidInputError, UnsupportedError
from headwater.graph.access.scopes import Scope
from headwater.graph.model import parse_id
from headwater.graph.stores import GraphStore

_PARTS = ("kind", "output", "dataset", "where", "rows", "set")


class ReplayFailedActionError(HeadwaterError):
    """A replay that a trigger started failed."""


class ReplayAction:
    repeats = True  # an interrupted attempt wrote to its separate folder only

    async def check(self, stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Mapping[str, Any]:
        refuse_unknown(stated, _PARTS, "replay")
        if tenant != DEFAULT_TENANT:
            raise UnsupportedError(f"The tenant {tenant} has no programs on this service.", hint="Programs belong to the home.")
        parts: dict[str, Any] = {"kind": choice_of(stated, "kind", tuple(KINDS), "replay", "refresh")}
        for name in ("output", "dataset"):
            if stated.get(name) is not None:
                text = text_of(stated, name, "replay")
                parts[name] = text if text == CAUSE else await known.dataset(text, f"replay.{name}")
        if stated.get("where") is not None:
            parts["where"] = text_of(stated, "where", "replay")
        if stated.get("rows"):
            parts["rows"] = [_row(one) for one in stated["rows"]]
        if stated.get("set"):
            parts["set"] = _values(stated["set"])
        request = _request(parts, ())
        refuse_other_parts(request, parts["kind"], load_kind(parts["kind"]))
        if CAUSE not in (parts.get("output"), parts.get("dataset")):
            await site.workspace.replays().plan_kind(tenant, kind=parts["kind"], request=request, is_kept=False)
        return parts

    def retry_seconds(self, parts: Mapping[str, Any], site: Site) -> float:  # noqa: ARG002
        return 0.0

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:
        return frozenset({Scope.REPLAY, Scope.RECORDS} if "where" in parts or "set" in parts else {Scope.REPLAY})

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:  # noqa: ARG002
        return bool(site.workspace.registry.programs())

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        replays = site.workspace.replays()
        planned = await replays.plan_kind(order.tenant, kind=parts["kind"], request=_request(parts, order.facts), by=order.owner or None)
        async with site.turn:
            done = await replays.run(planned)
        if done.state is not ReplayState.COMPLETE:
            raise ReplayFailedActionError(f"The replay {done.id} failed: {done.error}")
        changed = f"{len(done.changed)} of {len(done.outputs or [done.output])} outputs differ"
        return f"the replay {done.id} is complete: {changed}"

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002
        return []  # the separate folder of a replay is not a version of a dataset

    def describe(self, parts: Mapping[str, Any]) -> str:
        about = parts.get("output") or parts.get("dataset")
        name = "the changed dataset" if about == CAUSE else parse_id(about)[1][1] if about else "everything"
        return f"replay ({parts['kind']}) of {name}"


def _row(stated: Any) -> list[Any]:
    file, row = (stated.get("file"), stated.get("row")) if isinstance(stated, Mapping) else (None, None)
    if not isinstance(file, str) or not isinstance(row, int):
        raise InvalidInputError("A row of replay.rows has no file and row.", field="replay.rows", hint='Write {"file": "…", "row": 0}.')
    return [file, row]


def _values(stated: Any) -> dict[str, str | None]:
    if not isinstance(stated, Mapping) or not all(value is None or isinstance(value, str) for value in stated.values()):
        raise InvalidInputError("replay.set maps columns to texts or null.", field="replay.set", hint='Write {"wind_speed": "9.8"}.')
    return dict(stated)


def _request(parts: Mapping[str, Any], facts: Sequence[Fact]) -> ReplayRequest:
    def named(part: str) -> str | None:
        if parts.get(part) != CAUSE:
            return parts.get(part)
        found = next((fact.subject for fact in facts if fact.kind in (FactKind.VERSION, FactKind.CHECK)), None)
        if found is None and facts:
            raise UnsupportedError("The cause of this execution is about no dataset.", hint="Name the dataset in the action.")
        return found

    rows = [(str(file), int(row)) for file, row in parts.get("rows", ())]
    return ReplayRequest(
        output=named("output"), dataset=named("dataset"), where=parts.get("where"), rows=rows, set_values=parts.get("set", {})
    )
