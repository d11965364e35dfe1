"""Edges in memory, found by either end: two sorted arrays of numbers. Each number contains near end, kind and far end.

The edges at a node, of consecutive kinds, are one run of an array, found by bisection. Bisection needs no array by node, so a handful of
edges takes a handful of numbers. Millions of edges have such an array nevertheless: bisecting them causes about twenty cache misses for
each node of a walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headwater.graph.stores.protocol import Direction

Numbers = NDArray[np.int64]

# A key: near end, kind, far end. 2^29 nodes fit.
_KIND, _NEAR = 29, 33
_END = (1 << _KIND) - 1
_KINDS = (1 << (_NEAR - _KIND)) - 1
MAX_NODES = _END
_WIDE = 32  # edges per node, of all kinds, up to which reading the edges of other kinds too is cheaper


def keys(near: Numbers, kind: Numbers, far: Numbers) -> Numbers:
    """Return the keys of edges: near end, kind and far end in one number."""
    made: Numbers = near << _NEAR | kind << _KIND | far
    return made


def near_of(edges: Numbers) -> Numbers:
    ends: Numbers = edges >> _NEAR
    return ends


def kind_of(edges: Numbers) -> Numbers:
    codes: Numbers = edges >> _KIND & _KINDS
    return codes


def far_of(edges: Numbers) -> Numbers:
    ends: Numbers = edges & _END
    return ends


def turned(edges: Numbers) -> Numbers:
    """Return the keys of the same edges from the other end."""
    return keys(far_of(edges), kind_of(edges), near_of(edges))


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges of a graph: `into` by destination, `out` by source.

    `first` and `last` (as numbers of texts) and `with_properties` have the order of `into`. Facts of an edge may be overwritten, but the
    set of edges never changes.
    """

    into: Numbers
    out: Numbers
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    with_properties: NDArray[np.bool_]
    starts: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None  # by node: where its edges begin, in `into` and in `out`

    @classmethod
    def of(cls, into: Numbers, first: NDArray[np.int32], last: NDArray[np.int32], with_properties: NDArray[np.bool_]) -> Edges:
        """Return edges by destination, in any order. If an edge occurs twice, the last one counts."""
        order = np.argsort(into, kind="stable")
        into = into[order]
        final = np.ones(len(into), dtype=bool)
        final[:-1] = into[1:] != into[:-1]
        kept = order[final]
        into = into[final]
        return cls(into, np.sort(turned(into)), first[kept], last[kept], with_properties[kept])

    @classmethod
    def none(cls) -> Edges:
        nothing = np.empty(0, dtype=np.int64)
        times = nothing.astype(np.int32)
        return cls.of(nothing, times, times, nothing.astype(bool))

    def joined(self, other: Edges) -> Edges:
        """Return the union. For a common edge, the facts of `other` count."""
        return Edges.of(
            np.concatenate((self.into, other.into)),
            np.concatenate((self.first, other.first)),
            np.concatenate((self.last, other.last)),
            np.concatenate((self.with_properties, other.with_properties)),
        )

    def with_starts(self, count: int) -> Edges:
        """Return the same edges, with an array by node for `count` nodes."""
        bounds = np.arange(count + 1, dtype=np.int64) << _NEAR
        return replace(
            self, starts=(np.searchsorted(self.into, bounds).astype(np.int32), np.searchsorted(self.out, bounds).astype(np.int32))
        )

    def at(self, way: Direction, nodes: Numbers, runs: Sequence[tuple[int, int]]) -> Numbers:
        """Return the edges at nodes, of the kinds in `runs` (first and last code of each), as keys from the nodes' side."""
        return self.side(way)[self.places_at(way, nodes, runs)]

    def side(self, way: Direction) -> Numbers:
        return self.into if way is Direction.UPSTREAM else self.out

    def places_at(self, way: Direction, nodes: Numbers, runs: Sequence[tuple[int, int]]) -> Numbers:
        """Return the positions of the edges at nodes in the array of one side (see `at`)."""
        side = self.side(way)
        if self.starts is not None:
            starts = self.starts[0 if way is Direction.UPSTREAM else 1]
            known = nodes[nodes < len(starts) - 1]  # later nodes have no edge here
            begin, end = starts[known].astype(np.int64), starts[known + 1].astype(np.int64)
            if (end - begin).sum() <= _WIDE * len(known):
                places = _spans(begin, end)
                kinds = kind_of(side[places])
                return places[_any([(kinds >= low) & (kinds <= high) for low, high in runs], len(places))]
        found = [
            _spans(np.searchsorted(side, nodes << _NEAR | low << _KIND), np.searchsorted(side, nodes << _NEAR | (high + 1) << _KIND))
            for low, high in runs
        ]
        return found[0] if len(found) == 1 else np.concatenate([*found, np.empty(0, dtype=np.int64)])

    def places(self, into: Numbers) -> Numbers:
        """Return the positions of edges by destination, or -1 for edges that do not exist."""
        places = np.searchsorted(self.into, into)
        if not len(self.into):
            return np.full(len(into), -1)
        return np.where(self.into[np.minimum(places, len(self.into) - 1)] == into, places, -1)

    @property
    def size(self) -> int:
        return sum(column.nbytes for column in (self.into, self.out, self.first, self.last, self.with_properties, *(self.starts or ())))


def _spans(begin: Numbers, end: Numbers) -> Numbers:
    """Return all numbers of ranges, one range after the other."""
    counts = end - begin
    before = np.cumsum(counts) - counts
    found: Numbers = np.repeat(begin - before, counts) + np.arange(counts.sum())
    return found


def _any(conditions: Sequence[NDArray[np.bool_]], count: int) -> NDArray[np.bool_]:
    holds = np.zeros(count, dtype=bool)
    for condition in conditions:
        holds |= condition
    return holds
