"""The lineage of a column in CDAP's two forms: simple (its origins and operations) and detailed (each step on the way).

The module also finds the tags that reach a column. A tag on a person's name still applies after a rename, an upper-casing or a join.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.model.properties import StoredProperties
from headwater.graph.stores.protocol import Direction, GraphStore, Subgraph
from headwater.graph.views.columns import dataset_of
from headwater.graph.views.former_flows import find_former_derivations, walk_current
from headwater.graph.views.levels import kind_of
from headwater.graph.views.masking import field_tags
from headwater.graph.views.recorded_steps import FieldStep, RecordedSteps
from headwater.graph.views.request import MAX_REACHED

_BY = "by:"
_FAR = 1_000  # hops, more than any derivation has


class Way(IntEnum):
    """How the values of a column reach another column. Of several ways, the lowest number counts."""

    DIRECT = 0  # values flow into the other column
    MASKED = 1  # values flow through an operation that hides them (a hash, a count)
    INDIRECT = 2  # values only decide which rows exist (a filter, a join)


@dataclass(frozen=True, slots=True)
class FieldOperation:
    """An operation with which a job makes one column from another, in OpenLineage's words."""

    job: str | None
    type: str
    subtype: str | None
    description: str | None
    masking: bool
    declared: bool = False  # a person or program declared the operation; no run stated it


@dataclass(frozen=True, slots=True)
class FieldEdge:
    """An edge between columns. In the simple form it joins an end with the focus, over `hops` steps.

    `way` is the strongest way in which the first column contributes to the second.
    """

    src: str
    dst: str
    operations: Sequence[FieldOperation]
    hops: int
    way: Way
    steps: Sequence[FieldStep] = ()  # only in the detailed form, if the program recorded its steps
    former: bool = False  # in the simple form: each path has a former derivation


@dataclass(frozen=True, slots=True)
class FieldLineage:
    """The columns of a lineage, nearest first, and the derivations between them.

    `truncated` counts the columns that the limit kept out, `beyond` the columns one hop beyond the depth (at least).
    `hidden` is true if the caller may not see columns next to these. `former` counts the columns to which only derivations lead that their
    jobs have given up. They are part of the lineage on request only.
    """

    nodes: Sequence[Node]
    edges: Sequence[FieldEdge]
    truncated: int
    beyond: int = 0
    hidden: bool = False
    former: int = 0


@dataclass(frozen=True, slots=True)
class ReachingTag:
    """A tag on a column, or on a column from which it derives."""

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
    former: bool = False,
) -> FieldLineage:
    """Return the columns from which a column derives (or downstream, the columns that derive from it).

    Derivations that their jobs have given up are followed with `former` only.

    Raises:
        NotFoundError: the column is not in the graph.
        InvalidQueryError: the id does not belong to a column, or the direction is both.
    """
    if direction is Direction.BOTH:
        raise InvalidQueryError("The lineage of a column goes one way.", field="direction", hint="Ask for upstream, or for downstream.")
    reached = await _reach(graph, tenant, column, direction, depth, limit)
    given_up = await find_former_derivations(graph, tenant, reached.edges)
    current, _ = walk_current([column], [(edge.src, edge.dst) for edge in reached.edges], given_up, direction)
    left = len(reached.nodes) - len(current)
    if not former:
        nodes = [node for node in reached.nodes if node.id in current]
        edges = [edge for edge in reached.edges if {edge.src, edge.dst} <= current.keys() and (edge.src, edge.dst) not in given_up]
        reached = replace(reached, nodes=nodes, edges=edges, distance=current)
    beyond = await _beyond(graph, tenant, reached, direction, depth)
    if detailed:
        recorded = RecordedSteps(graph, tenant)
        made = [
            FieldEdge(
                edge.src, edge.dst, operations_of(edge), 1, way_of(edge), await _recorded_steps(recorded, edge),
                (edge.src, edge.dst) in given_up,
            )
            for edge in reached.edges
        ]  # fmt: skip
        return FieldLineage(reached.nodes, made, reached.truncated, beyond, reached.hidden, left)
    simple = _simple(reached, column, direction)
    marked = [replace(edge, former=not {edge.src, edge.dst} <= current.keys()) for edge in simple.edges]
    return replace(simple, edges=marked, beyond=beyond, hidden=reached.hidden, former=left)


async def _recorded_steps(recorded: RecordedSteps, edge: Edge) -> list[FieldStep]:
    jobs = dict.fromkeys(operation.job for operation in operations_of(edge) if operation.declared and operation.job)
    return [step for job in jobs for step in await recorded.of(edge, job)]


async def reaching_tags(graph: GraphStore, tenant: str, column: str, *, limit: int = MAX_REACHED) -> list[ReachingTag]:
    """Return all tags that reach a column, each with its strongest way, nearest first. A long list is refused, never cut.

    Raises:
        NotFoundError: the column is not in the graph.
        InvalidQueryError: the id does not belong to a column, or the column derives from more columns than can be searched.
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
    edge = [identifier for identifier, hops in reached.distance.items() if hops == depth]
    steps = await graph.neighbours(tenant, edge, direction=direction, kinds=[EdgeKind.DERIVES]) if edge else []
    return len({step.src if direction is Direction.UPSTREAM else step.dst for step in steps} - reached.distance.keys())


def operations_of(edge: Edge) -> list[FieldOperation]:
    """Return the operations of each job in a derivation. A derivation without a statement is one operation of type UNKNOWN."""
    properties = edge.properties
    return list(_operations_of_text(properties.text)) if isinstance(properties, StoredProperties) else _operations(properties)


@lru_cache(1 << 12)  # the columns that a job passes on alike have the same text
def _operations_of_text(text: str) -> tuple[FieldOperation, ...]:
    return tuple(_operations(json.loads(text)))


def _operations(properties: Mapping[str, Any]) -> list[FieldOperation]:
    found: list[FieldOperation] = []
    stated: list[tuple[str | None, Any]] = [
        (name.removeprefix(_BY), value) for name, value in sorted(properties.items()) if name.startswith(_BY)
    ]
    for job, transformations in stated or [(None, properties.get("transformations"))]:
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
    """Return one edge for each end, with all operations on the way. In a cycle that nothing enters, every column is an end."""
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
    """Return the strongest way between the column and each other column that leads to it (or downstream, that it leads to)."""
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
    """Return the strongest way of a derivation. Without a statement, values count as flowing, so that no tag is lost."""
    ways = [
        Way.INDIRECT if operation.type == "INDIRECT" else Way.MASKED if operation.masking else Way.DIRECT
        for operation in operations_of(edge)
    ]
    return min(ways, default=Way.DIRECT)
