"""Walks over the index: cones, and reachable nodes with the facts of the edges between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from headwater.graph.index.adjacency import Adjacency, Numbers
from headwater.graph.index.edges import far_of, kind_of, near_of, turned
from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.model.bulk import nodes_of
from headwater.graph.stores.indexable import CODES, KINDS, NOT_INDEXED
from headwater.graph.stores.numbered_cones import NO_EDGES, ROW, distinct
from headwater.graph.stores.protocol import COUNTED, Direction

_NODE_KINDS = {kind.value: kind for kind in NodeKind}


def runs_of(kinds: Sequence[EdgeKind]) -> list[tuple[int, int]]:
    """Return the codes of kinds as runs of consecutive codes: first and last of each."""
    runs: list[tuple[int, int]] = []
    for code in sorted({CODES[EdgeKind(kind)] for kind in kinds}):
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


@dataclass(frozen=True, slots=True)
class IndexGround:
    """A `Ground` in memory. The number of an edge is its key by destination."""

    graph: Adjacency

    @property
    def size(self) -> int:
        return self.graph.count

    def edges_at(self, way: Direction, nodes: Numbers, kinds: Sequence[EdgeKind], *, whole: bool) -> Numbers:
        if not len(nodes) or not kinds:
            return NO_EDGES if whole else NO_EDGES[:, :2]
        found = self.graph.edges_at(way, nodes, runs_of(kinds))
        ends = (far_of(found), near_of(found)) if way is Direction.UPSTREAM else (near_of(found), far_of(found))
        if not whole:
            return np.column_stack(ends)
        return np.column_stack([*ends, kind_of(found), found if way is Direction.UPSTREAM else turned(found)])

    def first_by_id(self, nodes: Numbers, count: int) -> Numbers:
        ids = self.graph.ids.at(nodes)
        first = sorted(range(len(ids)), key=ids.__getitem__)[:count]
        return nodes[first]

    def ids(self, nodes: Numbers) -> list[str]:
        return self.graph.ids.at(nodes)

    def names(self, nodes: Numbers) -> list[str]:
        return self.graph.names.at(nodes)

    def known(self, nodes: Numbers) -> Callable[[Sequence[int]], Sequence[Node | None]] | None:
        return partial(_known, self.graph, nodes) if self.graph.properties else None

    def facts(self, edges: Numbers) -> list[tuple[EdgeKind, str, str]]:
        first, last, _ = self.graph.facts(self.graph.places(edges[:, ROW]))
        return list(zip([KINDS[code] for code in kind_of(edges[:, ROW]).tolist()], first, last, strict=True))


def _known(graph: Adjacency, nodes: Numbers, places: Sequence[int]) -> list[Node | None]:
    """Return the nodes at some positions. Nodes whose properties are not in the graph are None."""
    numbers = nodes[np.array(places, dtype=np.int64)]
    properties = graph.properties.at(numbers) if graph.properties else [NOT_INDEXED] * len(numbers)
    ids = graph.ids.at(numbers)
    made = nodes_of(ids, kinds_of(ids), graph.names.at(numbers), properties)
    return [None if text == NOT_INDEXED else node for node, text in zip(made, properties, strict=True)]


def kinds_of(ids: Sequence[str]) -> list[NodeKind]:
    return [_NODE_KINDS[identifier[: identifier.index(":")]] for identifier in ids]


@dataclass(frozen=True, slots=True)
class Steps:
    """Edges as columns. The ends are positions in a list of ids, `into` are the keys, and `with_properties` marks edges with properties."""

    src: list[int]
    dst: list[int]
    kinds: list[EdgeKind]
    first: list[str]
    last: list[str]
    into: Numbers
    with_properties: list[int]


@dataclass(frozen=True, slots=True)
class Reached:
    """The nodes that a walk reached, nearest first, then by id."""

    nodes: Numbers
    ids: list[str]
    distance: dict[str, int]
    steps: Steps
    truncated: int
    counted: bool


def reach(graph: Adjacency, start: Numbers, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int) -> Reached:
    runs = runs_of(kinds)
    cones = [_spread(graph, start, way, runs, depth, limit) for way in direction.ways()]
    numbers, away = _nearer(*((cone[0], cone[1]) for cone in cones))
    met, kept = len(numbers), _nearest(graph, numbers, away, limit)
    numbers, away = numbers[kept], away[kept]
    ids = graph.ids.at(numbers)
    order = _by_id(ids)
    order = order[np.argsort(away[order], kind="stable")]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    ordered = [ids[each] for each in order.tolist()]
    return Reached(
        nodes=numbers[order],
        ids=ordered,
        distance=dict(zip(ordered, away[order].tolist(), strict=True)),
        steps=_among(graph, numbers, place, runs),
        truncated=met - len(numbers),
        counted=all(cone[2] for cone in cones),
    )


def _spread(
    graph: Adjacency, start: Numbers, way: Direction, runs: Sequence[tuple[int, int]], depth: int, limit: int
) -> tuple[Numbers, Numbers, bool]:
    """Return numbers in the order of their hops, the hops, and whether every node within the depth was visited."""
    seen = np.zeros(graph.count, dtype=bool)
    seen[start] = True
    levels, met = [start], len(start)
    whole = True
    while runs and len(levels) <= depth:
        if met > limit + COUNTED:
            whole = False
            break
        far = distinct(far_of(graph.edges_at(way, levels[-1], runs)))
        new = far[~seen[far]]
        if not len(new):
            break
        seen[new] = True
        levels.append(new)
        met += len(new)
    return np.concatenate(levels), np.repeat(np.arange(len(levels)), [len(level) for level in levels]), whole


def _nearer(*cones: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    numbers, away = (np.concatenate(columns) for columns in zip(*cones, strict=True))
    order = np.lexsort((away, numbers))
    numbers, away = numbers[order], away[order]
    first = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return numbers[first], away[first]


def _nearest(graph: Adjacency, numbers: Numbers, away: Numbers, limit: int) -> Numbers:
    """Return the positions of the `limit` nearest numbers, ascending. If a level exceeds the limit, the first ids are kept."""
    if len(numbers) <= limit:
        return np.arange(len(numbers))
    edge = np.sort(away)[limit]
    whole, level = np.flatnonzero(away < edge), np.flatnonzero(away == edge)
    fitting = level[_by_id(graph.ids.at(numbers[level]))[: limit - len(whole)]]
    return np.sort(np.concatenate([whole, fitting]))


def _by_id(ids: Sequence[str]) -> Numbers:
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)


def _among(graph: Adjacency, kept: Numbers, place: Numbers, runs: Sequence[tuple[int, int]]) -> Steps:
    """Return the edges among the kept nodes, which are ascending. `place` is the position of each node in the answer."""
    into, places = graph.into(kept, runs) if runs else (kept[:0], kept[:0])
    found = np.searchsorted(kept, far_of(into))
    inside = np.take(kept, found, mode="clip") == far_of(into) if len(kept) else np.empty(0, dtype=bool)
    into = into[inside]
    first, last, with_properties = graph.facts(places[inside])
    return Steps(
        src=place[found[inside]].tolist(),
        dst=place[np.searchsorted(kept, near_of(into))].tolist(),
        kinds=[KINDS[code] for code in kind_of(into).tolist()],
        first=first,
        last=last,
        into=into,
        with_properties=np.flatnonzero(with_properties).tolist(),
    )
