"""Links that types tell: between actors of one container of which nothing shows that one fed the other (Newt, section 4).

Types say so themselves (`after`), or it is inferred from how actors of two types stand to each other under one parent: where data flows, or
was declared to flow, from some of the one type to some of the other and never back, it may flow so between the others of these types too.
An inferred link is a guess: it is made only for an actor of which no link to or from the other type is known, and it says that it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headwater.errors import InvalidQueryError
from headwater.graph.dataflow.links import Link, LinkKind

Types = Mapping[str, str]  # of each actor of a container
Together = Callable[[str, str], bool]  # whether the nearest container of two actors is the same
MAX_LINKS = 100_000


def declared_archetypes(types: Types, after: Mapping[str, Sequence[str]], together: Together = lambda _src, _dst: True) -> list[Link]:
    """From every instance of a type to every instance of the types that come after it; `after` are the types that feed a type.

    Only actors that are `together` are linked: those of one nearest container.

    Raises:
        InvalidQueryError: they are more than `MAX_LINKS`.
    """
    by_type = _by_type(types)
    pairs = [(earlier, later) for later, sources in after.items() for earlier in sources]
    if _count(by_type, pairs) > MAX_LINKS:
        raise InvalidQueryError(
            f"The types in this container tell more than {MAX_LINKS:,} links.", field="container", hint="Ask about a container inside."
        )
    found: set[Link] = set()
    for earlier, later in pairs:
        for src in by_type.get(earlier, ()):
            found |= {
                Link(src, dst, LinkKind.ARCHETYPE, (earlier, later)) for dst in by_type.get(later, ()) if dst != src and together(src, dst)
            }
    return sorted(found)


def inferred_archetypes(types: Types, known: Iterable[Link], together: Together = lambda _src, _dst: True) -> list[Link]:
    """What the known links among actors make likely for the others of their types; nothing where that would be more than `MAX_LINKS`."""
    arranged: dict[tuple[str, str], set[str]] = {}  # by earlier and later type: the actors that such a link joins
    for link in known:
        earlier, later = types.get(link.src), types.get(link.dst)
        if earlier is not None and later is not None and earlier != later and together(link.src, link.dst):
            arranged.setdefault((earlier, later), set()).update((link.src, link.dst))
    by_type = _by_type(types)
    ordered = [(earlier, later) for earlier, later in arranged if (later, earlier) not in arranged]
    if _count(by_type, ordered) > MAX_LINKS:
        return []
    return sorted(
        Link(src, dst, LinkKind.ARCHETYPE, (earlier, later), inferred=True)
        for earlier, later in ordered for src in by_type[earlier] for dst in by_type[later]
        if (src not in arranged[earlier, later] or dst not in arranged[earlier, later]) and together(src, dst)
    )  # fmt: skip


def _count(by_type: Mapping[str, Sequence[str]], pairs: Iterable[tuple[str, str]]) -> int:
    return sum(len(by_type.get(earlier, ())) * len(by_type.get(later, ())) for earlier, later in pairs)


def _by_type(types: Types) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for actor, type_ in types.items():
        found.setdefault(type_, []).append(actor)
    return found
