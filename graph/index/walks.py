"""Walks over the index: cones, and all that can be reached with what is known of the edges between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwater.graph.index.adjacency import Adjacency, Numbers
from headwater.graph.index.edges import far_of, kind_of, near_of, turned
from headwater.graph.index.source import CODES, KINDS
from headwater.graph.model import EdgeKind
from headwater.graph.stores.numbered import NO_EDGES, ROW, distinct
from headwater.graph.stores.protocol import COUNTED, Direction


def runs_of(kinds: Sequence[EdgeKind]) -> list[tuple[int, int]]:
    """The codes of kinds as runs of codes that follow one another: first and last of each."""
    runs: list[tuple[int, int]] = []
    for code in sorted({CODES[EdgeKind(kind)] for kind in kinds}):
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


@dataclass(frozen=True, slots=True)
class IndexGround:
    """A `Ground` in memory. An edge's own number is its key by destination."""

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

    def facts(self, edges: Numbers) -> list[tuple[EdgeKind, str, str]]:
        first, last, _ = self.graph.facts(edges[:, ROW])
        return list(zip([KINDS[code] for code in kind_of(edges[:, ROW]).tolist()], first, last, strict=True))


@dataclass(frozen=True, slots=True)
class Steps:
    """Edges as columns, their ends as places among ids that go with them; `into` are their keys, `told` which have properties."""

    src: list[int]
    dst: list[int]
    kinds: list[EdgeKind]
    first: list[str]
    last: list[str]
    into: Numbers
    told: list[int]


@dataclass(frozen=True, slots=True)
class Reached:
    """What a walk reached, nearest first, then by id."""

    nodes: Numbers
    ids: list[str]
    distance: dict[str, int]
    steps: Steps
    truncated: int
    counted: bool


def reach(graph: Adjacency, start: Numbers, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int) -> Reached:
    """See `GraphStore.reach`."""
    runs = runs_of(kinds)
    hops: dict[int, int] = {}
    counted = True
    for way in direction.ways():
        found, whole = _spread(graph, start, way, runs, depth, limit)
        counted = counted and whole
        for number, distance in found.items():
            if distance < hops.get(number, distance + 1):
                hops[number] = distance
    kept = _nearest(graph, hops, limit)
    ids = graph.ids.at(kept)
    away = [hops[number] for number in kept.tolist()]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    order.sort(key=away.__getitem__)
    nodes, ordered = kept[order], [ids[place] for place in order]
    return Reached(
        nodes=nodes,
        ids=ordered,
        distance=dict(zip(ordered, [away[place] for place in order], strict=True)),
        steps=_among(graph, kept, np.argsort(order), runs),
        truncated=len(hops) - len(kept),
        counted=counted,
    )


def _spread(
    graph: Adjacency, start: Numbers, way: Direction, runs: Sequence[tuple[int, int]], depth: int, limit: int
) -> tuple[dict[int, int], bool]:
    """Hops by number, and whether every node within the depth was visited."""
    hops = dict.fromkeys(start.tolist(), 0)
    frontier = start
    for distance in range(1, depth + 1):
        if len(hops) > limit + COUNTED:
            return hops, False
        far = distinct(far_of(graph.edges_at(way, frontier, runs))).tolist() if runs else []
        new = [number for number in far if number not in hops]
        if not new:
            break
        hops.update(dict.fromkeys(new, distance))
        frontier = np.array(new, dtype=np.int64)
    return hops, True


def _nearest(graph: Adjacency, hops: dict[int, int], limit: int) -> Numbers:
    """The `limit` nearest numbers, ascending; where a level does not fit whole, those whose ids come first."""
    numbers = np.fromiter(hops.keys(), dtype=np.int64, count=len(hops))
    if len(hops) <= limit:
        return np.sort(numbers)
    away = np.fromiter(hops.values(), dtype=np.int64, count=len(hops))
    edge = np.sort(away)[limit]
    whole = numbers[away < edge]
    return np.sort(np.concatenate([whole, IndexGround(graph).first_by_id(numbers[away == edge], limit - len(whole))]))


def _among(graph: Adjacency, kept: Numbers, place: Numbers, runs: Sequence[tuple[int, int]]) -> Steps:
    """The edges among the kept, which are sorted; `place` is where each stands in the answer."""
    into = graph.edges_at(Direction.UPSTREAM, kept, runs) if runs else kept[:0]
    found = np.searchsorted(kept, far_of(into))
    inside = np.take(kept, found, mode="clip") == far_of(into) if len(kept) else np.empty(0, dtype=bool)
    into = into[inside]
    first, last, told = graph.facts(into)
    return Steps(
        src=place[found[inside]].tolist(),
        dst=place[np.searchsorted(kept, near_of(into))].tolist(),
        kinds=[KINDS[code] for code in kind_of(into).tolist()],
        first=first,
        last=last,
        into=into,
        told=np.flatnonzero(told).tolist(),
    )
