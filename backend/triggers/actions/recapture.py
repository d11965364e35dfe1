"""`recapture`: run the program of a dataset again in a separate folder, to find the record lineage of an earlier run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.triggers.actions.action import CAUSE, Order, Site
from headwater.backend.triggers.conditions import NameLookup
from headwater.backend.triggers.conditions.condition import refuse_unknown, text_of
from headwater.backend.triggers.model import FactKind
from headwater.errors import UnsupportedError
from headwater.graph.access.scopes import Scope
from headwater.graph.model import parse_id
from headwater.graph.stores import GraphStore


class Recapture:
    repeats = True  # an attempt that does not finish stores nothing

    async def check(self, stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Mapping[str, Any]:  # noqa: ARG002
        refuse_unknown(stated, ("dataset",), "recapture")
        if tenant != DEFAULT_TENANT:
            raise UnsupportedError(f"The tenant {tenant} has no programs on this service.", hint="Programs belong to the home.")
        text = text_of(stated, "dataset", "recapture")
        return {"dataset": text if text == CAUSE else await known.dataset(text, "recapture.dataset")}

    def retry_seconds(self, parts: Mapping[str, Any], site: Site) -> float:  # noqa: ARG002
        return 0.0

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:  # noqa: ARG002
        return frozenset({Scope.REPLAY})

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:  # noqa: ARG002
        return bool(site.workspace.registry.programs())

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        dataset = parts["dataset"]
        if dataset == CAUSE:
            dataset = next((fact.subject for fact in order.facts if fact.kind in (FactKind.VERSION, FactKind.CHECK)), None)
            if dataset is None:
                raise UnsupportedError("The cause of this execution is about no dataset.", hint="Name the dataset in the action.")
        recaptures = site.workspace.recaptures(order.tenant)
        async with site.turn:
            done = await recaptures.run(order.tenant, await recaptures.plan(order.tenant, dataset))
        return f"record lineage of {len(done.outputs)} datasets is kept; {done.files} files were compared"

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002
        return []

    def describe(self, parts: Mapping[str, Any]) -> str:
        return f"recapture of {'the dataset' if parts['dataset'] == CAUSE else parse_id(parts['dataset'])[1][1]}"
