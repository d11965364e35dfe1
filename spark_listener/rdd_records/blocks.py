"""Writes segments in a Python worker (docs/reference/capture-format.md, section 4). Shipped by value to workers without Headwater.

Small segments need the standard library only, because importing pyarrow takes longer than many tasks. Long segments are encoded and
compressed by pyarrow if the worker has it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import operator
import os
import struct
import zlib
from array import array
from collections.abc import Callable, Sequence
from typing import Any

_MAGIC = b"HWSEG002"
_ROWS = 65_536  # rows of a block
_SMALL = 16_384  # rows: up to here pyarrow is not imported
_MOST_STORED = 128 * 1024  # bytes of an uncompressed zstd block
_NUMBER = 2  # bytes of a value's number, if a block has more than 256 values
_TRIED = 4_096  # sampled rows: if nearly all values are distinct, numbers save nothing
COMPILED = True  # whether to use the encoding in C if a worker has it
_VERSION = 3  # version of its interface: a worker may have another Headwater than the driver
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_WRAP = (1 << 64) - 1


class SegmentWriter:
    """Writes the segment of one boundary in one task attempt: under a temporary name, renamed by `finish`."""

    def __init__(self, capture: str, folder: str, boundary: int, roles: Sequence[Any], place: tuple[int, int, int]) -> None:
        self._capture, self._folder, self._boundary, self._roles = capture, folder, boundary, roles
        self._stage, self.split, self._attempt = place
        self.place = (self._stage, self._attempt)
        self.name = f"b{boundary}-s{self._stage}.0-p{self.split}-a{self._attempt}.seg"
        self._path = os.path.join(folder, self.name)
        self._file: Any = None
        self.content = ""  # digest of the written bytes without the footer, which names the writer
        self.restart()

    def restart(self) -> None:
        self.abandon()
        self._columns = [array("q") for _ in self._roles]
        self._encoders: Sequence[Callable[[array[int]], bytes]] = ()
        self._digest = hashlib.sha256()
        self._rows = self._bytes = 0

    def add(self, columns: Sequence[array[int]]) -> None:
        if len(columns[0]) == _ROWS and not self._columns[0]:
            self._block(columns, small=False)
            return
        for kept, added in zip(self._columns, columns, strict=True):
            kept.extend(added)
        while len(self._columns[0]) >= _ROWS:
            self._block([column[:_ROWS] for column in self._columns], small=False)
            for column in self._columns:
                del column[:_ROWS]

    def finish(self) -> tuple[int, int, str]:
        """Publish the segment, and return its rows, bytes and SHA-256. A segment without rows is not written."""
        if self._columns[0]:
            self._block(self._columns, small=self._rows == 0 and len(self._columns[0]) <= _SMALL)
        if self._file is None:
            return 0, 0, ""
        self.content = self._digest.hexdigest()
        footer = {
            "capture": self._capture, "boundary": self._boundary, "stage": self._stage, "stage_attempt": 0, "partition": self.split,
            "attempt": self._attempt, "rows": self._rows, "columns": self._roles,
        }  # fmt: skip
        text = json.dumps(footer, separators=(",", ":")).encode()
        self._write(b"\0\0\0\0" + text + struct.pack("<I", len(text)) + _MAGIC)
        self._file.close()
        os.replace(self._path + f".{os.getpid()}.tmp", self._path)
        return self._rows, self._bytes, self._digest.hexdigest()

    def abandon(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
                os.unlink(self._path + f".{os.getpid()}.tmp")
            self._file = None

    def _block(self, columns: Sequence[array[int]], *, small: bool) -> None:
        rows = len(columns[0])
        if not self._encoders:
            self._encoders, self._compress = _encoding(len(columns), small=small)
        encoded = [encode(column) for encode, column in zip(self._encoders, columns, strict=True)]
        raw = struct.pack("<IH", rows, len(columns)) + b"".join(encoded)
        packed = self._compress(raw)
        if self._file is None:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._file = open(self._path + f".{os.getpid()}.tmp", "wb")  # noqa: SIM115  # closed by `finish` or `abandon`
            self._write(_MAGIC)
        self._write(struct.pack("<III", len(raw), len(packed), zlib.crc32(packed)) + packed)
        self._rows += rows

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self._bytes += len(data)


def stored(raw: bytes) -> bytes:
    """Return a zstd frame (RFC 8878) with uncompressed content."""
    parts = [struct.pack("<IBI", 0xFD2FB528, 0xA0, len(raw))]
    for begin in range(0, len(raw), _MOST_STORED):
        part = raw[begin : begin + _MOST_STORED]
        last = begin + len(part) == len(raw)
        parts += [(len(part) << 3 | last).to_bytes(3, "little"), part]
    return b"".join(parts)


def _width(unsigned: int) -> int:
    return next(width for width in (0, 1, 2, 4, 8) if unsigned < 1 << 8 * width)


def _plain_column(values: array[int]) -> bytes:
    base = min(values)
    width = _width(max(values) - base)
    deltas = array("Q", [0])
    deltas.extend((d << 1 ^ d >> 63) & _WRAP for d in map(_signed, map(operator.sub, values[1:], values)))
    narrow = _width(max(deltas))
    if narrow < width:
        return struct.pack("<BBq", narrow, 1, values[0]) + (array(_CODES[narrow], deltas).tobytes() if narrow else b"")
    plain = array(_CODES[width], ((value - base) & _WRAP for value in values)).tobytes() if width else b""
    return struct.pack("<BBq", width, 0, base) + plain


def _signed(value: int) -> int:
    return (value + 2**63 & _WRAP) - 2**63


def _encoding(columns: int, *, small: bool) -> tuple[Sequence[Callable[[array[int]], bytes]], Callable[[bytes], bytes]]:
    compiled = _compiled(columns)
    if small:
        return compiled or [_plain_column] * columns, stored
    try:
        import pyarrow as pa
    except ImportError:
        return compiled or [_plain_column] * columns, stored
    codec = pa.Codec("zstd", compression_level=1)
    return compiled or [_arrow_column] * columns, lambda raw: codec.compress(raw, asbytes=True)


def _compiled(columns: int) -> Sequence[Callable[[array[int]], bytes]]:
    try:
        from headwater.spark_listener.rdd_records import _taps

        return [_taps.Column().block for _ in range(columns)] if COMPILED and _taps.VERSION == _VERSION else ()
    except Exception:  # noqa: BLE001  # whatever a worker has by that name
        return ()


def _arrow_column(values: array[int]) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    longs = pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])
    bounds = pc.min_max(longs)
    base = bounds["min"].as_py()
    width = narrow = _width(bounds["max"].as_py() - base)
    if width:
        steps = pc.subtract(longs[1:], longs[:-1])
        zigzag = pc.bit_wise_xor(pc.shift_left(steps, 1), pc.shift_right(pc.shift_right(steps, 62), 1))  # Arrow shifts by at most 62
        narrow = min(width, _width(pc.max(zigzag.view(pa.uint64())).as_py() or 0))
        if narrow > _NUMBER and (numbered := _numbered(longs, narrow)) is not None:
            return numbered
        if narrow < width:
            return struct.pack("<BBq", narrow, 1, values[0]) + bytes(narrow) + _packed(zigzag, narrow)
    return struct.pack("<BBq", width, 0, base) + _packed(pc.subtract(longs, base), width)


def _numbered(longs: Any, width: int) -> bytes | None:
    """Encode a column by numbers of its distinct values. None if that takes more than `width` bytes a row."""
    import pyarrow.compute as pc

    rows = len(longs)
    if pc.count_distinct(longs[:_TRIED]).as_py() * 16 > min(rows, _TRIED) * 15:
        return None
    found = pc.dictionary_encode(longs)
    count = len(found.dictionary)
    if count * 8 + rows * _NUMBER >= rows * width:
        return None
    narrow = 1 if count <= 1 << 8 else _NUMBER
    return struct.pack("<BBq", narrow, 2, count) + _packed(found.indices, narrow) + _packed(found.dictionary, 8)


def _packed(numbers: Any, width: int) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not width:
        return b""
    narrow = pc.cast(numbers.view(pa.uint64()) if numbers.type == pa.int64() else numbers, f"uint{8 * width}", safe=False)
    return bytes(narrow.buffers()[1][width * narrow.offset : width * (narrow.offset + len(narrow))])
