"""The links of a view: pairs of visible nodes that are joined directly, or through masked atoms only.

A link X → Y represents paths from a member of X to a member of Y on which all nodes in between are masked. Masked atoms are followed one by
one, before they are lifted to a container. So two members of a masked container that are not connected make no path.

The visible nodes that a masked atom reaches are rows of (atom, node). Steps over arrays join them with the flows into these atoms. If
masked atoms are a large connected mass, there would be far more rows than links. Then the reached nodes are sets, as bits of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from headwater.graph.stores.numbered_cones import counted, distinct
from headwater.graph.views.atoms import Adjacency, Pairs
from headwater.graph.views.components import components

MASKED = -1
OUTSIDE = -2

_ROWS = 2_000_000  # rows that are joined in one step


class Links:
    """The links of a view. `shown[atom]` is the number of the atom's visible node, or `MASKED`, or `OUTSIDE` of the view.

    - `numbers`: `shown` as an array.
    - `flows`: flows between atoms, as rows of two; `after` has them as steps, to follow masked atoms and the inside of nodes.
    - `entered`: rows of (node, masked atom), one per flow.
    - `left`: rows of (masked atom, node), each once, for flows out of the atom that arrive immediately.
    """

    def __init__(self, shown: Pairs, flows: Pairs, after: Callable[[], Adjacency], count: int) -> None:
        self.numbers = shown
        self.shown: list[int] = shown.tolist()
        self._steps = after
        self._count = count
        ends = shown[flows]
        src, dst = ends[:, 0], ends[:, 1]
        between = (src >= 0) & (dst >= 0) & (src != dst)
        self._direct = src[between] * count + dst[between]
        entered, leaving = (src >= 0) & (dst == MASKED), (src == MASKED) & (dst >= 0)
        self.entered = np.column_stack([src[entered], flows[entered, 1]])
        self.left = _distinct(flows[leaving, 0], dst[leaving], count)
        self.mass = bool(((src == MASKED) & (dst == MASKED)).any())  # whether a masked atom follows another
        rows = self._arrivals()
        self._joined: tuple[Pairs, Pairs] | None = None if rows is None else self._put_together(rows)

    @property
    def after(self) -> Adjacency:
        """Return the successors of each atom."""
        return self._steps()

    @cached_property
    def members(self) -> list[list[int]]:
        """Return the atoms of each visible node."""
        members: list[list[int]] = [[] for _ in range(self._count)]
        for atom, node in enumerate(self.shown):
            if node >= 0:
                members[node].append(atom)
        return members

    @cached_property
    def direct(self) -> list[dict[int, int]]:
        """Return for each node its direct successors, each with the number of flows."""
        direct: list[dict[int, int]] = [{} for _ in range(self._count)]
        joined, weights = counted(self._direct)
        for key, weight in zip(joined.tolist(), weights.tolist(), strict=True):
            direct[key // self._count][key % self._count] = weight
        return direct

    @cached_property
    def out(self) -> list[int]:
        """Return for each node its successors, as bits."""
        return [self._out(node) for node in range(self._count)]

    def total(self) -> int:
        return sum(bits.bit_count() for bits in self.out) if self._joined is None else len(self._joined[0])

    def all(self) -> tuple[Pairs, Pairs, Pairs]:
        """Return all links, in order: the nodes at which they begin, the nodes at which they end, and the weights."""
        if self._joined is None:
            found = [(src, dst, weight) for src in range(self._count) for dst, weight in sorted(self.of(src).items())]
            src, dst, weights = np.array(found, dtype=np.int64).reshape(-1, 3).T
            return src, dst, weights
        keys, counts = self._joined
        return keys // max(1, self._count), keys % max(1, self._count), counts

    def are_direct(self, src: Pairs, dst: Pairs) -> list[bool]:
        """Return for each link whether one of its flows passes no masked node."""
        found: list[bool] = np.isin(src * self._count + dst, self._direct).tolist()
        return found

    def of(self, node: int) -> dict[int, int]:
        """Return the successors of a node, each with the weight of its link: the number of flows out of `node` that arrive there."""
        if self._joined is not None:
            keys, counts = self._joined
            start, end = np.searchsorted(keys, [node * self._count, (node + 1) * self._count]).tolist()
            return dict(zip((keys[start:end] - node * self._count).tolist(), counts[start:end].tolist(), strict=True))
        weights = dict(self.direct[node])
        for atom in self._entering[node]:
            for target in bits_of(self._ahead[atom]):
                if target != node:
                    weights[target] = weights.get(target, 0) + 1
        return weights

    def leads_to(self, atom: int, node: int) -> bool:
        """Return whether a flow into an atom arrives at a node."""
        shown = self.shown[atom]
        return shown == node if shown >= 0 else shown == MASKED and bool(self._ahead.get(atom, 0) >> node & 1)

    def arrivals(self, atom: int) -> int:
        """Return the visible nodes at which a flow into an atom arrives, as bits."""
        shown = self.shown[atom]
        return 1 << shown if shown >= 0 else self._ahead.get(atom, 0) if shown == MASKED else 0

    @cached_property
    def _ahead(self) -> dict[int, int]:
        return arrivals_of(self.shown, self.after) if len(self.entered) else {}

    @cached_property
    def _entering(self) -> list[list[int]]:
        """Return for each node the masked atoms that its flows enter."""
        entering: list[list[int]] = [[] for _ in range(self._count)]
        for node, atom in self.entered.tolist():
            entering[node].append(atom)
        return entering

    def _out(self, node: int) -> int:
        bits = 0
        if self._joined is not None:
            for target in self.of(node):
                bits |= 1 << target
            return bits
        for other in self.direct[node]:
            bits |= 1 << other
        for atom in self._entering[node]:
            bits |= self._ahead[atom]
        return bits & ~(1 << node)

    def _arrivals(self) -> Pairs | None:
        """Return rows of (masked atom, visible node at which a flow into it arrives), by atom. None if there are too many."""
        if not self.mass or not len(self.entered):
            return self.left
        atoms = distinct(self.entered[:, 1]).tolist()
        if sum(self._ahead[atom].bit_count() for atom in atoms) > _ROWS:
            return None
        found = [(atom, node) for atom in atoms for node in bits_of(self._ahead[atom])]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def _put_together(self, rows: Pairs) -> tuple[Pairs, Pairs] | None:
        """Return every link as one number, `src * count + dst`, in order, and its weight. None if this takes too many rows."""
        begin, end = np.searchsorted(rows[:, 0], self.entered[:, 1]), np.searchsorted(rows[:, 0], self.entered[:, 1], side="right")
        counts = end - begin
        if counts.sum() > _ROWS:
            return None
        place = np.repeat(begin - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        src, dst = np.repeat(self.entered[:, 0], counts), rows[place, 1]
        through = (src * self._count + dst)[src != dst]
        return counted(np.concatenate([self._direct, through]))


def _distinct(first: Pairs, second: Pairs, count: int) -> Pairs:
    """Return distinct rows of two numbers, in order. The second number must be less than `count`."""
    keys = distinct(first * count + second)
    return np.column_stack([keys // max(1, count), keys % max(1, count)])


def bits_of(bits: int) -> Iterator[int]:
    """Yield the positions of the bits that are set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def arrivals_of(shown: Sequence[int], after: Adjacency) -> dict[int, int]:
    """Return for each masked atom the visible nodes that it reaches through masked atoms, as bits."""
    found: dict[int, int] = {}
    waits: dict[int, int] = {}  # number of masked successors without a result, by atom
    waiting: dict[int, list[int]] = {}  # atoms that wait for the result of an atom
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
    """Compute the arrivals of atoms in cycles, and of the atoms that lead to cycles."""
    members = set(left)
    for component in components(left, lambda atom: [other for other in after[atom] if other in members]):
        bits = 0
        for atom in component:
            bits |= found[atom]
            for other in after[atom]:
                if other in members:
                    bits |= found[other]
        found.update(dict.fromkeys(component, bits))
