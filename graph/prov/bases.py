"""Finds the namespace of a name. A document may declare many namespaces and have many names."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Bases:
    """IRIs of namespaces. One may be the beginning of another."""

    def __init__(self, bases: Iterable[str]) -> None:
        self._sorted = sorted(set(bases))
        self._shorter: dict[str, str | None] = {}  # the longest other base that a base begins with
        open_bases: list[str] = []
        for base in self._sorted:
            while open_bases and not base.startswith(open_bases[-1]):
                open_bases.pop()
            self._shorter[base] = open_bases[-1] if open_bases else None
            open_bases.append(base)

    def longest(self, iri: str, *, shorter_than_name: bool = False) -> str | None:
        """Return the longest base that the name begins with."""
        place = bisect_right(self._sorted, iri)
        base = self._sorted[place - 1] if place else None
        # In this order, what a name begins with is the base before it, or one that this base begins with.
        while base is not None and not iri.startswith(base):
            base = self._shorter[base]
        return self._shorter[base] if shorter_than_name and base is not None and base == iri else base
