"""Deletion vectors of Delta tables: the rows of a data file, by index, that its table does not hold any more.

A vector is a bitmap of 64-bit numbers in the portable form of Roaring bitmaps, in a file of the table or in the log itself. Formats:
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

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"  # of Z85
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_MAGIC = 1_681_511_377
_NO_RUNS, _RUNS = 12_346, 12_347
_FEW = 4_096  # values of a container up to which it is a list


def deleted_rows(look: Look, table: str, vector: Mapping[str, Any]) -> Longs:
    """The rows that a vector of the log names, ascending.

    Raises:
        UnsupportedError: it is damaged, or of a kind that is not known; or its file may not be read.
        SourceUnavailableError: its storage does not give it.
        OSError: its file cannot be read.
    """
    kind, text = vector.get("storageType"), str(vector.get("pathOrInlineDv", ""))
    try:
        if kind == "i":
            data = z85(text)[: int(vector["sizeInBytes"])]
        else:
            data = vector_at(bytes(look.file(_file(table, kind, text))[1].content()), int(vector.get("offset") or 0))
        rows = numbers(data)
    except (ValueError, KeyError, IndexError, struct.error) as error:
        raise UnsupportedError(f"A deletion vector of {table} cannot be read: {error}.") from None
    if len(rows) != int(vector.get("cardinality", len(rows))):
        raise UnsupportedError(f"A deletion vector of {table} names {len(rows)} rows; the log says {vector['cardinality']}.")
    return rows


def _file(table: str, kind: object, text: str) -> str:
    if kind == "p":
        return uri_of(unquote(text))  # the log has it as a URI
    if kind != "u":
        raise ValueError(f"it is stored in a way that is not known ({kind})")
    prefix, name = text[:-20], uuid.UUID(bytes=z85(text[-20:]))
    return "/".join([table.rstrip("/"), *([prefix] if prefix else []), f"deletion_vector_{name}.bin"])


def vector_at(content: bytes, offset: int) -> bytes:
    """The bitmap that begins at an offset of a file, behind its length. Iceberg's files have the same form."""
    (size,) = struct.unpack_from(">i", content, offset)
    data = content[offset + 4 : offset + 4 + size]
    (checksum,) = struct.unpack_from(">I", content, offset + 4 + size)
    if zlib.crc32(data) != checksum:
        raise ValueError("its checksum is another")
    return data


def z85(text: str) -> bytes:
    """Bytes that were written as text, five digits for four of them."""
    if len(text) % 5:
        raise ValueError(f"{len(text)} digits of Z85 are no whole number of words")
    result = bytearray()
    for at in range(0, len(text), 5):
        value = 0
        for digit in text[at : at + 5]:
            value = value * 85 + _VALUES[digit]
        result += struct.pack(">I", value)
    return bytes(result)


def numbers(data: bytes) -> Longs:
    """The numbers of a bitmap of 64 bits, with its leading magic number."""
    magic, count = struct.unpack_from("<iq", data)
    if magic != _MAGIC:
        raise ValueError(f"it begins with {magic}")
    at, found = 12, [np.empty(0, np.int64)]
    for _ in range(count):
        (high,) = struct.unpack_from("<I", data, at)
        low, at = _bitmap(data, at + 4)
        found.append(low + (high << 32))
    return np.concatenate(found)


def _bitmap(data: bytes, at: int) -> tuple[Longs, int]:
    """The numbers of a bitmap of 32 bits, and where it ends."""
    (cookie,) = struct.unpack_from("<I", data, at)
    runs = cookie & 0xFFFF == _RUNS
    if runs:
        size = (cookie >> 16) + 1
        flags = np.unpackbits(np.frombuffer(data, np.uint8, (size + 7) // 8, at + 4), bitorder="little")
        at += 4 + (size + 7) // 8
    elif cookie == _NO_RUNS:
        (size,) = struct.unpack_from("<I", data, at + 4)
        flags = np.zeros(size, np.uint8)
        at += 8
    else:
        raise ValueError(f"a bitmap begins with {cookie}")
    heads = np.frombuffer(data, "<u2", 2 * size, at).astype(np.int64).reshape(-1, 2)
    at += 4 * size
    if not runs or size >= 4:  # fewer containers, with runs, have no offsets
        at += 4 * size
    found = [np.empty(0, np.int64)]
    for (high, less), run in zip(heads.tolist(), flags[:size].tolist(), strict=True):
        values, at = _container(data, at, less + 1, is_runs=bool(run))
        found.append(values + (high << 16))
    return np.concatenate(found), at


def _container(data: bytes, at: int, count: int, *, is_runs: bool) -> tuple[Longs, int]:
    if is_runs:
        (size,) = struct.unpack_from("<H", data, at)
        pairs = np.frombuffer(data, "<u2", 2 * size, at + 2).astype(np.int64).reshape(-1, 2)
        return np.concatenate(
            [np.empty(0, np.int64), *(np.arange(start, start + more + 1) for start, more in pairs.tolist())]
        ), at + 2 + 4 * size
    if count <= _FEW:
        return np.frombuffer(data, "<u2", count, at).astype(np.int64), at + 2 * count
    bits = np.unpackbits(np.frombuffer(data, np.uint8, 8192, at), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64), at + 8192
