"""Compares the rows of two segments, for a task that ran again and may have read its input in another order."""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from headwater.graph.associations.segment import DIFFERENCES, NUMBERED, PackedColumn, Segment

_MOST = 2_000_000  # rows to compare, about a microsecond each
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_WRAP = (1 << 64) - 1


def same_rows(first: Path | None, second: Path | None, *, in_order: bool) -> bool:
    """Return whether two segments have the same rows. False also for missing, damaged or too large segments.

    None is a segment without rows.
    """
    if first is None or second is None:
        return first is second
    try:
        one, other = (Segment.open(path.name, path.read_bytes()) for path in (first, second))
        if not one.footer.rows == other.footer.rows <= _MOST:
            return False
        return list(_rows(one)) == list(_rows(other)) if in_order else Counter(_rows(one)) == Counter(_rows(other))
    except Exception:  # noqa: BLE001  # whatever is wrong with them, they are not known to be the same
        return False


def _rows(segment: Segment) -> Iterator[tuple[int, ...]]:
    for block in segment.blocks():
        yield from zip(*(_values(column, block.rows) for column in block.columns), strict=True)


def _values(column: PackedColumn, rows: int) -> list[int]:
    numbers = _unsigned(column.payload, column.width) if column.width else [0] * rows
    if column.form == NUMBERED:
        values = struct.unpack(f"<{column.base}Q", column.values)
        return [values[number] for number in numbers]
    if column.form == DIFFERENCES:
        steps = ((number >> 1) ^ -(number & 1) for number in list(numbers)[1:])
        return [value & _WRAP for value in accumulate(steps, initial=column.base)]
    return [(column.base + number) & _WRAP for number in numbers]


def _unsigned(payload: memoryview, width: int) -> array[int]:
    numbers = array(_CODES[width], bytes(payload))
    if struct.pack("=H", 1) != struct.pack("<H", 1):
        numbers.byteswap()
    return numbers
