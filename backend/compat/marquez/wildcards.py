"""Matches names against patterns with wildcards. `%` matches any characters, `_` matches one.

Callers choose the pattern, and producers of events choose the names, so the time must grow with the length of
a name only. There is no backtracking. Each part between `%` is searched at its first match after the previous part. A
later match would leave less text for the following parts, and never helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Wildcards:
    """A search pattern. Case is folded in pattern and names. A name matches if a part of it matches."""

    def __init__(self, pattern: str) -> None:
        self._parts = [_finder(part) for part in pattern.split("%") if part]

    def fits(self, name: str) -> bool:
        place = 0
        for find in self._parts:
            place = find(name, place)
            if place < 0:
                return False
        return True

    def fitting(self, names: Sequence[str]) -> list[bool]:
        return [self.fits(name) for name in names]


def literals(pattern: str) -> list[str]:
    """Return the texts between wildcards."""
    return pattern.replace("_", "%").split("%")


def _finder(part: str) -> Callable[[str, int], int]:
    """Return a function for the position after the first match of a part at a position or later, or -1."""
    if "_" not in part:
        return lambda name, place: found + len(part) if (found := name.find(part, place)) >= 0 else -1
    # Bit i of `begun` is set if the last i + 1 letters match the first i + 1 of the part. Each letter costs one step.
    wild = sum(1 << i for i, letter in enumerate(part) if letter == "_")
    places: dict[str, int] = {}
    for i, letter in enumerate(part):
        places[letter] = places.get(letter, wild) | 1 << i
    whole = 1 << len(part) - 1

    def find(name: str, place: int) -> int:
        begun = 0
        for end in range(place, len(name)):
            begun = (begun << 1 | 1) & places.get(name[end], wild)
            if begun & whole:
                return end + 1
        return -1

    return find
