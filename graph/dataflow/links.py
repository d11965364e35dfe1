"""Links between actors. Each link states how it is known (Newt, section 4).

*Explicit*: a user or program declared it. *Implicit*: one actor wrote the dataset or version that the other read. *Archetype*: it follows
from the types of two actors in the same container (`archetypes`). A link that is known in two ways is listed twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from headwater.graph.model import Edge, EdgeKind


class LinkKind(StrEnum):
    """How a link between actors is known."""

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"
    ARCHETYPE = "archetype"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """A flow of data from one actor to another. `via` are the datasets or versions between (implicit), or the types (archetype).

    `inferred` means that the link is a guess from other actors of these types, without a declaration.
    """

    src: str
    dst: str
    kind: LinkKind
    via: tuple[str, ...] = ()
    inferred: bool = False


def explicit_links(actors: Iterable[str], edges: Iterable[Edge]) -> list[Link]:
    inside = set(actors)
    return sorted(
        Link(edge.src, edge.dst, LinkKind.EXPLICIT) for edge in edges if edge.kind is EdgeKind.LINKS and {edge.src, edge.dst} <= inside
    )


def implicit_links(actors: Iterable[str], edges: Iterable[Edge]) -> list[Link]:
    inside = set(actors)
    writers: dict[str, set[str]] = {}
    readers: dict[str, set[str]] = {}
    for edge in edges:
        if edge.kind is EdgeKind.WRITES and edge.src in inside:
            writers.setdefault(edge.dst, set()).add(edge.src)
        elif edge.kind is EdgeKind.READS and edge.dst in inside:
            readers.setdefault(edge.src, set()).add(edge.dst)
    via: dict[tuple[str, str], set[str]] = {}
    for between in writers.keys() & readers.keys():
        for writer in writers[between]:
            for reader in readers[between]:
                via.setdefault((writer, reader), set()).add(between)
    return sorted(Link(src, dst, LinkKind.IMPLICIT, tuple(sorted(between))) for (src, dst), between in via.items())
