"""The longs of a segment as numpy arrays, no Python per row; and longs of Arrow as numpy has them, and back.

These two stand in for `to_numpy` and `pyarrow.array`, each of which loads pandas where it is installed, for half a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.errors import InvalidCaptureError
from headwater.graph.associations.segment import NUMBERED, PLAIN, Block, PackedColumn, Segment

Longs = npt.NDArray[np.int64]
_TYPES: dict[int, Any] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4"), 8: np.dtype("<u8")}


def decode(segment: Segment) -> list[Longs]:
    """All columns of a segment, each whole.

    Raises:
        InvalidCaptureError: a block is damaged.
    """
    whole = list(decode_parts(segment, max(1, segment.footer.rows)))
    return whole[0] if whole else [np.empty(0, np.int64) for _ in segment.footer.columns]


def decode_parts(segment: Segment, rows: int) -> Iterator[list[Longs]]:
    """All columns of a segment, of so many rows at a time, or a few more: blocks stay whole.

    Raises:
        InvalidCaptureError: a block is damaged.
    """
    blocks: list[Block] = []
    count = 0
    for block in segment.blocks():
        blocks.append(block)
        count += block.rows
        if count >= rows:
            yield _columns(segment.name, blocks, count)
            blocks, count = [], 0
    if blocks:
        yield _columns(segment.name, blocks, count)


def longs_of(column: pa.ChunkedArray) -> Longs:
    """A column of longs without nulls."""
    whole = [np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset :][: len(chunk)] for chunk in column.chunks if len(chunk)]
    return whole[0] if len(whole) == 1 else np.concatenate([*whole, np.empty(0, np.int64)])


def arrow_of(longs: Longs) -> pa.Array:
    """Such a column, of longs."""
    return pa.Array.from_buffers(pa.int64(), len(longs), [None, pa.py_buffer(np.ascontiguousarray(longs, np.int64))])


def _columns(name: str, blocks: Sequence[Block], rows: int) -> list[Longs]:
    width = len(blocks[0].columns)
    if any(len(block.columns) != width for block in blocks):
        raise InvalidCaptureError(f"Segment {name} is damaged: its blocks differ in their columns.", field=name)
    columns = [np.empty(rows, np.int64) for _ in range(width)]
    at = 0
    for block in blocks:
        for whole, column in zip(columns, block.columns, strict=True):
            _unpack(name, column, whole[at : at + block.rows])
        at += block.rows
    return columns


def _unpack(name: str, column: PackedColumn, into: Longs) -> None:
    base = np.uint64(column.base % 2**64)
    values = into.view(np.uint64)
    if column.form == NUMBERED:
        into[:] = _numbered(name, column)
    elif column.width == 0:
        values[:] = base
    elif column.form == PLAIN:
        np.add(np.frombuffer(column.payload, _TYPES[column.width]), base, out=values, dtype=np.uint64)
    else:
        payload = np.frombuffer(column.payload, _TYPES[column.width])
        np.right_shift(payload, 1, out=values, dtype=np.uint64)
        np.bitwise_xor(values, np.uint64(0) - (payload & 1).astype(np.uint64), out=values)
        np.cumsum(values, out=values)
        values += base


def _numbered(name: str, column: PackedColumn) -> Longs:
    numbers = np.frombuffer(column.payload, _TYPES[column.width])
    if numbers.max(initial=0) >= column.base:
        reason = f"a column of {column.base} values has a row with number {numbers.max()}"
        raise InvalidCaptureError(f"Segment {name} is damaged: {reason}.", field=name, hint="Send it again from the spool.")
    return np.frombuffer(column.values, np.dtype("<i8"))[numbers]
