"""Keys of rows that are not a single integer: text, UUIDs, days, times, decimals, and keys of several columns.

The number of such a row is 53 bits of the SHA-256 of its key's bytes, so every run gives a row the same number. A run that reads the row
also records the bytes. They serve to find the row again, and to distinguish two keys with one number. The bytes, column after column:

    int, boolean, date, timestamp, instant    8 bytes: the number; 0 or 1; days; microseconds, both since 1970-01-01, of an instant in UTC
    decimal(p,s)                              8 bytes without the point, 16 if p is above 18
    uuid                                      16 bytes
    text, char                                4 bytes of length, then UTF-8; `char` without the spaces at its end
"""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
import json
import re
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from headwater.errors import UnsupportedError

_NUMBERS = ("int", "boolean", "date", "timestamp", "instant")
_TEXTS = ("text", "char")
_DECIMAL = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00)?")
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of times without a zone, and of those that are in UTC by agreement
_FIRST_YEAR = 1600  # calendars differ before this year
_LONG = 18  # digits that fit in eight bytes
_MOST_COLUMNS = 16


class KeyColumn(NamedTuple):
    """A column of a key, and the rule that distinguishes its values."""

    name: str
    kind: str


def key_columns(stated: str) -> tuple[KeyColumn, ...]:
    """Parse the columns of a key from the option of a manifest: JSON, with a name and a kind each.

    Raises:
        UnsupportedError: the text has another form.
    """
    try:
        columns = tuple(KeyColumn(str(name), str(kind)) for name, kind in json.loads(stated))
    except (ValueError, TypeError, RecursionError):
        columns = ()
    are_known = all(kind in (*_NUMBERS, *_TEXTS, "uuid") or _DECIMAL.fullmatch(kind) for _, kind in columns)
    if not 0 < len(columns) <= _MOST_COLUMNS or not are_known:
        raise UnsupportedError("Rows of a table cannot be read here: what is stated of its key is not understood.")
    return columns


def position_of(key: bytes) -> int:
    """Return the number of the row with a key. It has 53 bits, so every reader of JSON reads it exactly."""
    return int.from_bytes(hashlib.sha256(key).digest()[:8]) >> 11


def key_of(columns: Sequence[KeyColumn], texts: Sequence[str | None]) -> bytes | None:
    """Return the bytes of a key, from its values in PostgreSQL's notation (ISO dates, times in UTC). None if no run records such a key."""
    try:
        return b"".join(_packed(column.kind, text) for column, text in zip(columns, texts, strict=True))
    except (ValueError, TypeError, OverflowError, decimal.DecimalException):
        return None


def texts_of(columns: Sequence[KeyColumn], key: bytes) -> list[str] | None:
    """Return the values of a key in PostgreSQL's notation. None if the bytes are not a key. Zeros may follow them."""
    texts, position = [], 0
    try:
        for _, kind in columns:
            length = _length(kind, key, position)
            position += 4 if kind in _TEXTS else 0
            part = key[position : position + length]
            if len(part) < length:
                return None
            texts.append(_text(kind, part))
            position += length
    except (ValueError, OverflowError):
        return None
    return None if any(key[position:]) else texts


def without_padding(columns: Sequence[KeyColumn], key: bytes) -> bytes | None:
    """Return a key without trailing zeros. None if the bytes are not a key."""
    texts = texts_of(columns, key)
    whole = None if texts is None else key_of(columns, texts)
    return whole if whole is not None and key.startswith(whole) and not any(key[len(whole) :]) else None


def _packed(kind: str, text: str | None) -> bytes:
    if text is None:
        raise ValueError(kind)
    if kind in _TEXTS:
        content = (text.rstrip(" ") if kind == "char" else text).encode()
        return len(content).to_bytes(4) + content
    if kind == "uuid":
        return UUID(text).bytes
    if match := _DECIMAL.fullmatch(kind):
        with decimal.localcontext(prec=80):
            scaled = decimal.Decimal(text).scaleb(int(match[2]))
        if scaled != scaled.to_integral_value():
            raise ValueError(kind)
        return int(scaled).to_bytes(8 if int(match[1]) <= _LONG else 16, signed=True)
    return _number(kind, text).to_bytes(8, signed=True)


def _number(kind: str, text: str) -> int:
    if kind == "int":
        return int(text)
    if kind == "boolean":
        return ("false", "true").index(text)
    if kind == "date":
        parsed = dt.datetime.strptime(text, "%Y-%m-%d")  # noqa: DTZ007 - a day
    elif match := _TIME.fullmatch(text):
        parsed = dt.datetime.fromisoformat(match[1]) + dt.timedelta(microseconds=int((match[2] or "0").ljust(6, "0")))
    else:
        raise ValueError(kind)
    if parsed.year < _FIRST_YEAR:
        raise ValueError(kind)
    return (parsed - _EPOCH) // (dt.timedelta(days=1) if kind == "date" else dt.timedelta(microseconds=1))


def _length(kind: str, key: bytes, at: int) -> int:
    if kind in _TEXTS:
        return int.from_bytes(key[at : at + 4]) if at + 4 <= len(key) else len(key)
    match = _DECIMAL.fullmatch(kind)
    return 16 if kind == "uuid" or (match and int(match[1]) > _LONG) else 8


def _text(kind: str, part: bytes) -> str:
    if kind in _TEXTS:
        return part.decode()
    if kind == "uuid":
        return str(UUID(bytes=part))
    number = int.from_bytes(part, signed=True)
    if match := _DECIMAL.fullmatch(kind):
        with decimal.localcontext(prec=80):
            return format(decimal.Decimal(number).scaleb(-int(match[2])), "f")
    if kind == "boolean":
        return "true" if number else "false"
    if kind == "date":
        return (_EPOCH + dt.timedelta(days=number)).date().isoformat()
    if kind in ("timestamp", "instant"):
        text_value = (_EPOCH + dt.timedelta(microseconds=number)).isoformat(" ", "microseconds")
        return f"{text_value}+00" if kind == "instant" else text_value
    return str(number)
