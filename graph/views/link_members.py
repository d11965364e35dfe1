"""The members that a link between visible nodes joins, and the masked nodes between them."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.graph.views.links import MASKED, Links


def pairs(links: Links, src: int, dst: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs of members that a link joins: an atom of `src`, and an atom of `dst` to which it leads.

    Only masked atoms are between the two.
    """
    for atom in links.members[src]:
        for other in sorted(_arrivals(links, atom, dst)):
            yield atom, other


def via(links: Links, src: int, dst: int) -> set[int]:
    """Return the masked atoms between the two ends of a link."""
    found: set[int] = set()
    stack = [
        other for atom in links.members[src] for other in links.after[atom] if links.shown[other] == MASKED and links.leads_to(other, dst)
    ]
    while stack:
        atom = stack.pop()
        if atom in found:
            continue
        found.add(atom)
        stack += [other for other in links.after[atom] if links.shown[other] == MASKED and links.leads_to(other, dst)]
    return found


def _arrivals(links: Links, atom: int, dst: int) -> set[int]:
    found: set[int] = set()
    seen: set[int] = set()
    stack = list(links.after[atom])
    while stack:
        other = stack.pop()
        if links.shown[other] == dst:
            found.add(other)
        elif links.shown[other] == MASKED and other not in seen and links.leads_to(other, dst):
            seen.add(other)
            stack += links.after[other]
    return found
