"""Computes cones over numbered nodes, for SQLite (by its keys) and for the index in memory.

Levels are expanded by number only; ids are read once, at the end. A `Ground` provides edges, ids and names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.stores.protocol import Cone, Direction

Numbers = NDArray[np.int64]

# Columns of the rows of edges.
SRC, DST, KIND_CODE, ROW = range(4)
NO_EDGES: Numbers = np.empty((0, 4), dtype=np.int64)
FAR = {Direction.UPSTREAM: SRC, Direction.DOWNSTREAM: DST}
_UNKNOWN = -1


class Ground(Protocol):
    """The graph of a cone. All node numbers are less than `size`. The column `ROW` of an edge is the number of the edge."""

    @property
    def size(self) -> int: ...

    def edges_at(self, way: Direction, nodes: Numbers, kinds: Sequence[EdgeKind], *, whole: bool) -> Numbers:
        """Return the edges of some kinds whose near end is one of the nodes.

        The rows have `SRC` and `DST`, and, if `whole`, `KIND_CODE` and `ROW`.
        """

    def first_by_id(self, nodes: Numbers, count: int) -> Numbers:
        """Return the `count` nodes with the first ids."""

    def ids(self, nodes: Numbers) -> list[str]: ...

    def names(self, nodes: Numbers) -> list[str]: ...

    def known(self, nodes: Numbers) -> Callable[[Sequence[int]], Sequence[Node | None]] | None:
        """Return a function that returns nodes by their numbers in the cone (`Cone.known`)."""

    def facts(self, edges: Numbers) -> list[tuple[EdgeKind, str, str]]:
        """Return kind, first and last statement of each edge."""


def cone(
    ground: Ground,
    start: Numbers,
    direction: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
    contained: Sequence[NodeKind],
    facts: bool,
    names: bool,
) -> Cone:
    """Return the cone of the nodes `start`, as `GraphStore.cone` does."""
    walk = _Walk(ground, kinds, depth, limit, whole=facts or direction is Direction.BOTH)
    walk.go(start, direction)
    edges = walk.edges()
    ids = ground.ids(walk.nodes())
    reached = len(ids)
    prefixes = tuple(f"{kind}:" for kind in contained)
    inner = [place for place, identifier in enumerate(ids) if identifier.startswith(prefixes)] if prefixes else []
    containment = walk.containers(np.array(inner, dtype=np.int64))
    ids += ground.ids(walk.nodes()[reached:])
    return Cone(
        ids=ids,
        reached=reached,
        pairs=walk.places(edges),
        facts=ground.facts(edges) if facts else [],
        contains=walk.places(containment),
        upstream=walk.distance.get(Direction.UPSTREAM, {}),
        downstream=walk.distance.get(Direction.DOWNSTREAM, {}),
        beyond=walk.beyond(),
        names=ground.names(walk.nodes()) if names else (),
        known=ground.known(walk.nodes()),
    )


@dataclass(slots=True)
class _Walk:
    """The walk of a cone. Each node gets an index when it is first found, nearest first.

    Nodes are expanded once in each direction, even on the last level.
    """

    ground: Ground
    flows: Sequence[EdgeKind]
    depth: int
    limit: int
    whole: bool  # with kind and row of edges: needed if an edge may be found twice, or if facts are requested
    distance: dict[Direction, dict[int, int]] = field(default_factory=dict)
    _place: NDArray[np.int32] = field(init=False)  # by number
    _levels: list[Numbers] = field(default_factory=list)
    _size: int = 0
    _met: list[Numbers] = field(default_factory=list)
    _beyond: list[Numbers] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._place = np.full(self.ground.size, _UNKNOWN, dtype=np.int32)

    def go(self, start: Numbers, direction: Direction) -> None:
        start = self._take(start)
        reached = {way: self._go(start, way) for way in direction.ways()}
        if len(reached) > 1:
            # The walks did not follow edges that lead from one cone to the other without passing the focus.
            down = np.setdiff1d(reached[Direction.DOWNSTREAM], reached[Direction.UPSTREAM])
            self._met.append(self.ground.edges_at(Direction.UPSTREAM, down, self.flows, whole=True))

    def nodes(self) -> Numbers:
        return np.concatenate(self._levels)

    def places(self, edges: Numbers) -> Numbers:
        return self._place[edges[:, :2]].astype(np.int64)

    def edges(self) -> Numbers:
        met = np.concatenate(self._met) if self._met else NO_EDGES
        kept: Numbers = met
        if self._beyond or self.whole:  # otherwise both ends of all edges have places
            kept = met[(self._place[met[:, SRC]] != _UNKNOWN) & (self._place[met[:, DST]] != _UNKNOWN)]
        if not self.whole:
            return kept
        once: Numbers = kept[np.sort(np.unique(kept[:, ROW], return_index=True)[1])]
        return once

    def beyond(self) -> int:
        """Return the number of nodes one hop away that depth or limit excluded."""
        return len(distinct(np.concatenate(self._beyond))) if self._beyond else 0

    def containers(self, inner: Numbers) -> Numbers:
        """Return containment edges from nodes up to their outermost containers. New containers get an index."""
        level = self.nodes()[inner]
        climbed = np.zeros(len(self._place), dtype=bool)
        steps = [NO_EDGES[:, :2]]
        while len(level):
            climbed[level] = True
            steps.append(self.ground.edges_at(Direction.UPSTREAM, level, [EdgeKind.CONTAINS], whole=False))
            above = distinct(steps[-1][:, SRC])
            self._add(above[self._place[above] == _UNKNOWN])
            level = above[~climbed[above]]
        return np.concatenate(steps)

    def _go(self, start: Numbers, way: Direction) -> Numbers:
        reached = np.zeros(len(self._place), dtype=bool)
        reached[start] = True
        frontier, hops = start, 0
        distance = dict.fromkeys(self._place[start].tolist(), 0)
        while len(frontier):
            found = self.ground.edges_at(way, frontier, self.flows, whole=self.whole)
            self._met.append(found)
            far = distinct(found[:, FAR[way]])
            if hops == self.depth:
                self._beyond.append(far[self._place[far] == _UNKNOWN])
                break
            frontier, hops = self._take(far[~reached[far]]), hops + 1
            reached[frontier] = True
            distance.update(dict.fromkeys(self._place[frontier].tolist(), hops))
        self.distance[way] = distance
        return np.flatnonzero(reached)

    def _take(self, nodes: Numbers) -> Numbers:
        """Give an index to new nodes within the limit, and return the nodes that have one."""
        new = nodes[self._place[nodes] == _UNKNOWN]
        room = self.limit - self._size
        if len(new) > room:
            kept = self.ground.first_by_id(new, room)
            self._beyond.append(np.setdiff1d(new, kept))
            new = kept
        self._add(new)
        self._size += len(new)
        placed: Numbers = nodes[self._place[nodes] != _UNKNOWN]
        return placed

    def _add(self, nodes: Numbers) -> None:
        count = sum(map(len, self._levels))
        self._place[nodes] = np.arange(count, count + len(nodes))
        self._levels.append(nodes)


def distinct(numbers: Numbers) -> Numbers:
    """Return the distinct numbers, ascending. NumPy's `unique` uses a hash table, which takes ten times as long as sorting."""
    ordered = np.sort(numbers)
    kept = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=kept[1:])
    found: Numbers = ordered[kept]
    return found


def counted(numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct numbers, ascending, and how often each occurs."""
    ordered = np.sort(numbers)
    starts = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    places = np.flatnonzero(starts)
    return ordered[places], np.diff(np.append(places, len(ordered)))
