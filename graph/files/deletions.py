"""Deletion vectors of Delta tables: the deleted rows of a data file, by index.

A vector is a bitmap of 64-bit numbers in the portable form of Roaring bitmaps. It is in a file of the table, or in the log itself. Formats:
https://github.com/delta-io/delta/blob/master/PROTOCOL.md (deletion vectors), https://github.com/RoaringBitmap/RoaringFormatSpec
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.records import Look, uri_of
from headwater.graph.records.decode import Longs

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"  # the digits of Z85
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_MAGIC = 1_681_511_377
_NO_RUNS, _RUNS = 12_346, 12_347
_FEW = 4_096  # a container with up to this number of values is a list


def read_deleted_rows(look: Look, table: str, vector: Mapping[str, Any]) -> Longs:
    """Return the deleted rows in a deletion vector of the log, ascending.

    Raises:
        UnsupportedError: the vector is damaged or of an unknown kind, or its file may not be read.
        SourceUnavailableError: the storage does not return its file.
        OSError: its file cannot be read.
    """
    kind, text = vector.get("storageType"), str(vector.get("pathOrInlineDv", ""))
    try:
        if kind == "i":
            data = decode_z85(text)[: int(vector["sizeInBytes"])]
        else:
            data = read_vector(bytes(look.file(locate_vector(table, kind, text))[1].content()), int(vector.get("offset") or 0))
        rows = decode_numbers(data)
    except (ValueError, KeyError, IndexError, struct.error) as error:
        raise UnsupportedError(f"A deletion vector of {table} cannot be read: {error}.") from None
    if len(rows) != int(vector.get("cardinality", len(rows))):
        raise UnsupportedError(f"A deletion vector of {table} names {len(rows)} rows; the log says {vector['cardinality']}.")
    return rows


def locate_vector(table: str, kind: object, text: str) -> str:
    if kind == "p":
        return uri_of(unquote(text))  # the log stores a URI
    if kind != "u":
        raise ValueError(f"it is stored in a way that is not known ({kind})")
    prefix, name = text[:-20], uuid.UUID(bytes=decode_z85(text[-20:]))
    return "/".join([table.rstrip("/"), *([prefix] if prefix else []), f"deletion_vector_{name}.bin"])


def read_vector(content: bytes, offset: int) -> bytes:
    """Return the bitmap at an offset of a file, and check its checksum. Iceberg's files have the same form."""
    (size,) = struct.unpack_from(">i", content, offset)
    data = content[offset + 4 : offset + 4 + size]
    (checksum,) = struct.unpack_from(">I", content, offset + 4 + size)
    if zlib.crc32(data) != checksum:
        raise ValueError("its checksum is another")
    return data


def decode_z85(text: str) -> bytes:
    """Decode Z85 text, in which five digits stand for four bytes."""
    if len(text) % 5:
        raise ValueError(f"{len(text)} digits of Z85 are no whole number of words")
    result = bytearray()
    for position in range(0, len(text), 5):
        value = 0
        for digit in text[position : position + 5]:
            value = value * 85 + _VALUES[digit]
        result += struct.pack(">I", value)
    return bytes(result)


def decode_numbers(data: bytes) -> Longs:
    """Return the numbers in a 64-bit Roaring bitmap."""
    magic, count = struct.unpack_from("<iq", data)
    if magic != _MAGIC:
        raise ValueError(f"it begins with {magic}")
    position, arrays = 12, [np.empty(0, np.int64)]
    for _ in range(count):
        (upper_half,) = struct.unpack_from("<I", data, position)
        lower_halves, position = _decode_bitmap(data, position + 4)
        arrays.append(lower_halves + (upper_half << 32))
    return np.concatenate(arrays)


def _decode_bitmap(data: bytes, position: int) -> tuple[Longs, int]:
    """Return the numbers in a 32-bit Roaring bitmap, and the position after it."""
    (cookie,) = struct.unpack_from("<I", data, position)
    runs = cookie & 0xFFFF == _RUNS
    if runs:
        size = (cookie >> 16) + 1
        flags = np.unpackbits(np.frombuffer(data, np.uint8, (size + 7) // 8, position + 4), bitorder="little")
        position += 4 + (size + 7) // 8
    elif cookie == _NO_RUNS:
        (size,) = struct.unpack_from("<I", data, position + 4)
        flags = np.zeros(size, np.uint8)
        position += 8
    else:
        raise ValueError(f"a bitmap begins with {cookie}")
    heads = np.frombuffer(data, "<u2", 2 * size, position).astype(np.int64).reshape(-1, 2)
    position += 4 * size
    if not runs or size >= 4:  # fewer containers have no offsets if there are runs
        position += 4 * size
    arrays = [np.empty(0, np.int64)]
    for (upper_half, count_less_one), run in zip(heads.tolist(), flags[:size].tolist(), strict=True):
        values, position = _decode_container(data, position, count_less_one + 1, is_runs=bool(run))
        arrays.append(values + (upper_half << 16))
    return np.concatenate(arrays), position


def _decode_container(data: bytes, position: int, count: int, *, is_runs: bool) -> tuple[Longs, int]:
    if is_runs:
        (size,) = struct.unpack_from("<H", data, position)
        pairs = np.frombuffer(data, "<u2", 2 * size, position + 2).astype(np.int64).reshape(-1, 2)
        return np.concatenate(
            [np.empty(0, np.int64), *(np.arange(start, start + length_less_one + 1) for start, length_less_one in pairs.tolist())]
        ), position + 2 + 4 * size
    if count <= _FEW:
        return np.frombuffer(data, "<u2", count, position).astype(np.int64), position + 2 * count
    bits = np.unpackbits(np.frombuffer(data, np.uint8, 8192, position), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64), position + 8192
