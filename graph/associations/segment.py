"""Reads a segment's frame: magic, blocks with their checksums, footer (docs/reference/capture-format.md, section 4).

The reader of the boundary interprets the integers in a block. This module only opens the container, and reports damage with the file and
the block.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.errors import InvalidCaptureError
from headwater.graph.associations.codec import Wire
from headwater.graph.associations.parts import Split, WrittenFile

MAGIC = b"HWSEG002"
MAX_ROWS = 65_536
BLOCK = struct.Struct("<III")  # raw length, compressed length, crc32 of the compressed bytes
LENGTH = struct.Struct("<I")
ROWS = struct.Struct("<IH")
COLUMN = struct.Struct("<BBq")  # width, form, base
PLAIN, DIFFERENCES, NUMBERED, LISTED = range(4)
MAX_LISTED = 1 << 17  # values of a LISTED column, in all blocks together
_WIDTHS = {PLAIN: (0, 1, 2, 4, 8), DIFFERENCES: (0, 1, 2, 4, 8), NUMBERED: (1, 2), LISTED: (1, 2, 3)}
_MAX_COLUMNS = 1_024
_MAX_RAW = ROWS.size + _MAX_COLUMNS * (COLUMN.size + 8 * MAX_ROWS)


@dataclass(frozen=True, kw_only=True)
class Footer(Wire):
    """The footer of a segment. In `runs`, the next `count` rows went to `files[file]`, at its next positions."""

    capture: str
    boundary: int
    stage: int
    stage_attempt: int
    partition: int
    attempt: int
    rows: int
    columns: Any
    files: tuple[WrittenFile, ...] = ()
    runs: tuple[tuple[int, ...], ...] = ()
    splits: tuple[Split, ...] = ()


@dataclass(frozen=True, slots=True)
class PackedColumn:
    """A column of a block in encoded form, with `base` and `width` bytes a row.

    `values` are the distinct values of a NUMBERED column, or the values that a LISTED column adds to its list.
    """

    width: int
    form: int
    base: int
    payload: memoryview
    values: memoryview


@dataclass(frozen=True, slots=True)
class Block:
    """A block of `rows` rows, one column after the other."""

    rows: int
    columns: tuple[PackedColumn, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """An opened segment: its footer, and its blocks on demand. `name` appears in errors.

    Only the footer of a segment in a file is in memory. The file is open while its blocks are read.
    """

    name: str
    data: memoryview | Path = field(repr=False)
    footer: Footer
    end: int

    @classmethod
    def open(cls, name: str, data: bytes | memoryview | Path) -> Segment:
        """Check the frame and read the footer.

        Raises:
            InvalidCaptureError: the file is incomplete or is not a segment.
            OSError: the file cannot be read.
        """
        source = data if isinstance(data, Path) else memoryview(data)
        size = source.stat().st_size if isinstance(source, Path) else len(source)
        tail = LENGTH.size + len(MAGIC)
        with _reading(source) as read:
            last = bytes(read(max(0, size - tail), tail))
            if size < len(MAGIC) + LENGTH.size + tail or read(0, len(MAGIC)) != MAGIC or last[-len(MAGIC) :] != MAGIC:
                raise _damaged(name, f"it does not begin and end with {MAGIC.decode()}; it has {size} bytes")
            (length,) = LENGTH.unpack_from(last)
            begin = size - tail - length
            if begin - LENGTH.size < len(MAGIC) or LENGTH.unpack(read(begin - LENGTH.size, LENGTH.size))[0] != 0:
                raise _damaged(name, f"its footer of {length} bytes does not fit into its {size} bytes")
            text = bytes(read(begin, length))
        try:
            known: Mapping[str, Any] = json.loads(text)
        except (ValueError, RecursionError) as error:  # the latter: nested too deeply
            raise _damaged(name, f"its footer is not JSON: {error}") from error
        return cls(name=name, data=source, footer=Footer.from_json(known, f"{name}.footer"), end=begin - LENGTH.size)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in their order, each checked.

        Raises:
            InvalidCaptureError: a block is damaged, or the number of rows differs from the footer.
        """
        at, number, rows = len(MAGIC), 0, 0
        with _reading(self.data) as read:
            while at < self.end:
                head = read(at, min(BLOCK.size, self.end - at))
                if len(head) < BLOCK.size:
                    raise _damaged(self.name, f"block {number} is cut off")
                raw_length, length, checksum = BLOCK.unpack(head)
                at += BLOCK.size
                packed = read(at, min(length, self.end - at))
                if len(packed) != length or not 0 < raw_length <= _MAX_RAW:
                    raise _damaged(self.name, f"block {number} is cut off or states impossible lengths ({raw_length} from {length} bytes)")
                if zlib.crc32(packed) != checksum:
                    raise _damaged(self.name, f"block {number} does not match its checksum")
                block = _block(self.name, number, _decompress(self.name, number, packed, raw_length))
                at, number, rows = at + length, number + 1, rows + block.rows
                if rows > self.footer.rows:
                    raise _damaged(self.name, f"its footer states {self.footer.rows} rows, its blocks hold more")
                yield block
        if rows != self.footer.rows:
            raise _damaged(self.name, f"its footer states {self.footer.rows} rows, its blocks hold {rows}")


@contextmanager
def _reading(data: memoryview | Path) -> Iterator[Callable[[int, int], memoryview]]:
    """Yield a function that reads a number of bytes from a position, or fewer at the end."""
    if isinstance(data, memoryview):
        yield lambda at, size: data[at : at + size]
        return
    with data.open("rb", buffering=0) as file:
        yield lambda at, size: memoryview(_read(file.fileno(), at, size))


def _read(descriptor: int, at: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.pread(descriptor, size, at)):  # gives 2 GB at the most
        parts.append(part)
        at, size = at + len(part), size - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress(name: str, number: int, packed: memoryview, raw_length: int) -> memoryview:
    try:
        return memoryview(pa.Codec("zstd").decompress(packed, decompressed_size=raw_length))
    except (OSError, ValueError) as error:
        raise _damaged(name, f"block {number} cannot be decompressed: {error}") from error


def _block(name: str, number: int, raw: memoryview) -> Block:
    problem = f"block {number} does not hold what its header states"
    if len(raw) < ROWS.size:
        raise _damaged(name, problem)
    rows, count = ROWS.unpack_from(raw)
    if rows > MAX_ROWS or count > _MAX_COLUMNS:
        raise _damaged(name, f"block {number} states {rows} rows and {count} columns")
    at = ROWS.size
    columns: list[PackedColumn] = []
    for _ in range(count):
        if at + COLUMN.size > len(raw):
            raise _damaged(name, problem)
        width, form, base = COLUMN.unpack_from(raw, at)
        at += COLUMN.size
        length, values = width * rows, 8 * base if form in (NUMBERED, LISTED) else 0
        known = (
            width in _WIDTHS.get(form, ()) and (form != NUMBERED or 0 < base <= 1 << 8 * width) and (form != LISTED or 0 <= base <= rows)
        )
        if not known or at + length + values > len(raw):
            raise _damaged(name, problem)
        columns.append(PackedColumn(width, form, base, raw[at : at + length], raw[at + length : at + length + values]))
        at += length + values
    if at != len(raw):
        raise _damaged(name, problem)
    return Block(rows, tuple(columns))


def _damaged(name: str, reason: str) -> InvalidCaptureError:
    return InvalidCaptureError(f"Segment {name} is damaged: {reason}.", field=name, hint="Send it again from the spool.")
