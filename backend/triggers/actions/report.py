"""`report`: writes a report into a folder of the home, and sends it to a target if one is named. A report holds no value of a record.

A report lists nodes of all namespaces. The owner must therefore be allowed to read all of them when the trigger fires.
"""

from __future__ import annotations

import asyncio
import csv
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headwater.backend.csv_cells import cell_text, inert
from headwater.backend.policies import Policies
from headwater.backend.targets import MailTarget, call_webhook, send_mail
from headwater.backend.triggers.actions.action import Order, Site
from headwater.backend.triggers.actions.webhook import document_of, target_of
from headwater.backend.triggers.conditions import NameLookup
from headwater.backend.triggers.conditions.condition import choice_of, refuse_unknown, text_of
from headwater.backend.triggers.model import FactKind
from headwater.errors import InvalidInputError
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind, kind_of
from headwater.graph.policies.periods import read_period
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views import impact
from headwater.graph.views.access import field_access

_PARTS = ("of", "node", "within", "format", "keep", "target")
_FORMATS = ("csv", "html")
_KEPT, _MOST_KEPT = 100, 10_000
_MOST_ROWS = 100_000
_LONGEST_TEXT = 100_000  # characters of a notification
_STYLE = """body{font:10pt sans-serif;margin:1.5cm}table{border-collapse:collapse;width:100%}
th,td{border-bottom:1px solid #ccc;padding:3px 6px;text-align:left;vertical-align:top;overflow-wrap:anywhere}
thead{display:table-header-group}tr{break-inside:avoid}"""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Report:
    """A kind of report: its columns, the kinds of nodes that it is about, and its rows. Without kinds, it is about everything."""

    columns: Sequence[str]
    nodes: Sequence[NodeKind]
    rows: Callable[[Site, str, Mapping[str, Any]], Awaitable[list[Row]]]


