"""Computes the reference of a group from its key in a Python worker: the same number as in the JVM (rewrite/keys/KeyHash.java).

`kinds` has a letter for each part of the key: `n`, a whole number that is the only part and its own reference; else `i` and `l`, numbers of
up to 32 and 64 bits; `b`, booleans; `d`, dates; `s`, text. Without parts there is one group.

Shipped by value to workers that may lack Headwater: standard library only.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_NULL = 0x5DEECE66D1CE4E5B  # replaces a null number, as in tap/AmbiguousKeys.java
_MIXED = 0x3C6EF37200000000  # mixed with a number, as in the same class
_SEED = 42
_ALL = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_EPOCH = dt.date(1970, 1, 1)


def reference_of(kinds: str, key: Sequence[Any]) -> int | None:
    """Return the reference of a group. None if it cannot be computed, which the JVM reports. Never raises."""
    try:
        if not kinds:
            return 0
        values = [_plain(kind, value) for kind, value in zip(kinds, key, strict=True)]
        if kinds == "n":
            return (_NULL if values[0] is None else int(values[0])) ^ _MIXED
        found = _SEED
        for kind, value in zip(kinds, values, strict=True):
            if value is not None:
                found = _HASHES[kind](value, found)
        for value in values if len(values) > 1 else ():
            found = _of_int(value is None, found)
        return found - (1 << 64) if found >> 63 else found
    except Exception:  # noqa: BLE001  # of a value that nobody has thought of; the program's function runs all the same
        return None


def _plain(kind: str, value: Any) -> Any:
    """Return a part of a key without Arrow and numpy types. A null that pandas shows as NaN or NA becomes None."""
    if hasattr(value, "as_py"):
        if kind == "s":
            return bytes(value.as_buffer()) if value.is_valid else None  # Spark's text may be invalid UTF-8
        if kind == "d":
            return value.value  # and years that Python lacks
        value = value.as_py()
    if value is None or (kind != "s" and str(value) in ("nan", "<NA>", "NaT")):
        return None
    if kind == "s":
        return value.encode() if isinstance(value, str) else None
    return (value - _EPOCH).days if kind == "d" else int(value)


def _rotated(value: int, by: int) -> int:
    value &= _ALL
    return (value << by | value >> 64 - by) & _ALL


def _mixed(value: int) -> int:
    value &= _ALL
    value = (value ^ value >> 33) * _P2 & _ALL
    value = (value ^ value >> 29) * _P3 & _ALL
    return value ^ value >> 32


def _with_word(found: int, word: int) -> int:
    return _rotated(found ^ _rotated(word * _P2, 31) * _P1 & _ALL, 27) * _P1 + _P4 & _ALL


def _with_half(found: int, half: int) -> int:
    return _rotated(found ^ half * _P1 & _ALL, 23) * _P2 + _P3 & _ALL


def _of_int(value: int, seed: int) -> int:
    return _mixed(_with_half(seed + _P5 + 4 & _ALL, value & 0xFFFFFFFF))


def _of_long(value: int, seed: int) -> int:
    return _mixed(_with_word(seed + _P5 + 8 & _ALL, value & _ALL))


def _of_text(value: bytes, seed: int) -> int:
    words = [int.from_bytes(value[place : place + 8], "little") for place in range(0, len(value) - 7, 8)]
    striped = len(words) & ~3
    if striped:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        for place in range(striped):
            lanes[place & 3] = _rotated(lanes[place & 3] + words[place] * _P2, 31) * _P1
        found = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            found = ((found ^ _rotated(lane * _P2, 31) * _P1) & _ALL) * _P1 + _P4
    else:
        found = seed + _P5
    found = found + len(value) & _ALL
    for word in words[striped:]:
        found = _with_word(found, word)
    rest = value[len(words) * 8 :]
    if len(rest) >= 4:
        found = _with_half(found, int.from_bytes(rest[:4], "little"))
        rest = rest[4:]
    for byte in rest:
        found = _rotated(found ^ byte * _P5 & _ALL, 11) * _P1 & _ALL
    return _mixed(found)


_HASHES: Mapping[str, Callable[[Any, int], int]] = {"i": _of_int, "b": _of_int, "d": _of_int, "l": _of_long, "s": _of_text}
