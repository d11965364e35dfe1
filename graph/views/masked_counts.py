"""Counts the masked nodes on each link.

A masked atom is on a link X → Y if X reaches it and it reaches Y, through masked atoms only. If all masked atoms join few pairs, they are
counted atom by atom. If masked atoms are a large connected mass, they are counted link by link, within a limit of work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from headwater.graph.stores.numbered_cones import counted, distinct
from headwater.graph.views.atoms import Adjacency, Pairs
from headwater.graph.views.link_members import via
from headwater.graph.views.links import MASKED, Links, arrivals_of, bits_of

_PAIRS = 1_000_000  # pairs of visible nodes that masked atoms join; beyond this, atoms are counted link by link
_WORK = 300_000  # masked atoms that are visited to count link by link


class Through:
    """Counts of masked nodes for the links of one page. `node_of` is the node of each atom, `numbers` its number."""

    def __init__(self, links: Links, node_of: Mapping[int, str], numbers: Pairs, before: Callable[[], Adjacency]) -> None:
        self._links = links
        self._node_of = node_of
        self._numbers = numbers
        self._work = _WORK
        self._counted = self._by_mass(before()) if links.mass else self._by_atom()

    def counts(self, src: Pairs, dst: Pairs) -> list[int | None]:
        """Return for each link the number of different masked nodes between its ends. None where the count would take too long."""
        count = self.count
        return [count(*link) for link in zip(src.tolist(), dst.tolist(), strict=True)]

    def count(self, src: int, dst: int) -> int | None:
        if self._counted is not None:
            return self._counted.get((src, dst), 0)
        if self._work <= 0:
            return None
        atoms = via(self._links, src, dst)
        self._work -= len(atoms)
        return len({self._node_of[atom] for atom in atoms})

    def _by_atom(self) -> dict[tuple[int, int], int] | None:
        """Return counts if no masked atom follows another, by joining the flows into and out of each atom."""
        entered, left = self._links.entered, self._links.left
        begin, end = np.searchsorted(left[:, 0], entered[:, 1]), np.searchsorted(left[:, 0], entered[:, 1], side="right")
        counts = end - begin
        if counts.sum() > _PAIRS:
            return None
        place = np.repeat(begin - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        masked, size = self._numbers[entered[:, 1]], int(self._numbers.max(initial=0)) + 1
        ways = np.column_stack([np.repeat(entered[:, 0], counts), left[place, 1], np.repeat(masked, counts)])
        count = int(ways[:, :2].max(initial=0)) + 1
        links = distinct((ways[:, 0] * count + ways[:, 1]) * size + ways[:, 2]) // size
        keys, found = counted(links)
        return dict(zip(zip((keys // count).tolist(), (keys % count).tolist(), strict=True), found.tolist(), strict=True))

    def _by_mass(self, before: Adjacency) -> dict[tuple[int, int], int] | None:
        """Return counts if masked atoms follow masked atoms. None if they join too many pairs."""
        behind = arrivals_of(self._links.shown, before)
        ahead = {atom: self._links.arrivals(atom) for atom in behind}
        if sum(bits.bit_count() * ahead[atom].bit_count() for atom, bits in behind.items()) > _PAIRS:
            return None
        counted: dict[tuple[int, int], set[str]] = {}
        for atom, sources in behind.items():
            if self._links.shown[atom] != MASKED or not sources:
                continue
            node, targets = self._node_of[atom], list(bits_of(ahead[atom]))
            for src in bits_of(sources):
                for dst in targets:
                    counted.setdefault((src, dst), set()).add(node)
        return {link: len(nodes) for link, nodes in counted.items()}
