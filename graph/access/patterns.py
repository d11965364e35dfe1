"""Patterns of namespaces: `*` matches any characters, `?` one character, and a backslash escapes the next character.

A pattern is compared with a whole namespace, character by character, case-sensitively, as events name it. Nothing is decoded, folded or
normalised, so that a namespace which only resembles a permitted one does not match. A comparison makes at most one pass for each `*`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headwater.errors import InvalidInputError

EVERY = "*"
MOST_PATTERNS = 50  # for one scope
LONGEST = 300  # characters in a pattern
_REMEMBERED = 10_000  # namespaces with a cached result
_ANY, _ONE, _PLAIN = "*", "?", "\\"

_Letter = tuple[bool, str]  # whether it is a wildcard; the wildcard or the character


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The namespaces that match one of several patterns. Equal if the patterns are equal."""

    patterns: tuple[str, ...]
    _read: tuple[tuple[_Letter, ...], ...] = field(init=False, repr=False, compare=False)
    _known: dict[str, bool] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_read", tuple(read_pattern(pattern) for pattern in self.patterns))

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Namespaces:
        """Return the namespaces of some patterns. The patterns are deduplicated and sorted.

        Raises:
            InvalidInputError: there are too many patterns, or one is invalid.
        """
        found = tuple(sorted(set(patterns)))
        if len(found) > MOST_PATTERNS:
            raise InvalidInputError(
                f"{len(found)} patterns of namespaces are given for one scope.", field="namespaces", hint=f"{MOST_PATTERNS} are the most."
            )
        return cls(found)

    def has(self, namespace: str) -> bool:
        known = self._known.get(namespace)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[namespace] = any(_fits(pattern, namespace) for pattern in self._read)
        return known


def read_pattern(text: str) -> tuple[_Letter, ...]:
    """Parse a pattern.

    Raises:
        InvalidInputError: the pattern is empty, too long, contains control characters, or ends with a single backslash.
    """
    if not text or len(text) > LONGEST or not text.isprintable():
        raise InvalidInputError(
            f"{text[:80]!r} is no pattern of namespaces.", field="namespaces", hint=f"Write 1 to {LONGEST} letters, as s3://sales*."
        )
    letters: list[_Letter] = []
    place = 0
    while place < len(text):
        letter = text[place]
        if letter == _PLAIN:
            place += 1
            if place == len(text):
                raise InvalidInputError(
                    f"The pattern {text!r} ends with a backslash.", field="namespaces", hint="Write two for the backslash itself."
                )
            letters.append((False, text[place]))
        else:
            letters.append((letter in (_ANY, _ONE), letter))
        place += 1
    return tuple(letters)


def _fits(pattern: tuple[_Letter, ...], text: str) -> bool:
    """Compare a text with a pattern. After a mismatch, only the last `*` takes more characters: earlier ones cannot help."""
    at = place = 0
    star, resumed = -1, 0
    while place < len(text):
        if at < len(pattern) and pattern[at] == (True, _ANY):
            star, resumed = at, place
            at += 1
        elif at < len(pattern) and (pattern[at] == (True, _ONE) or pattern[at] == (False, text[place])):
            at, place = at + 1, place + 1
        elif star >= 0:
            resumed += 1
            at, place = star + 1, resumed
        else:
            return False
    return all(letter == (True, _ANY) for letter in pattern[at:])
