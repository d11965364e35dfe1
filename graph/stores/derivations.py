"""Derivations of columns, including those that are stored once for a whole dataset.

A filter or join column of a job influences every column that the job writes. Stored column by column, that would be filters × columns edges
for each event. So a store keeps one edge from each filter column to the dataset, and the accesses of the job name the written columns. This
module joins the two, so that a walk from column to column sees every derivation.

An edge to a dataset applies to the columns that one of its jobs writes, if edge and access were stated in overlapping times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.stores.protocol import Direction

OPEN = "open:"  # prefix of a property; the job's id follows. Values once flowed through this job unhidden
_BY = "by:"
_COLUMN, _DATASET = f"{NodeKind.COLUMN}:", f"{NodeKind.DATASET}:"


class Reader(Protocol):
    """The verbs that this module needs of a store."""

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]: ...

    async def neighbours(self, tenant: str, ids: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind]) -> list[Edge]: ...


async def derivations(store: Reader, tenant: str, ids: Sequence[str], *, direction: Direction) -> list[Edge]:
    """Return the edges `derives` one hop away from columns."""
    found: dict[tuple[str, str], Edge] = {}
    for way in direction.ways():
        for edge in await (_upstream if way is Direction.UPSTREAM else _downstream)(store, tenant, ids):
            found[edge.src, edge.dst] = both(found.get((edge.src, edge.dst)), edge)
    return list(found.values())


async def _upstream(store: Reader, tenant: str, ids: Sequence[str]) -> list[Edge]:
    datasets: dict[str, list[str]] = {}
    for identifier in ids:
        if identifier.startswith(_COLUMN):
            datasets.setdefault(_dataset(identifier), []).append(identifier)
    edges = await store.neighbours(tenant, [*ids, *datasets], direction=Direction.UPSTREAM, kinds=[EdgeKind.DERIVES])
    asked = set(ids)
    found = [edge for edge in edges if edge.dst in asked]
    whole = [edge for edge in edges if edge.dst in datasets and _is_whole(edge)]
    if whole:
        columns = [column for dataset in {edge.dst for edge in whole} for column in datasets[dataset]]
        writes = await store.neighbours(tenant, columns, direction=Direction.UPSTREAM, kinds=[EdgeKind.ACCESSES])
        found += _spread(whole, writes)
    return found


async def _downstream(store: Reader, tenant: str, ids: Sequence[str]) -> list[Edge]:
    edges = await store.neighbours(tenant, ids, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.DERIVES])
    whole = [edge for edge in edges if _is_whole(edge)]
    found = [edge for edge in edges if not _is_whole(edge)]
    if whole:
        jobs = sorted({job for edge in whole for job in _jobs(edge)})
        writes = await store.neighbours(tenant, jobs, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.ACCESSES])
        found += _spread(whole, writes)
    return found


def _spread(whole: Iterable[Edge], writes: Iterable[Edge]) -> list[Edge]:
    """Turn edges to datasets into edges to those columns that the edges' jobs write in the datasets."""
    written: dict[tuple[str, str], list[Edge]] = {}  # by dataset and job
    for write in writes:
        if write.dst.startswith(_COLUMN):
            written.setdefault((_dataset(write.dst), write.src), []).append(write)
    found: list[Edge] = []
    for edge in whole:
        for job in _jobs(edge):
            about = {"transformations": edge.properties[_BY + job], _BY + job: edge.properties[_BY + job]}
            about |= {OPEN + job: True} if OPEN + job in edge.properties else {}
            found += [
                Edge(
                    edge.src,
                    write.dst,
                    EdgeKind.DERIVES,
                    about,
                    {},
                    max(edge.first, write.first),
                    min(edge.last or write.last, write.last or edge.last),
                )
                for write in written.get((edge.dst, job), ())
                if _overlap(edge, write)
            ]
    return found


def _overlap(one: Edge, other: Edge) -> bool:
    """Return whether two edges existed at the same time. An edge without a time always existed."""
    return not one.first or not other.first or (one.first <= other.last and other.first <= one.last)


def both(known: Edge | None, edge: Edge) -> Edge:
    """Merge two edges with the same ends. The job's expression for the column and its filters are steps of one derivation."""
    if known is None or known is edge:
        return edge
    about: dict[str, Any] = dict(known.properties)
    for name, steps in edge.properties.items():
        about[name] = _steps(about.get(name), steps)
    firsts = [each.first for each in (known, edge) if each.first]
    return Edge(edge.src, edge.dst, edge.kind, about, {}, min(firsts, default=""), max(known.last, edge.last))


def _steps(known: Any, stated: Any) -> Any:
    if isinstance(known, Sequence) and isinstance(stated, Sequence) and not isinstance(known, str) and not isinstance(stated, str):
        return [*known, *(step for step in stated if step not in known)]
    return stated


def _is_whole(edge: Edge) -> bool:
    return edge.src.startswith(_COLUMN) and edge.dst.startswith(_DATASET) and bool(_jobs(edge))


def _jobs(edge: Edge) -> list[str]:
    properties: Mapping[str, Any] = edge.properties
    return [name.removeprefix(_BY) for name in properties if name.startswith(_BY)]


def _dataset(column: str) -> str:
    """Return the id of a column's dataset. All ids encode their parts alike, so nothing is decoded."""
    return _DATASET + ":".join(column.split(":", 3)[1:3])
