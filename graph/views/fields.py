"""The lineage of a column in CDAP's two forms: simple (its origins and operations) and detailed (each step on the way).

It also has the tags that reach a column. A tag for a person's name still applies after a rename, an upper-casing or a join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.stores.protocol import Direction, GraphStore, Subgraph
from headwater.graph.views.columns import dataset_of
from headwater.graph.views.levels import kind_of
from headwater.graph.views.masking import field_tags
from headwater.graph.views.recorded_steps import FieldStep, RecordedSteps
from headwater.graph.views.request import MAX_REACHED

_BY = "by:"
_FAR = 1_000  # hops: no derivation is so long


class Way(IntEnum):
    """How a column, or a tag of it, reaches another: the best of all ways counts."""

    DIRECT = 0  # its values flow there
    MASKED = 1  # … through an operation that hides them (a hash, a count)
    INDIRECT = 2  # they only decide about it (a filter, a join)


@dataclass(frozen=True, slots=True)
class FieldOperation:
    """The operation of a job that makes one column from another, in OpenLineage's words."""

    job: str | None
    type: str
    subtype: str | None
    description: str | None
    masking: bool
    declared: bool = False  # somebody recorded it; it was not seen


@dataclass(frozen=True, slots=True)
class FieldEdge:
    """An edge between columns. In the simple form it joins an end and the focus (forward: the focus and an end), over `hops` steps.

    `way` is the strongest way in which the first has a part in the second: its values flow there, hidden or not, or only decide.
    """

    src: str
    dst: str
    operations: Sequence[FieldOperation]
    hops: int
    way: Way
    steps: Sequence[FieldStep] = ()  # in the detailed form, of a derivation that a program recorded


@dataclass(frozen=True, slots=True)
class FieldLineage:
    """Columns, nearest first, and how they derive.

    `truncated` counts the columns that the limit kept out, `beyond` those one hop further than the depth allowed (at least so many more).
    `hidden`: something next to these columns is kept from whoever asks.
    """

    nodes: Sequence[Node]
    edges: Sequence[FieldEdge]
    truncated: int
    beyond: int = 0
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class ReachingTag:
    """A tag that a column, or one that it derives from, bears."""

    tag: str
    origin: str
    distance: int
    way: Way


async def field_lineage(
    graph: GraphStore,
    tenant: str,
    column: str,
    *,
    direction: Direction = Direction.UPSTREAM,
    detailed: bool = False,
    depth: int = 50,
    limit: int = 5_000,
) -> FieldLineage:
    """Where a column comes from (or, downstream, what is made of it).

    Raises:
        NotFoundError: the column is not known.
        InvalidQueryError: the id is no column's, or the direction is both.
    """
    if direction is Direction.BOTH:
        raise InvalidQueryError("The lineage of a column goes one way.", field="direction", hint="Ask for upstream, or for downstream.")
    reached = await _reach(graph, tenant, column, direction, depth, limit)
    beyond = await _beyond(graph, tenant, reached, direction, depth)
    if detailed:
        recorded = RecordedSteps(graph, tenant)
        edges = [
            FieldEdge(edge.src, edge.dst, operations_of(edge), 1, way_of(edge), await _recorded_steps(recorded, edge))
            for edge in reached.edges
        ]
        return FieldLineage(reached.nodes, edges, reached.truncated, beyond, reached.hidden)
    return replace(_simple(reached, column, direction), beyond=beyond, hidden=reached.hidden)


async def _recorded_steps(recorded: RecordedSteps, edge: Edge) -> list[FieldStep]:
    jobs = dict.fromkeys(operation.job for operation in operations_of(edge) if operation.declared and operation.job)
    return [step for job in jobs for step in await recorded.of(edge, job)]


async def reaching_tags(graph: GraphStore, tenant: str, column: str, *, limit: int = MAX_REACHED) -> list[ReachingTag]:
    """Return the tags that reach a column, by the strongest way of each, nearest first. None is left out, since it may mark a person.

    Raises:
        NotFoundError: the column is not known.
        InvalidQueryError: the id is not a column's, or the column derives from more columns than can be searched.
    """
    reached = await _reach(graph, tenant, column, Direction.UPSTREAM, _FAR, limit)
    if reached.truncated:
        raise InvalidQueryError(
            f"{column} derives from more than {limit:,} columns.", field="column", hint="Ask for the tags of columns further upstream."
        )
    nodes = {node.id: node for node in reached.nodes}
    datasets = {node.id: node for node in await graph.get(tenant, sorted({dataset_of(identifier) for identifier in nodes}))}
    best = _best_ways(reached.edges, column, Direction.UPSTREAM)
    found = [
        ReachingTag(tag, identifier, reached.distance[identifier], way)
        for identifier, way in best.items()
        for tag in field_tags(nodes[identifier], datasets.get(dataset_of(identifier)))
    ]
    return sorted(found, key=lambda tag: (tag.way, tag.distance, tag.tag, tag.origin))


