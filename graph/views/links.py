"""The links of a view: which visible nodes are joined, directly or through masked atoms alone.

A link X → Y stands for ways from a member of X to a member of Y on which everything between is masked. Masked atoms are followed one by
one, before anything is lifted to a container: two members of a masked container that do not touch make no way.

What masked atoms lead to are sets of visible nodes, held as the bits of integers, worked out once for each strongly connected component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from headwater.graph.views.atoms import Adjacency, Pairs
from headwater.graph.views.components import components

MASKED = -1
OUTSIDE = -2


class Links:
    """`shown[atom]` is the number of the visible node that the atom is in, `MASKED`, or `OUTSIDE` of the view.

    `flows` are those between atoms, as rows of two; `after` gives them as steps, for what needs to follow them (what is masked, what is
    inside a node).
    """

    def __init__(self, shown: Sequence[int], flows: Pairs, after: Callable[[], Adjacency], count: int) -> None:
        self.shown = shown
        self._steps = after
        self.direct: list[dict[int, int]] = [{} for _ in range(count)]  # for each node those that follow at once, with the number of flows
        self._entering: list[list[int]] = [[] for _ in range(count)]  # the masked atoms that flows out of a node enter
        ends = np.array(shown, dtype=np.int64)[flows]
        src, dst = ends[:, 0], ends[:, 1]
        joined, weights = np.unique(ends[(src >= 0) & (dst >= 0) & (src != dst)], axis=0, return_counts=True)
        for (node, other), weight in zip(joined.tolist(), weights.tolist(), strict=True):
            self.direct[node][other] = weight
        entered = (src >= 0) & (dst == MASKED)
        for node, atom in zip(src[entered].tolist(), flows[entered, 1].tolist(), strict=True):
            self._entering[node].append(atom)
        self._ahead = arrivals_of(shown, self.after) if any(self._entering) else {}
        self.out = [self._out(node) for node in range(count)]

    @property
    def after(self) -> Adjacency:
        """What follows each atom."""
        return self._steps()

    @cached_property
    def members(self) -> list[list[int]]:
        """The atoms of each visible node."""
        members: list[list[int]] = [[] for _ in self.direct]
        for atom, node in enumerate(self.shown):
            if node >= 0:
                members[node].append(atom)
        return members

    def total(self) -> int:
        """The number of links."""
        return sum(bits.bit_count() for bits in self.out)

    def of(self, node: int) -> dict[int, int]:
        """The nodes that follow, each with the weight of its link: the flows out of members of `node` that arrive there."""
        weights = dict(self.direct[node])
        for atom in self._entering[node]:
            for target in bits_of(self._ahead[atom]):
                if target != node:
                    weights[target] = weights.get(target, 0) + 1
        return weights

    def leads_to(self, atom: int, node: int) -> bool:
        """Whether a flow into an atom arrives at a node."""
        shown = self.shown[atom]
        return shown == node if shown >= 0 else shown == MASKED and bool(self._ahead.get(atom, 0) >> node & 1)

    def arrivals(self, atom: int) -> int:
        """The visible nodes at which a flow into an atom arrives, as bits."""
        shown = self.shown[atom]
        return 1 << shown if shown >= 0 else self._ahead.get(atom, 0) if shown == MASKED else 0

    def _out(self, node: int) -> int:
        bits = 0
        for other in self.direct[node]:
            bits |= 1 << other
        for atom in self._entering[node]:
            bits |= self._ahead[atom]
        return bits & ~(1 << node)


def bits_of(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def arrivals_of(shown: Sequence[int], after: Adjacency) -> dict[int, int]:
    """For each masked atom the visible nodes that follow it through masked atoms, as bits."""
    found: dict[int, int] = {}
    waits: dict[int, int] = {}  # for how many masked atoms after it an atom waits
    waiting: dict[int, list[int]] = {}  # those that wait for an atom
    for atom, node in enumerate(shown):
        if node == MASKED:
            onwards = [other for other in after[atom] if shown[other] == MASKED]
            if onwards:
                waits[atom] = len(onwards)
                for other in onwards:
                    waiting.setdefault(other, []).append(atom)
            found[atom] = _bits([shown[other] for other in after[atom]])
    done = [atom for atom in waiting if atom not in waits]
    while done:
        atom = done.pop()
        for before in waiting[atom]:
            found[before] |= found[atom]
            waits[before] -= 1
            if not waits[before]:
                del waits[before]
                if before in waiting:
                    done.append(before)
    _close_cycles(found, list(waits), after)
    return found


def _bits(nodes: Iterable[int]) -> int:
    bits = 0
    for node in nodes:
        if node >= 0:
            bits |= 1 << node
    return bits


def _close_cycles(found: dict[int, int], left: Sequence[int], after: Adjacency) -> None:
    """What is left waits for itself: the atoms of a cycle, and those before one."""
    members = set(left)
    for component in components(left, lambda atom: [other for other in after[atom] if other in members]):
        bits = 0
        for atom in component:
            bits |= found[atom]
            for other in after[atom]:
                if other in members:
                    bits |= found[other]
        found.update(dict.fromkeys(component, bits))
