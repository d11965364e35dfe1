"""Decodes the integers of a segment as numpy arrays, without Python code per row, and converts between Arrow and numpy.

The conversions replace `to_numpy` and `pyarrow.array`. Both of these load pandas if it is installed, which takes half a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.errors import InvalidCaptureError
from headwater.graph.associations.segment import LISTED, MAX_LISTED, NUMBERED, PLAIN, Block, PackedColumn, Segment

Longs = npt.NDArray[np.int64]
_LONG = np.dtype("<i8")
_TYPES: dict[int, Any] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4"), 8: np.dtype("<u8")}


def decode(segment: Segment) -> list[Longs]:
    """Return all columns of a segment.

    Raises:
        InvalidCaptureError: a block is damaged.
    """
    columns = list(decode_parts(segment, max(1, segment.footer.rows)))
    if columns:
        return columns[0][1]
    if not isinstance(segment.footer.columns, list):
        raise _damaged(segment.name, "its footer does not list its columns")
    return [np.empty(0, np.int64) for _ in segment.footer.columns]


def decode_parts(segment: Segment, rows: int) -> Iterator[tuple[int, list[Longs]]]:
    """Yield parts of a segment: the number of rows, and the columns.

    A part has about `rows` rows, because it consists of whole blocks.

    Raises:
        InvalidCaptureError: a block is damaged.
    """
    blocks: list[Block] = []
    lists: dict[int, _List] = {}  # lists of LISTED columns, by the index of the column
    count = 0
    for block in segment.blocks():
        blocks.append(block)
        count += block.rows
        if count >= rows:
            yield count, _columns(segment.name, blocks, count, lists)
            blocks, count = [], 0
    if blocks:
        yield count, _columns(segment.name, blocks, count, lists)


def longs_of(column: pa.ChunkedArray) -> Longs:
    """Return a column of 64-bit integers without nulls as a numpy array."""
    chunks = [np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset :][: len(chunk)] for chunk in column.chunks if len(chunk)]
    return chunks[0] if len(chunks) == 1 else np.concatenate([*chunks, np.empty(0, np.int64)])


def arrow_of(longs: Longs) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(longs), [None, pa.py_buffer(np.ascontiguousarray(longs, np.int64))])


def _columns(name: str, blocks: Sequence[Block], rows: int, lists: dict[int, _List]) -> list[Longs]:
    width = len(blocks[0].columns)
    if any(len(block.columns) != width for block in blocks):
        raise InvalidCaptureError(f"Segment {name} is damaged: its blocks differ in their columns.", field=name)
    columns = [np.empty(rows, np.int64) for _ in range(width)]
    position = 0
    for block in blocks:
        for place, (all_values, column) in enumerate(zip(columns, block.columns, strict=True)):
            if column.form == LISTED:
                all_values[position : position + block.rows] = _append_listed(
                    name, column, lists.setdefault(place, _List()).longer(name, column)
                )
            else:
                _unpack(name, column, all_values[position : position + block.rows])
        position += block.rows
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
    return _choose_values(name, np.frombuffer(column.values, _LONG), np.frombuffer(column.payload, _TYPES[column.width]))


class _List:
    """The values of a LISTED column, from all blocks so far.

    Room grows in large steps, because there may be as many blocks as values.
    """

    def __init__(self) -> None:
        self._room = np.empty(0, np.int64)
        self._count = 0

    def longer(self, name: str, column: PackedColumn) -> Longs:
        """Return the list, extended by the values that a block adds."""
        added = np.frombuffer(column.values, _LONG)
        count = self._count + len(added)
        if count > MAX_LISTED:
            raise _damaged(name, f"a column lists more than {MAX_LISTED} values")
        if count > len(self._room):
            self._room = np.concatenate((self._room[: self._count], np.empty(max(count, 2 * len(self._room)) - self._count, np.int64)))
        self._room[self._count : count] = added
        self._count = count
        return self._room[:count]


def _append_listed(name: str, column: PackedColumn, listed: Longs) -> Longs:
    """Decode a column of indexes into a list. The bytes are stored by significance: the lowest byte of all rows, then the next."""
    rows = len(column.payload) // column.width
    places = np.zeros(rows, np.uint32)
    for byte in range(column.width):
        places |= np.frombuffer(column.payload[byte * rows : (byte + 1) * rows], np.uint8).astype(np.uint32) << (8 * byte)
    return _choose_values(name, listed, places)


def _choose_values(name: str, values: Longs, numbers: npt.NDArray[Any]) -> Longs:
    if numbers.max(initial=0) >= len(values):
        raise _damaged(name, f"a column of {len(values)} values has a row with number {numbers.max(initial=0)}")
    chosen_values: Longs = values[numbers]
    return chosen_values


def _damaged(name: str, reason: str) -> InvalidCaptureError:
    return InvalidCaptureError(f"Segment {name} is damaged: {reason}.", field=name, hint="Send it again from the spool.")
