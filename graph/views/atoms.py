"""Atoms: the finest nodes on which a view computes, and the flows between them, by number.

Masking and reachability are computed on the members of a container, not on the container. So a view never shows a path through two members
of a container that are not connected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwater.graph.model import Node
from headwater.graph.stores.protocol import Direction
from headwater.graph.views.levels import kind_of
from headwater.graph.views.request import DATA

Adjacency = list[list[int]]
Pairs = NDArray[np.int64]


class Atoms:
    """The atoms of a view. `ids` may repeat: the part of a job in the derivation of one column is an atom with the job's id.

    - `parents`: containers that ids do not state.
    - `notes`: sentences about nodes that are missing from the answer, or too many.
    - `reach`: set if the store has computed the distances. `beyond` then counts the nodes one hop further than depth or limit allowed.
      Otherwise the atoms extend one hop beyond the depth, so that `Reach.of` can count, and `beyond` counts nodes beyond the limit.
    - `names`: set if a mask needs them. `known` has nodes that need not be read from the store.

    Edges may be given as rows of two numbers. They stay rows until they are read one by one.
    """

    __slots__ = ("_array", "_edges", "beyond", "focus", "ids", "known", "names", "notes", "parents", "reach")

    def __init__(
        self,
        ids: list[str],
        edges: list[tuple[int, int]] | Pairs,
        focus: list[int],
        parents: Mapping[str, Sequence[str]] | None = None,
        beyond: int = 0,
        notes: list[str] | None = None,
        *,
        reach: Reach | None = None,
        names: Mapping[str, str] | None = None,
        known: Callable[[Collection[str]], Mapping[str, Node]] | None = None,
    ) -> None:
        self.ids, self.focus, self.parents, self.beyond = ids, focus, parents or {}, beyond
        self.notes = [] if notes is None else notes
        self.reach, self.names = reach, names or {}
        self.known = known or _nothing
        self._array: Pairs | None = None if isinstance(edges, list) else edges
        self._edges = edges if isinstance(edges, list) else []

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Return the list of edges, to which callers may add."""
        if self._array is not None:
            self._edges, self._array = list(zip(self._array[:, 0].tolist(), self._array[:, 1].tolist(), strict=True)), None
        return self._edges

    @edges.setter
    def edges(self, edges: list[tuple[int, int]]) -> None:
        self._edges, self._array = edges, None

    def pairs(self) -> Pairs:
        """Return the edges as rows of two numbers."""
        return np.array(self._edges, dtype=np.int64).reshape(-1, 2) if self._array is None else self._array

    def after(self) -> Adjacency:
        """Return the successors of each atom."""
        return _adjacency(self.pairs(), len(self.ids))

    def before(self) -> Adjacency:
        """Return the predecessors of each atom."""
        return _adjacency(self.pairs()[:, ::-1], len(self.ids))


def _nothing(_: Collection[str]) -> Mapping[str, Node]:
    return {}


def _adjacency(pairs: Pairs, count: int) -> Adjacency:
    """Return for each number the second numbers of its pairs, in order. Building whole lists is three times as fast as appending."""
    order = np.argsort(pairs[:, 0], kind="stable")
    others = pairs[order, 1].tolist()
    ends = np.cumsum(np.bincount(pairs[:, 0], minlength=count)).tolist()
    return [others[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def spread(start: Iterable[int], steps: Adjacency) -> dict[int, int]:
    """Return the distance of each node that is reached from `start`."""
    distance = dict.fromkeys(start, 0)
    frontier, hops = list(distance), 0
    while frontier:
        hops += 1
        found: list[int] = []
        for atom in frontier:
            for other in steps[atom]:
                if other not in distance:
                    distance[other] = hops
                    found.append(other)
        frontier = found
    return distance


def hops_from(start: Iterable[int], steps: Adjacency, is_data: Sequence[bool], depth: int) -> tuple[dict[int, int], set[int]]:
    """Return the distance of each atom within `depth` hops, and the first atoms beyond.

    A hop joins data and an actor. Steps within one run (between its operators, stages and tasks) have no length. Two columns without a
    known job between them have a distance of two hops, as with a job. So depth means the same at every level.
    """
    distance: dict[int, int] = {}
    waiting: list[list[int]] = [list(start), [], []]  # atoms to visit, by number of hops from `at` on
    past: set[int] = set()
    at = 0
    while any(waiting):
        here = waiting[0]
        for atom in here:  # the list grows during the loop, by steps without length
            if atom in distance:
                continue
            distance[atom] = at
            for other in steps[atom]:
                if other in distance:
                    continue
                hops = 1 if is_data[atom] != is_data[other] else 2 if is_data[atom] else 0
                if at + hops > depth:
                    past.add(other)
                else:
                    waiting[hops].append(other)
        waiting = [*waiting[1:], []]
        at += 1
    return distance, {atom for atom in past if atom not in distance}


@dataclass(frozen=True, slots=True)
class Reach:
    """Distances of the atoms upstream and downstream of the focus. `beyond` counts the nodes one hop beyond the depth."""

    upstream: Mapping[int, int]
    downstream: Mapping[int, int]
    beyond: int = 0

    @classmethod
    def of(cls, atoms: Atoms, direction: Direction, depth: int) -> Reach:
        is_data = [kind_of(identifier) in DATA for identifier in atoms.ids]
        upstream, earlier = ({}, set()) if direction is Direction.DOWNSTREAM else hops_from(atoms.focus, atoms.before(), is_data, depth)
        downstream, later = ({}, set()) if direction is Direction.UPSTREAM else hops_from(atoms.focus, atoms.after(), is_data, depth)
        past = (earlier | later) - upstream.keys() - downstream.keys()
        shown = {atoms.ids[atom] for atom in (*upstream, *downstream)} if past else set()
        further = {atoms.ids[atom] for atom in past} - shown
        # A job may be visible for one column and beyond the depth for another. It counts once at least.
        return cls(upstream, downstream, len(further) or min(1, len(past)))

    def distance(self) -> dict[int, int]:
        """Return the distance of each reached atom, upstream or downstream, whichever is shorter."""
        if not self.upstream:
            return dict(self.downstream)
        distance = dict(self.upstream)
        for atom, hops in self.downstream.items():
            if hops < distance.get(atom, hops + 1):
                distance[atom] = hops
        return distance
