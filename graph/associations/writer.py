"""Writes a segment from Python, for producers other than the JVM's taps, and for tests.

Pure Python and pyarrow's zstd, because it must run with the base install.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from headwater.graph.associations.segment import BLOCK, COLUMN, LENGTH, MAGIC, MAX_ROWS, NUMBERED, ROWS

_WRAP = 1 << 64
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


def segment(columns: Sequence[Sequence[int]], footer: Mapping[str, Any], *, block_rows: int = MAX_ROWS) -> bytes:
    """Return the bytes of a segment with `columns` (signed 64-bit, of equal length) and a footer.

    Raises:
        ValueError: the columns differ in length.
    """
    rows = len(columns[0]) if columns else 0
    if any(len(column) != rows for column in columns):
        raise ValueError(f"The columns of a segment must be of one length; they have {[len(column) for column in columns]}.")
    blocks = [_block([column[begin : begin + block_rows] for column in columns]) for begin in range(0, rows, block_rows)]
    text = json.dumps({**footer, "rows": rows}, separators=(",", ":")).encode()
    return b"".join([MAGIC, *blocks, LENGTH.pack(0), text, LENGTH.pack(len(text)), MAGIC])


def _block(columns: Sequence[Sequence[int]]) -> bytes:
    raw = ROWS.pack(len(columns[0]), len(columns)) + b"".join(_column(column) for column in columns)
    packed: bytes = pa.Codec("zstd").compress(raw, asbytes=True)
    return BLOCK.pack(len(raw), len(packed), zlib.crc32(packed)) + packed


def _column(values: Sequence[int]) -> bytes:
    """Return the narrowest form: distances from the least value or from the value before, or numbers of few distinct values."""
    base = min(values)
    plain = [(value - base) % _WRAP for value in values]
    deltas = [0, *(_zigzag(_signed(after - before)) for before, after in pairwise(values))]
    delta = _width(max(deltas)) < _width(max(plain))
    payload, start = (deltas, values[0]) if delta else (plain, base)
    width = _width(max(payload))
    known = {value: number for number, value in enumerate(dict.fromkeys(values))}
    if width == 8 and len(known) <= 256 and len(values) > 8 + 2 * len(known):
        numbers = bytes(known[value] for value in values)
        return COLUMN.pack(1, NUMBERED, len(known)) + numbers + struct.pack(f"<{len(known)}q", *known)
    return COLUMN.pack(width, int(delta), start) + (struct.pack(f"<{len(payload)}{_CODES[width]}", *payload) if width else b"")


def _width(value: int) -> int:
    return next(width for width in (0, 1, 2, 4, 8) if value < 1 << 8 * width)


def _signed(value: int) -> int:
    return (value + 2**63) % _WRAP - 2**63


def _zigzag(value: int) -> int:
    return (value << 1 ^ value >> 63) % _WRAP
