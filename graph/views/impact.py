"""Lists of impact and cause: everything downstream or upstream of some nodes, nearest first.

The counts are exact within depth and limit, and the list states how many nodes lie beyond. Rows are made in portions, so that a list of any
length can be streamed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name
from headwater.graph.stores.derivations import derivations
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.trace.answer import Grain, TraceAnswer
from headwater.graph.views.columns import dataset_of
from headwater.graph.views.fetch import FLOWS, HIDDEN
from headwater.graph.views.former_flows import find_former_derivations, find_former_flows, walk_current
from headwater.graph.views.levels import kind_of
from headwater.graph.views.masking import owners_of
from headwater.graph.views.request import MAX_REACHED
from headwater.graph.views.times import run_of, time_of

_PORTION = 500
_DERIVES = (EdgeKind.DERIVES,)
_KINDS = {
    NodeKind.DATASET: FLOWS, NodeKind.JOB: FLOWS, NodeKind.VERSION: FLOWS, NodeKind.PARTITION: FLOWS, NodeKind.RUN: FLOWS,
    NodeKind.COLUMN: _DERIVES,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Affected:
    """A node of a list of impact or cause. `path` leads from the focus to the node, both included.

    A column without owners has the owners of its dataset. `last_run` is the last run that stated a flow into the node (for a job: any
    flow), at `updated`. `records` is the number of traced records in the node. It is None if the list is not of records, or if they are
    only known coarsely. `former`: each path has a link that its job has given up.
    """

    node: Node
    distance: int
    path: Sequence[str]
    owners: Sequence[str]
    last_run: str | None
    updated: str | None
    records: int | None = None
    former: bool = False


@dataclass(slots=True)
class Impact:
    """A list of impact or cause. `total` is its length; `beyond` counts nodes one hop further than depth or limit allowed.

    `former` are the nodes to which only former links lead. The list contains them on request only. `exact` is false if a trace of records
    was a superset or incomplete. `reasons` says why.
    """

    graph: GraphStore
    tenant: str
    order: Sequence[str]
    distance: dict[str, int]
    came_from: dict[str, str]
    beyond: int = 0
    records: dict[str, int] | None = None
    exact: bool = True
    reasons: Sequence[str] = field(default_factory=list)
    former: Collection[str] = ()

    @property
    def total(self) -> int:
        return len(self.order)

    async def rows(self, start: int = 0, count: int | None = None) -> AsyncIterator[Affected]:
        end = self.total if count is None else min(self.total, start + count)
        for begin in range(start, end, _PORTION):
            ids = self.order[begin : min(begin + _PORTION, end)]
            holders = {identifier: dataset_of(identifier) for identifier in ids if kind_of(identifier) is NodeKind.COLUMN}
            known = {node.id: node for node in await self.graph.get(self.tenant, [*ids, *set(holders.values())])}
            stated = await self._last_statements(ids)
            for identifier in ids:
                node = known.get(identifier) or Node(identifier, kind_of(identifier), bare_name(identifier))
                holder = known.get(holders.get(identifier, ""))
                last = stated.get(identifier, "")
                yield Affected(
                    node=node,
                    distance=self.distance[identifier],
                    path=self._path(identifier),
                    owners=owners_of(node) or (owners_of(holder) if holder else ()),
                    last_run=f"run:{run_of(last)}" if run_of(last) else None,
                    updated=time_of(last) or None,
                    records=self.records.get(identifier) if self.records else None,
                    former=identifier in self.former,
                )

    async def _last_statements(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the last statement of a flow into each node. For a job, flows out of it count too."""
        kinds = [EdgeKind.READS, EdgeKind.WRITES, EdgeKind.DERIVES]
        edges = await self.graph.neighbours(self.tenant, ids, direction=Direction.UPSTREAM, kinds=kinds)
        columns = [identifier for identifier in ids if kind_of(identifier) is NodeKind.COLUMN]
        if columns:  # a column that is only filtered has no derivation, but a write
            edges += await self.graph.neighbours(self.tenant, columns, direction=Direction.UPSTREAM, kinds=[EdgeKind.ACCESSES])
        actors = [identifier for identifier in ids if kind_of(identifier) in (NodeKind.JOB, NodeKind.RUN)]
        if actors:
            edges += await self.graph.neighbours(self.tenant, actors, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
        asked, last = set(ids), dict[str, str]()
        for edge in edges:
            for end in {edge.dst, *({edge.src} & set(actors))} & asked:
                last[end] = max(last.get(end, ""), edge.last)
        return last

    def _path(self, identifier: str) -> list[str]:
        path = [identifier]
        while (before := self.came_from.get(path[-1])) is not None:
            path.append(before)
        return path[::-1]


async def impact(
    graph: GraphStore,
    tenant: str,
    focus: Sequence[str],
    *,
    direction: Direction = Direction.DOWNSTREAM,
    depth: int = 100,
    limit: int = MAX_REACHED,
    former: bool = False,
) -> Impact:
    """Return the nodes downstream or upstream of some nodes: datasets, jobs, versions, partitions and runs, or columns.

    Links that their jobs have given up are followed with `former` only.

    Raises:
        NotFoundError: a node is not in the graph.
        InvalidQueryError: the direction is both, or no flow joins nodes of these kinds.
    """
    if direction is Direction.BOTH:
        raise InvalidQueryError("A list goes one way.", field="direction", hint="Ask for downstream (impact) or upstream (causes).")
    known = {node.id for node in await graph.get(tenant, focus)}
    if missing := [identifier for identifier in focus if identifier not in known]:
        raise NotFoundError(f"Nothing is known of {missing[0]}.", hint="Search for its name, or see what a container holds.")
    flows = {_KINDS.get(kind_of(identifier)) for identifier in focus}
    kinds = flows.pop() if len(flows) == 1 else None
    if kinds is None:
        raise InvalidQueryError(
            "The focus is of kinds that no flow joins.", field="focus", hint=f"Name columns alone, or: {', '.join(list(_KINDS)[:-1])}."
        )
    reach = _reach_columns if kinds == _DERIVES else _reach_flows
    reached = await reach(graph, tenant, focus, direction, depth, limit)
    hops, came_from = walk_current(reached.start, reached.pairs, (), direction)
    distance, before = walk_current(reached.start, reached.pairs, reached.former, direction)
    gone = hops.keys() - distance.keys()
    if former:
        distance, came_from = hops | distance, came_from | before
    else:
        came_from = before
    order = sorted((identifier for identifier, away in distance.items() if away), key=lambda identifier: (distance[identifier], identifier))
    reasons = [HIDDEN] if reached.hidden else []
    return Impact(graph, tenant, order, distance, came_from, reached.beyond, exact=not reasons, reasons=reasons, former=gone)


@dataclass(frozen=True, slots=True)
class _Reached:
    """The links around a focus, and those of them that their jobs have given up."""

    start: Sequence[str]
    pairs: Sequence[tuple[str, str]]
    former: set[tuple[str, str]]
    beyond: int
    hidden: bool


async def _reach_flows(graph: GraphStore, tenant: str, focus: Sequence[str], direction: Direction, depth: int, limit: int) -> _Reached:
    cone = await graph.cone(tenant, focus, direction=direction, kinds=FLOWS, depth=depth, limit=limit)
    ids = cone.ids
    pairs = [(ids[src], ids[dst]) for src, dst in cone.edges]
    return _Reached(focus, pairs, await find_former_flows(graph, tenant, ids[: cone.reached]), cone.beyond, cone.hidden)


async def _reach_columns(graph: GraphStore, tenant: str, focus: Sequence[str], direction: Direction, depth: int, limit: int) -> _Reached:
    cone = await graph.cone(tenant, focus, direction=direction, kinds=_DERIVES, depth=depth, limit=limit)
    edges = await derivations(graph, tenant, cone.ids[: cone.reached], direction=direction)
    pairs = [(cone.ids[src], cone.ids[dst]) for src, dst in cone.edges]
    return _Reached(focus, pairs, await find_former_derivations(graph, tenant, edges), cone.beyond, cone.hidden)


def impact_of_records(graph: GraphStore, tenant: str, answer: TraceAnswer, *, forward: bool) -> Impact:
    """Return the jobs and datasets on the path of a trace of records, with the number of traced records in each."""
    distance, came_from = _walk(sorted({record.dataset for record in answer.selected}), _steps(answer, forward=forward))
    order = sorted((identifier for identifier, away in distance.items() if away), key=lambda identifier: (distance[identifier], identifier))
    reasons = [f"{item.what}: {item.reason}" for item in answer.incomplete]
    if answer.total > len(answer.records):
        reasons.append(f"{answer.total - len(answer.records):,} more records were traced than are counted by dataset.")
    return Impact(graph, tenant, order, distance, came_from, 0, _records(answer, forward=forward), answer.exact, reasons)


def _steps(answer: TraceAnswer, *, forward: bool) -> dict[str, set[str]]:
    steps: dict[str, set[str]] = {}
    for hop in answer.path:
        for one, other in [*((source, hop.job) for source in hop.inputs), (hop.job, hop.output)]:
            near, far = (one, other) if forward else (other, one)
            steps.setdefault(near, set()).add(far)
    return steps


def _walk(start: Sequence[str], steps: Mapping[str, set[str]]) -> tuple[dict[str, int], dict[str, str]]:
    """Return the distance of each node that the steps reach, and its predecessor on a shortest path."""
    distance, came_from = dict.fromkeys(start, 0), dict[str, str]()
    frontier = list(start)
    for near in frontier:  # the list grows during the loop: breadth first
        for far in sorted(steps.get(near, ())):
            if far not in distance:
                distance[far], came_from[far] = distance[near] + 1, near
                frontier.append(far)
    return distance, came_from


def _records(answer: TraceAnswer, *, forward: bool) -> dict[str, int]:
    records: dict[str, int] = {}
    for record in answer.records:
        if record.row is not None:
            records[record.dataset] = records.get(record.dataset, 0) + 1
    if not forward:
        for hop in answer.path:
            if hop.grain is Grain.RECORD:
                records.setdefault(hop.output, hop.records)
    return records