async def _beyond(graph: GraphStore, tenant: str, reached: Subgraph, direction: Direction, depth: int) -> int:
    """Return the number of columns one hop beyond the depth."""
    edge = [identifier for identifier, hops in reached.distance.items() if hops == depth]
    steps = await graph.neighbours(tenant, edge, direction=direction, kinds=[EdgeKind.DERIVES]) if edge else []
    return len({step.src if direction is Direction.UPSTREAM else step.dst for step in steps} - reached.distance.keys())


def operations_of(edge: Edge) -> list[FieldOperation]:
    """Return the operations of each job in a derivation. A derivation without a statement is one operation of type UNKNOWN."""
    found: list[FieldOperation] = []
    stated: list[tuple[str | None, Any]] = [
        (name.removeprefix(_BY), value) for name, value in sorted(edge.properties.items()) if name.startswith(_BY)
    ]
    for job, transformations in stated or [(None, edge.properties.get("transformations"))]:
        steps = [step for step in transformations or () if isinstance(step, Mapping)]
        found += [_operation(job, step) for step in steps] or [FieldOperation(job, "UNKNOWN", None, None, masking=False)]
    return found


def _operation(job: str | None, step: Mapping[str, Any]) -> FieldOperation:
    return FieldOperation(
        job, str(step.get("type") or "UNKNOWN"), step.get("subtype") or None, step.get("description") or None, step.get("masking") is True,
        declared=step.get("declared") is True,
    )  # fmt: skip


async def _reach(graph: GraphStore, tenant: str, column: str, direction: Direction, depth: int, limit: int) -> Subgraph:
    if not await graph.get(tenant, [column]):
        raise NotFoundError(f"Nothing is known of {column}.", hint="See the columns that its dataset contains.")
    if kind_of(column) is not NodeKind.COLUMN:
        raise InvalidQueryError(f"{column} is no column.", field="column", hint="An id of a column reads column:NAMESPACE:DATASET:COLUMN.")
    return await graph.reach(tenant, [column], direction=direction, kinds=[EdgeKind.DERIVES], depth=depth, limit=limit)


def _simple(reached: Subgraph, column: str, direction: Direction) -> FieldLineage:
    """One edge for each end, with all operations on its ways. In a cycle that nothing enters, every column is an end."""
    upstream = direction is Direction.UPSTREAM
    steps: dict[str, list[Edge]] = {}
    for edge in reached.edges:
        steps.setdefault(edge.src if upstream else edge.dst, []).append(edge)
    further = {edge.dst if upstream else edge.src for edge in reached.edges if edge.src != edge.dst}
    best = _best_ways(reached.edges, column, direction)
    ends = [node for node in reached.nodes if node.id != column and node.id not in further]
    if not ends:
        ends = [node for node in reached.nodes if node.id != column]
    edges = []
    for end in ends:
        operations: dict[FieldOperation, None] = {}
        seen, waiting = {end.id}, [end.id]
        while waiting:
            for edge in steps.get(waiting.pop(0), ()):
                operations |= dict.fromkeys(operations_of(edge))
                other = edge.dst if upstream else edge.src
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        src, dst = (end.id, column) if upstream else (column, end.id)
        edges.append(FieldEdge(src, dst, list(operations), reached.distance[end.id], best[end.id]))
    focus = [node for node in reached.nodes if node.id == column]
    return FieldLineage([*focus, *ends], edges, reached.truncated)


def _best_ways(edges: Sequence[Edge], column: str, direction: Direction) -> dict[str, Way]:
    """For each column that leads to one, or is led to, the best of all ways."""
    best: dict[str, Way] = {}
    ways = [way_of(edge) for edge in edges]
    for way in Way:
        steps: dict[str, list[str]] = {}
        for edge, own in zip(edges, ways, strict=True):
            if own <= way:
                near, far = (edge.dst, edge.src) if direction is Direction.UPSTREAM else (edge.src, edge.dst)
                steps.setdefault(near, []).append(far)
        waiting, found = [column], {column}
        while waiting:
            waiting = list(dict.fromkeys(far for near in waiting for far in steps.get(near, ()) if far not in found))
            found.update(waiting)
        for identifier in sorted(found):
            best.setdefault(identifier, way)
    return best


def way_of(edge: Edge) -> Way:
    """The best way of a derivation. Where nobody says how, values flow: a tag is kept rather than lost."""
    ways = [
        Way.INDIRECT if operation.type == "INDIRECT" else Way.MASKED if operation.masking else Way.DIRECT
        for operation in operations_of(edge)
    ]
    return min(ways, default=Way.DIRECT)
