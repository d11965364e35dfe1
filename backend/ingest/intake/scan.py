"""Finds the end of a JSON value, and checks its limits before it is parsed.

A scan takes linear time and almost no memory for any text, and lets other threads run every
few milliseconds. It looks at strings and brackets only. The parser decides whether the text is JSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from headwater.errors import InvalidJsonError

MAX_DEPTH = 150
_MB = 1024 * 1024
_WINDOW = 1 << 18  # limit of bytes in one match, because a match blocks all other threads
# Possessive quantifiers are wrong in early releases of Python 3.11. Nothing follows the stars, so there is no backtracking.
_OUTSIDE = re.compile(rb'(?:[^"\[\]{}]+|"[^"\\]*")*')
_INSIDE = re.compile(rb'(?:[^"\\]+|\\.)*', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\[\]{}\"]*")
_QUOTE, _BACKSLASH = b'"\\'
_OPENING = frozenset(b"[{")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one document.

    An empty object takes 64 bytes of memory, and a value in a list takes 8 bytes and its own size. The parser needs 0.2
    microseconds for an escape, and no other thread runs meanwhile.
    """

    size: int
    containers: int = 200_000
    values: int = 500_000
    escapes: int = 500_000


EVENT = Bounds(8 * _MB)
MANIFEST = Bounds(32 * _MB, containers=400_000, values=2_000_000)
DECLARATION = Bounds(4 * _MB, containers=100_000)
QUERY = Bounds(_MB, containers=50_000, values=200_000)


def is_within(body: bytes, bounds: Bounds) -> bool:
    """Whether a body is so small, and has so few brackets, that no part of it can exceed the limits."""
    fits = len(body) <= min(bounds.size, bounds.containers, bounds.values, bounds.escapes)
    return fits and body.count(b"{") + body.count(b"[") <= MAX_DEPTH


def value_end(body: bytes, start: int, bounds: Bounds, path: str) -> int:
    """Return the position after the value that begins at `start`, or the end of the body if the value is not closed.

    Raises:
        InvalidJsonError: the value exceeds the limits. The message names `path`.
    """
    first = body[start] if start < len(body) else 0
    if first == _QUOTE:
        end = min(_string_end(body, start), len(body))
    elif first in _OPENING:
        end = _container_end(body, start, bounds, path)
    else:
        found = _SCALAR.match(body, start)
        end = max(found.end() if found else start, min(start + 1, len(body)))
    if end - start > bounds.size:
        raise _too_large(path, f"has more than {bounds.size // _MB} MB")
    if body.count(b",", start, end) > bounds.values:
        raise _too_large(path, f"has more than {bounds.values:,} values")
    if body.count(b"\\", start, end) > bounds.escapes:
        raise _too_large(path, f"has more than {bounds.escapes:,} escapes")
    return end


def _container_end(body: bytes, start: int, bounds: Bounds, path: str) -> int:
    place, size, depth, containers = start, len(body), 0, 0
    last = start + bounds.size
    match = _OUTSIDE.match
    while place <= last:
        window = place + _WINDOW
        found = match(body, place, window)
        place = found.end() if found else place
        if place >= size:
            return size
        if place >= window:
            continue
        mark = body[place]
        if mark == _QUOTE:  # a string with an escape, or that continues after the window
            place = _string_end(body, place)
            if place > size:
                return size
            continue
        place += 1
        if mark in _OPENING:
            containers += 1
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidJsonError(f"{path} is nested too deeply: more than {MAX_DEPTH} levels.", field=path, hint="Send it flatter.")
            if containers > bounds.containers:
                raise _too_large(path, f"has more than {bounds.containers:,} objects and arrays")
        else:
            depth -= 1
            if depth <= 0:
                return place
    raise _too_large(path, f"has more than {bounds.size // _MB} MB")


def _string_end(body: bytes, quote: int) -> int:
    """Return the position after the string that begins at `quote`. It is beyond the body if the string has no end."""
    place, size = quote + 1, len(body)
    while place < size:
        found = _INSIDE.match(body, place, place + _WINDOW)
        place = found.end() if found else place
        if place >= size:
            break
        if body[place] == _QUOTE:
            return place + 1
        if body[place] == _BACKSLASH:  # the window ended within an escape
            place += 2
    return size + 1


def _too_large(path: str, what: str) -> InvalidJsonError:
    return InvalidJsonError(f"{path} {what}.", field=path, hint="Send it in parts.")
