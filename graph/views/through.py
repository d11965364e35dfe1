"""How many masked nodes each link leads through.

A masked atom lies on a link X → Y if X leads to it and it leads to Y, through masked atoms alone. Where the pairs that all masked atoms
join are few, they are counted atom by atom; where masked atoms are a large connected mass, link by link, as long as that is affordable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.graph.views.atoms import Adjacency
from headwater.graph.views.between import via
from headwater.graph.views.links import MASKED, Links, arrivals_of, bits_of

_PAIRS = 1_000_000  # joined by masked atoms, at most, to count atom by atom
_WORK = 300_000  # masked atoms looked at, link by link


class Through:
    """Counts for the links of one page. `node_of` names the node that each atom is a member of."""

    def __init__(self, links: Links, node_of: Mapping[int, str], before: Callable[[], Adjacency]) -> None:
        self._links = links
        self._node_of = node_of
        self._work = _WORK
        behind = arrivals_of(links.shown, before())
        ahead = {atom: links.arrivals(atom) for atom in behind}
        pairs = sum(bits.bit_count() * ahead[atom].bit_count() for atom, bits in behind.items())
        self._counted = self._count(behind, ahead) if pairs <= _PAIRS else None

    def count(self, src: int, dst: int) -> int | None:
        """The number of different masked nodes on the ways of a link; None: not counted, since too much lies behind the page."""
        if self._counted is not None:
            return len(self._counted.get((src, dst), ()))
        if self._work <= 0:
            return None
        atoms = via(self._links, src, dst)
        self._work -= len(atoms)
        return len({self._node_of[atom] for atom in atoms})

    def _count(self, behind: Mapping[int, int], ahead: Mapping[int, int]) -> dict[tuple[int, int], set[str]]:
        counted: dict[tuple[int, int], set[str]] = {}
        for atom, sources in behind.items():
            if self._links.shown[atom] != MASKED or not sources:
                continue
            node, targets = self._node_of[atom], list(bits_of(ahead[atom]))
            for src in bits_of(sources):
                for dst in targets:
                    counted.setdefault((src, dst), set()).add(node)
        return counted
