"""Links between actors that follow from their types (Newt, section 4).

A type may declare the types that feed it (`after`). Otherwise links are inferred from the actors of two types under one parent. If data
flows from some actors of one type to some of the other, and never back, it may flow between the other actors of these types as well. An
inferred link is a guess and is marked as one. Actors that already have a link to the other type get no inferred link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headwater.errors import InvalidQueryError
from headwater.graph.dataflow.links import Link, LinkKind

Types = Mapping[str, str]  # the type of each actor of a container
Together = Callable[[str, str], bool]  # whether the nearest container of two actors is the same
MAX_LINKS = 100_000


def declared_archetypes(types: Types, after: Mapping[str, Sequence[str]], together: Together = lambda _src, _dst: True) -> list[Link]:
    """Link every instance of a type to every instance of the types after it. `after` maps a type to the types that feed it.

    Only actors with the same nearest container (`together`) are linked.

    Raises:
        InvalidQueryError: there are more than `MAX_LINKS` links.
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
    """Infer links from the known links between actors of the same types. Return nothing if there would be more than `MAX_LINKS`."""
    arranged: dict[tuple[str, str], set[str]] = {}  # (earlier type, later type) → actors with such a link
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