class ReportAction:
    repeats = True  # the file has the same name

    async def check(self, stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Mapping[str, Any]:  # noqa: ARG002
        refuse_unknown(stated, _PARTS, "report")
        of = choice_of(stated, "of", list(_REPORTS), "report", "")
        parts: dict[str, Any] = {"of": of, "format": choice_of(stated, "format", _FORMATS, "report", _FORMATS[0])}
        if kinds := _REPORTS[of].nodes:
            parts["node"] = await _find_node(text_of(stated, "node", "report"), kinds, known)
        elif stated.get("node") is not None:
            raise InvalidInputError(f"A report of {of} is about everything.", field="report.node", hint="Leave node out.")
        if stated.get("within") is not None:
            if of != "retention" or read_period(text_of(stated, "within", "report")) is None:
                raise InvalidInputError("within is a time of a report of retention.", field="report.within", hint="For example 90d.")
            parts["within"] = stated["within"]
        keep = stated.get("keep", _KEPT)
        if not isinstance(keep, int) or isinstance(keep, bool) or not 1 <= keep <= _MOST_KEPT:
            raise InvalidInputError(f"keep is {keep!r}.", field="report.keep", hint=f"It may be from 1 to {_MOST_KEPT:,}.")
        if stated.get("target") is not None:
            targets = await asyncio.to_thread(site.targets)
            parts["target"] = targets.any(text_of(stated, "target", "report")).name
        return {**parts, "keep": keep}

    def retry_seconds(self, parts: Mapping[str, Any], site: Site) -> float:
        return target_of(site, parts["target"]).retry_seconds if "target" in parts else 0.0

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:  # noqa: ARG002
        return frozenset({Scope.REPLAY, Scope.READ})

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:  # noqa: ARG002
        return True

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        report = _REPORTS[parts["of"]]
        rows = await report.rows(site, order.tenant, parts)
        left = max(0, len(rows) - _MOST_ROWS)
        rows = rows[:_MOST_ROWS]
        title = f"{parts['of']} {parts.get('node', '')}".strip()
        note = f"{len(rows):,} rows" + (f"; {left:,} more are left out" if left else "")
        text = _csv(report.columns, rows)
        content = text if parts["format"] == "csv" else _html(f"Headwater: {title}", _instant(order), note, report.columns, rows)
        folder = site.workspace.home.reports / quote(order.tenant, safe="") / quote(order.trigger, safe="")
        path = folder / f"{_instant(order):%Y%m%dT%H%M%S.%fZ}-{parts['of']}-{order.key[:8]}.{parts['format']}"
        await asyncio.to_thread(_write, path, content, parts["keep"])
        if "target" in parts:
            await self._send(parts, order, site, f"Report {title}: {note}. The file is {path.name}.\n\n{text[:_LONGEST_TEXT]}")
        return f"{path.name} has {note}"

    async def _send(self, parts: Mapping[str, Any], order: Order, site: Site, text: str) -> None:
        target = await asyncio.to_thread(target_of, site, parts["target"])
        if isinstance(target, MailTarget):
            await asyncio.to_thread(partial(send_mail, target, f"Headwater: {order.trigger}", text, key=order.key))
        else:
            await asyncio.to_thread(partial(call_webhook, target, {**document_of(order), "text": text}, key=order.key))

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002
        return []

    def describe(self, parts: Mapping[str, Any]) -> str:
        return f"write a report of {parts['of']}" + (f" of {parts['node']}" if "node" in parts else "")


async def _find_node(text: str, kinds: Sequence[NodeKind], known: NameLookup) -> str:
    """Return the id of the node of a report: a dataset by its name, or another node by its id."""
    for kind in kinds:
        if kind is not NodeKind.DATASET and text.startswith(f"{kind}:"):
            kind_of(text)
            return text
    if NodeKind.DATASET not in kinds:
        raise InvalidInputError(f"{text!r} is no {kinds[0]}.", field="report.node", hint=f"Give an id, as {kinds[0]}:NAMESPACE:….")
    return await known.dataset(text, "report.node")


@asynccontextmanager
async def _policies(site: Site) -> AsyncIterator[Policies]:
    opened = Policies(site.workspace.settings, site.workspace.graph)
    try:
        yield opened
    finally:
        await opened.close()


async def _list_retention(site: Site, tenant: str, parts: Mapping[str, Any]) -> list[Row]:
    within = read_period(parts.get("within", "30d")) or timedelta(0)
    async with _policies(site) as policies:
        found = await policies.expiring(tenant, None, within)
    return [
        {
            "deadline": each.deadline, "overdue": each.is_overdue, "dataset": each.dataset, "source": each.carried.term.node,
            "stated_by": each.carried.term.stated_by, "born": each.born, "born_known": each.is_born_known, "rows": each.rows,
            "path": " > ".join(each.carried.path), "owners": ", ".join(each.owners), "hold": each.hold, "do": " ".join(each.advice),
        }
        for each in found.expiring
    ]  # fmt: skip


async def _list_deviations(site: Site, tenant: str, parts: Mapping[str, Any]) -> list[Row]:  # noqa: ARG001
    async with _policies(site) as policies:
        found = await policies.deviations(tenant, most=_MOST_ROWS + 1)
    return [
        {
            "state": each.state.value, "severity": each.deviation.severity.value, "policy": each.policy, "rule": each.deviation.rule,
            "message": each.deviation.message, "owner": each.deviation.owner, "opened": _time(each.opened), "fixed": _time(each.fixed),
            "reason": each.reason, "accepted_by": each.accepted_by, "path": " > ".join(each.deviation.path), "id": each.id,
        }
        for each in found
    ]  # fmt: skip


async def _list_flow(site: Site, tenant: str, parts: Mapping[str, Any]) -> list[Row]:
    direction = Direction.UPSTREAM if parts["of"] == "lineage" else Direction.DOWNSTREAM
    found = await impact(site.workspace.graph, tenant, [parts["node"]], direction=direction, depth=1_000)
    return [
        {
            "distance": each.distance, "kind": str(each.node.kind), "id": each.node.id, "name": each.node.name,
            "owners": ", ".join(each.owners), "last_run": each.last_run, "updated": each.updated, "path": " > ".join(each.path),
        }
        async for each in found.rows()
    ]  # fmt: skip


async def _list_access(site: Site, tenant: str, parts: Mapping[str, Any]) -> list[Row]:
    return [
        {
            "kind": each.kind.value, "job": each.job, "first": each.first, "last": each.last, "certain": each.certain,
            "ways": ", ".join(each.ways), "runs": ", ".join(each.runs),
        }
        for each in await field_access(site.workspace.graph, tenant, parts["node"])
    ]  # fmt: skip


_FLOW = ("distance", "kind", "id", "name", "owners", "last_run", "updated", "path")
_FLOWING = (NodeKind.DATASET, NodeKind.COLUMN, NodeKind.JOB)
_REPORTS: Mapping[str, _Report] = {
    "retention": _Report(
        ("deadline", "overdue", "dataset", "source", "stated_by", "born", "born_known", "rows", "path", "owners", "hold", "do"),
        (), _list_retention,
    ),
    "deviations": _Report(
        ("state", "severity", "policy", "rule", "message", "owner", "opened", "fixed", "reason", "accepted_by", "path", "id"),
        (), _list_deviations,
    ),
    "lineage": _Report(_FLOW, _FLOWING, _list_flow),
    "impact": _Report(_FLOW, _FLOWING, _list_flow),
    "column": _Report(("kind", "job", "first", "last", "certain", "ways", "runs"), (NodeKind.COLUMN,), _list_access),
}  # fmt: skip


def _csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    made = StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([inert(row[column]) for column in columns] for row in rows)
    return made.getvalue()


def _html(title: str, at: datetime, note: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a page without scripts and links, so that it prints and can be sent."""
    head = "".join(f"<th>{escape(column.replace('_', ' '))}</th>" for column in columns)
    lines = "\n".join("<tr>" + "".join(f"<td>{escape(cell_text(row[column]))}</td>" for column in columns) + "</tr>" for row in rows)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style></head>\n'
        f"<body><h1>{escape(title)}</h1><p>{at:%Y-%m-%d %H:%M} UTC, {escape(note)}</p>\n"
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{lines}\n</tbody></table></body></html>\n"
    )


def _write(path: Path, content: str, keep: int) -> None:
    """Write a file that only this user can read, and remove the oldest reports of the trigger."""
    for folder in (path.parents[1].parent, path.parents[1], path.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    waiting = path.with_suffix(".part")
    descriptor = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(content)
    waiting.replace(path)
    reports = sorted(each for each in path.parent.iterdir() if each.suffix.removeprefix(".") in _FORMATS)
    for old in reports[:-keep]:
        old.unlink(missing_ok=True)


def _instant(order: Order) -> datetime:
    return datetime.fromtimestamp(max(fact.at for fact in order.facts), UTC)


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
