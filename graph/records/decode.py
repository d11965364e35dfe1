"""The longs of a segment as numpy arrays, no Python per row; and longs of Arrow as numpy has them, and back.

These two stand in for `to_numpy` and `pyarrow.array`, each of which loads pandas where it is installed, for half a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.errors import InvalidCaptureError
from headwater.graph.associations.segment import NUMBERED, PLAIN, PackedColumn, Segment

Longs = npt.NDArray[np.int64]
_TYPES: dict[int, Any] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4"), 8: np.dtype("<u8")}


def decode(segment: Segment) -> list[Longs]:
    """All columns of a segment, each whole.

    Raises:
        InvalidCaptureError: a block is damaged.
    """
    blocks = [[_column(segment.name, column, block.rows) for column in block.columns] for block in segment.blocks()]
    if not blocks:
        return [np.empty(0, np.int64) for _ in segment.footer.columns]
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def longs_of(column: pa.ChunkedArray) -> Longs:
    """A column of longs without nulls."""
    whole = [np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset :][: len(chunk)] for chunk in column.chunks if len(chunk)]
    return whole[0] if len(whole) == 1 else np.concatenate([*whole, np.empty(0, np.int64)])


def arrow_of(longs: Longs) -> pa.Array:
    """Such a column, of longs."""
    return pa.Array.from_buffers(pa.int64(), len(longs), [None, pa.py_buffer(np.ascontiguousarray(longs, np.int64))])


def _column(name: str, column: PackedColumn, rows: int) -> Longs:
    if column.form == NUMBERED:
        return _numbered(name, column)
    base = np.uint64(column.base % 2**64)
    if column.width == 0:
        return np.full(rows, base, np.uint64).view(np.int64)
    payload = np.frombuffer(column.payload, _TYPES[column.width]).astype(np.uint64)
    if column.form == PLAIN:
        return (payload + base).view(np.int64)
    steps = (payload >> np.uint64(1)) ^ (np.uint64(0) - (payload & np.uint64(1)))
    return (np.cumsum(steps, dtype=np.uint64) + base).view(np.int64)


def _numbered(name: str, column: PackedColumn) -> Longs:
    numbers = np.frombuffer(column.payload, np.uint8)
    if numbers.max(initial=0) >= column.base:
        reason = f"a column of {column.base} values has a row with number {numbers.max()}"
        raise InvalidCaptureError(f"Segment {name} is damaged: {reason}.", field=name, hint="Send it again from the spool.")
    return np.frombuffer(column.values, np.dtype("<i8"))[numbers]
