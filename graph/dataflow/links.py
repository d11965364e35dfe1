"""Links between actors, each of which says what it is known from (Newt, section 4).

*Explicit*: declared between the two. *Implicit*: one wrote the dataset or version that the other read. *Archetype*: the types of the two
say so (`after`), for those that stand in one container and nowhere else. Where two of them tell the same, both are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headwater.graph.model import Edge, EdgeKind
from headwater.graph.model.declaration import type_of


class LinkKind(StrEnum):
    """What a link is known from."""

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"
    ARCHETYPE = "archetype"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """Data flows from one actor to another. `via` are the datasets or versions between (implicit), or the types (archetype)."""

    src: str
    dst: str
    kind: LinkKind
    via: tuple[str, ...] = ()


def explicit_links(actors: Iterable[str], edges: Iterable[Edge]) -> list[Link]:
    """The declared links among the actors."""
    inside = set(actors)
    return sorted(
        Link(edge.src, edge.dst, LinkKind.EXPLICIT) for edge in edges if edge.kind is EdgeKind.LINKS and {edge.src, edge.dst} <= inside
    )


def implicit_links(actors: Iterable[str], edges: Iterable[Edge]) -> list[Link]:
    """From every actor that wrote something to every one that read it."""
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


def archetype_links(children: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> list[Link]:
    """Within each container, from every instance of a type to every instance of the types that come after it.

    `children` are the actors of each container, `after` the types that feed a type.
    """
    found: set[Link] = set()
    for inside in children.values():
        by_type: dict[str, list[str]] = {}
        for actor in inside:
            by_type.setdefault(type_of(actor), []).append(actor)
        for later, sources in after.items():
            for earlier in sources:
                for src in by_type.get(earlier, ()):
                    found |= {Link(src, dst, LinkKind.ARCHETYPE, (earlier, later)) for dst in by_type.get(later, ()) if dst != src}
    return sorted(found)
