"""Computes whether data that enters a container also leaves it. The mark shows the limits of zooming.

A container represents its members. Data may enter through one member, and leave through another member that it never reaches. So a path
over containers need not be a path of data. A container is passed *wholly* if every member at which data enters leads, within the container,
to every link that leaves it. A path of links whose inner nodes are all passed wholly is a path of members (by induction over its links).
Other paths may not be.
"""

from __future__ import annotations

from headwater.graph.views.components import components
from headwater.graph.views.links import MASKED, Links


def entries(links: Links) -> list[set[int]]:
    """Return for each visible node the members at which a link ends."""
    found: list[set[int]] = [set() for _ in links.members]
    for atom, following in enumerate(links.after):
        shown = links.shown[atom]
        if shown == MASKED or shown >= 0:
            for other in following:
                target = links.shown[other]
                if target >= 0 and target != shown:
                    found[target].add(other)
    return found


def passed_wholly(links: Links, node: int, entered: set[int]) -> bool:
    """Return whether every member in `entered` leads, through members of the node alone, to every link out of the node."""
    members = links.members[node]
    if len(members) == 1 or not entered or not links.out[node]:
        return True
    mine = set(members)
    arrives: dict[int, int] = {}
    for component in components(members, lambda atom: (other for other in links.after[atom] if other in mine)):
        bits = 0
        for atom in component:
            for other in links.after[atom]:
                bits |= arrives.get(other, 0) if other in mine else links.arrivals(other)
        arrives.update(dict.fromkeys(component, bits))
    out = links.out[node]
    return all(arrives[atom] & out == out for atom in entered)
