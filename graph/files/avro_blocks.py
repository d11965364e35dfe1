"""Locates the blocks of an Avro file, and the records in them.

An Avro object container file has a header that ends with a mark of 16 bytes, and then blocks. A block has the number of its records, the
number of its bytes, the bytes, and the mark again (Avro specification, "Object Container Files"). The reader of a split that begins at byte
s > 0 looks for the first mark at s or later. It reads the blocks behind all marks that begin before the split's end. So blocks are located
without decoding a record.
"""

from __future__ import annotations

import io
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.records import FileBlock
from headwater.graph.records.bounded_cache import Bounded
from headwater.graph.records.decode import Longs
from headwater.graph.storage import StoredFile

_MARK = 16  # bytes
_MAGIC = b"Obj\x01"
_LONGEST_HEADER = 4 << 20  # bytes; the header contains the schema
_MOST = 256  # files whose blocks are cached


@dataclass(frozen=True, slots=True)
class AvroBlocks:
    """The blocks of an Avro file: the begin and end of each, and the number of its first record. `firsts` has one more entry."""

    schema: Mapping[str, Any] | str
    metadata: Mapping[str, str]
    header: int  # bytes
    begins: Longs
    ends: Longs
    firsts: Longs

    @property
    def records(self) -> int:
        return int(self.firsts[-1])

    def count_before(self, start: int) -> int:
        """Return the number of records before the split that starts at byte `start`."""
        return int(self.firsts[np.searchsorted(self.begins - _MARK, start, side="left")]) if start > 0 else 0

    def find_holding(self, rows: Longs) -> Longs:
        """Return the blocks that contain the records with these numbers. `rows` must ascend."""
        return np.unique(np.searchsorted(self.firsts, rows, side="right") - 1)

    def cut_file(self, data: mmap | bytes, blocks: Longs) -> io.BytesIO:
        """Return an Avro file that contains only some of the blocks."""
        parts = [data[: self.header], *(data[self.begins[block] : self.ends[block]] for block in blocks.tolist())]
        return io.BytesIO(b"".join(parts))


class BlockCache:
    """A cache of the blocks of unchanged Avro files. Safe to use from several threads."""

    def __init__(self) -> None:
        self._blocks = Bounded[tuple[Hashable, FileBlock], AvroBlocks](_MOST)

    def get(self, stored: StoredFile, block: FileBlock) -> AvroBlocks:
        """Return the blocks of a file. `block` is its present state. Raises as `find_blocks` does."""
        key = (stored.identity, block)
        blocks = self._blocks.get(key)
        if blocks is None:
            blocks = find_blocks(stored.content(), stored.name)
            self._blocks.put(key, blocks, 1)
        return blocks


def find_blocks(data: mmap | bytes, name: str) -> AvroBlocks:
    """Locate the blocks of an Avro file. `name` is for messages.

    Raises:
        OSError: the file is not Avro, or is damaged.
        UnsupportedError: fastavro is not installed.
    """
    head = io.BytesIO(data[:_LONGEST_HEADER])
    try:
        reader = load_avro().block_reader(head)
        metadata, schema = dict(reader.metadata), reader.writer_schema
    except UnsupportedError:
        raise
    except Exception as error:
        raise OSError(f"{name} cannot be read as Avro: {error}") from error
    position = head.tell()
    if data[: len(_MAGIC)] != _MAGIC or position < _MARK:
        raise OSError(f"{name} cannot be read as Avro: it does not begin as such a file does")
    mark, end, first = data[position - _MARK : position], len(data), 0
    begins, ends, firsts, header = [], [], [0], position
    while position < end:
        begin = position
        records, position = _read_long(data, position, name)
        size, position = _read_long(data, position, name)
        position += size + _MARK
        if records < 0 or size < 0 or position > end or data[position - _MARK : position] != mark:
            raise OSError(f"{name} cannot be read as Avro: the block at byte {begin} is damaged")
        first += records
        begins.append(begin)
        ends.append(position)
        firsts.append(first)
    return AvroBlocks(schema, metadata, header, *(np.array(values, np.int64) for values in (begins, ends, firsts)))


def load_avro() -> Any:
    """Import fastavro.

    Raises:
        UnsupportedError: fastavro is not installed.
    """
    try:
        import fastavro
    except ImportError:
        raise UnsupportedError('Reading Avro needs the extra "avro".', hint='Install it: pip install "headwater[avro]".') from None
    return fastavro


def _read_long(data: mmap | bytes, position: int, name: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
    raise OSError(f"{name} cannot be read as Avro: it ends within a block, or a block's head is damaged")
