"""Where the blocks of an Avro file lie, and which records they hold.

An Avro object container file is a header that ends with a mark of 16 bytes, then blocks: how many records, how many bytes, the bytes, the
mark again (Avro specification, "Object Container Files"). A reader of the split that begins at byte s > 0 looks for the first mark that
begins at s or after, and reads the blocks behind marks that begin before the split's end. So blocks are located without decoding a record.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.records import FileBlock
from headwater.graph.records.decode import Longs
from headwater.graph.storage import StoredFile

_MARK = 16  # bytes
_MAGIC = b"Obj\x01"
_LONGEST_HEADER = 4 << 20  # bytes: it holds the schema
_MOST = 256  # files of which blocks are remembered


@dataclass(frozen=True, slots=True)
class AvroBlocks:
    """The blocks of a file: where each begins and ends, and the number of its first record; `firsts` has one entry more."""

    schema: Mapping[str, Any] | str
    metadata: Mapping[str, str]
    header: int  # bytes
    begins: Longs
    ends: Longs
    firsts: Longs

    @property
    def records(self) -> int:
        """How many records the file has."""
        return int(self.firsts[-1])

    def before(self, start: int) -> int:
        """How many records of the file come before the split that starts at byte `start`."""
        return int(self.firsts[np.searchsorted(self.begins - _MARK, start, side="left")]) if start > 0 else 0

    def holding(self, rows: Longs) -> Longs:
        """The blocks that hold records of some numbers, ascending."""
        return np.unique(np.searchsorted(self.firsts, rows, side="right") - 1)

    def cut(self, data: mmap | bytes, blocks: Longs) -> io.BytesIO:
        """A file of some of the blocks alone."""
        parts = [data[: self.header], *(data[self.begins[block] : self.ends[block]] for block in blocks.tolist())]
        return io.BytesIO(b"".join(parts))


class BlockCache:
    """Blocks of files as they are now; a file that changed is looked at again. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Hashable, FileBlock], AvroBlocks] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, stored: StoredFile, block: FileBlock) -> AvroBlocks:
        """The blocks of a file, which is `block` now. Raises as `find_blocks` does."""
        key = (stored.identity, block)
        with self._lock:
            found = self._known.get(key)
        if found is None:
            found = find_blocks(stored.content(), stored.name)
        with self._lock:
            self._known[key] = found
            self._known.move_to_end(key)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return found


def find_blocks(data: mmap | bytes, name: str) -> AvroBlocks:
    """Locate the blocks of a file's content; `name` is for messages.

    Raises:
        OSError: it is not Avro, or damaged.
        UnsupportedError: the library that reads Avro is not installed.
    """
    head = io.BytesIO(data[:_LONGEST_HEADER])
    try:
        reader = avro().block_reader(head)
        metadata, schema = dict(reader.metadata), reader.writer_schema
    except UnsupportedError:
        raise
    except Exception as error:
        raise OSError(f"{name} cannot be read as Avro: {error}") from error
    at = head.tell()
    if data[: len(_MAGIC)] != _MAGIC or at < _MARK:
        raise OSError(f"{name} cannot be read as Avro: it does not begin as such a file does")
    mark, end, first = data[at - _MARK : at], len(data), 0
    begins, ends, firsts, header = [], [], [0], at
    while at < end:
        begin = at
        records, at = _long(data, at, name)
        size, at = _long(data, at, name)
        at += size + _MARK
        if records < 0 or size < 0 or at > end or data[at - _MARK : at] != mark:
            raise OSError(f"{name} cannot be read as Avro: the block at byte {begin} is damaged")
        first += records
        begins.append(begin)
        ends.append(at)
        firsts.append(first)
    return AvroBlocks(schema, metadata, header, *(np.array(found, np.int64) for found in (begins, ends, firsts)))


def avro() -> Any:
    """The library that reads Avro.

    Raises:
        UnsupportedError: it is not installed.
    """
    try:
        import fastavro
    except ImportError:
        raise UnsupportedError('Reading Avro needs the extra "avro".', hint='Install it: pip install "headwater[avro]".') from None
    return fastavro


def _long(data: mmap | bytes, at: int, name: str) -> tuple[int, int]:
    """A whole number as Avro writes it, and the byte behind it."""
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise OSError(f"{name} cannot be read as Avro: it ends within a block, or a block's head is damaged")
