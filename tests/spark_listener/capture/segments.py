"""A decoder of segments that shares no code with the product: plain Python after the format's page."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

_MASK = (1 << 64) - 1


def decode(path: Path) -> tuple[dict[str, Any], list[tuple[int, ...]]]:
    """Footer and rows of a segment."""
    data = path.read_bytes()
    assert data[:8] == data[-8:] == b"HWSEG002"
    (length,) = struct.unpack_from("<I", data, len(data) - 12)
    footer = json.loads(data[len(data) - 12 - length : len(data) - 12])
    at, rows = 8, []
    lists: dict[int, list[int]] = {}
    while True:
        (raw_length,) = struct.unpack_from("<I", data, at)
        if raw_length == 0:
            break
        compressed, checksum = struct.unpack_from("<II", data, at + 4)
        packed = data[at + 12 : at + 12 + compressed]
        assert zlib.crc32(packed) == checksum
        raw = pa.decompress(packed, decompressed_size=raw_length, codec="zstd", asbytes=True)
        rows += _block(raw, lists)
        at += 12 + compressed
    assert at + 4 + length + 12 == len(data)
    assert len(rows) == footer["rows"]
    return footer, rows


def _block(raw: bytes, lists: dict[int, list[int]]) -> list[tuple[int, ...]]:
    rows, columns = struct.unpack_from("<IH", raw)
    assert 0 < rows <= 65_536
    at, values = 6, []
    for place in range(columns):
        width, form, base = struct.unpack_from("<BBq", raw, at)
        at += 10
        apart = form == 3
        numbers = [
            int.from_bytes(raw[at + i : at + rows * width : rows] if apart else raw[at + i * width : at + (i + 1) * width], "little")
            for i in range(rows)
        ]
        at += rows * width
        if apart:
            listed = lists.setdefault(place, [])
            listed += struct.unpack_from(f"<{base}q", raw, at)
            at += 8 * base
            values.append([listed[number] for number in numbers])
            continue
        if form == 2:
            known = struct.unpack_from(f"<{base}q", raw, at)
            at += 8 * base
            values.append([known[number] for number in numbers])
            continue
        column, previous = [], base
        for number in numbers:
            previous = previous + ((number >> 1) ^ -(number & 1)) if form else base + number
            column.append(_signed(previous))
        values.append(column)
    assert at == len(raw)
    return list(zip(*values, strict=True))


def _signed(number: int) -> int:
    number &= _MASK
    return number - (1 << 64) if number >> 63 else number
