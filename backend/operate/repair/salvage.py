"""Reads all intact entries of a damaged ingest log, wherever in the file they are.

Inner pages are not trusted. Each page of the file and of its write-ahead log is read as a leaf of the table.
The key of an entry is the hash of its body, so only accepted entries are found. The damaged file is never written.

    page of a table's leaves   0x0d, …, number of cells at 3, then their positions from 8 on (from 108 on in the first page)
    cell                       payload's length, offset (both varints), payload; for a long payload, the number of the page with the rest
    payload                    length of its head, a type for each column, then the columns
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headwater.backend.ingest.log import EntryKind
from headwater.backend.ingest.log.model import ERASED
from headwater.backend.projector.entry_hashes import has_key

_LEAF = 0x0D
_KINDS = frozenset(EntryKind)
_FRAME, _WAL_HEAD = 24, 32
_DEFAULT_PAGE = 4096
_NUMBERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8}  # size in bytes of a number, by its type


@dataclass(frozen=True, slots=True)
class Row:
    """An entry as it is stored in the log."""

    offset: int
    tenant: str
    kind: str
    key: bytes
    received: str
    body: bytes


def whole_entries(path: Path) -> Iterator[Row]:
    """Yield the readable entries of a log in no order. An entry may be yielded twice."""
    pages = _Pages(path)
    for number in pages.numbers():
        yield from _entries_of(pages, number)


class _Pages:
    """The newest version of each page of a database, by number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            head = file.read(100)
        stated = struct.unpack(">H", head[16:18])[0] if head.startswith(b"SQLite format 3\0") and len(head) == 100 else 0
        size = 65536 if stated == 1 else stated
        self.size = size if size in {2**n for n in range(9, 17)} else _DEFAULT_PAGE
        self.usable = self.size - (head[20] if stated and len(head) == 100 and head[20] < 64 else 0)
        self._newer = dict(_frames(path.with_name(path.name + "-wal"), self.size))
        self._count = -(-path.stat().st_size // self.size)

    def numbers(self) -> Iterator[int]:
        yield from range(1, self._count + 1)
        yield from sorted(number for number in self._newer if number > self._count)

    def page(self, number: int) -> bytes:
        if number in self._newer:
            return self._newer[number]
        with self._path.open("rb") as file:
            file.seek((number - 1) * self.size)
            return file.read(self.size)


def _frames(path: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the pages of a write-ahead log in the order of writing. Frames of an earlier round have another salt."""
    if not path.exists():
        return
    data = path.read_bytes()
    salt = data[16:24]
    for start in range(_WAL_HEAD, len(data) - _FRAME - size + 1, _FRAME + size):
        number = struct.unpack(">I", data[start : start + 4])[0]
        if data[start + 8 : start + 16] == salt and number:
            yield number, data[start + _FRAME : start + _FRAME + size]


def _entries_of(pages: _Pages, number: int) -> Iterator[Row]:
    page = pages.page(number)
    start = 100 if number == 1 else 0
    if len(page) < start + 8 or page[start] != _LEAF:
        return
    count = struct.unpack(">H", page[start + 3 : start + 5])[0]
    for cell in range(min(count, len(page) // 4)):
        place = page[start + 8 + 2 * cell : start + 10 + 2 * cell]
        if len(place) == 2 and (row := _entry(pages, page, struct.unpack(">H", place)[0])) is not None:
            yield row


def _entry(pages: _Pages, page: bytes, at: int) -> Row | None:
    """Return the entry of a cell, or None if the cell has no intact entry."""
    try:
        length, at = _varint(page, at)
        offset, at = _varint(page, at)
        payload = _payload(pages, page, at, length)
        values = _values(payload) if payload is not None else []
        if len(values) != 6:
            return None
        _, tenant, kind, key, received, body = values
        row = Row(offset, tenant.decode(), kind.decode(), key, received.decode(), body)
    except (IndexError, struct.error, UnicodeDecodeError, ValueError):
        return None
    is_whole = row.kind in _KINDS and (row.kind == EntryKind.PROV or has_key(body, key))
    is_erased = row.kind == ERASED and not body
    return row if offset > 0 and len(key) == 32 and (is_whole or is_erased) else None


def _payload(pages: _Pages, page: bytes, at: int, length: int) -> bytes | None:
    most = pages.usable - 35
    if length <= most:
        found = page[at : at + length]
        return found if len(found) == length else None
    least = (pages.usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (pages.usable - 4)
    local = local if local <= most else least
    parts, missing = [page[at : at + local]], length - local
    (following,) = struct.unpack(">I", page[at + local : at + local + 4])
    while missing > 0:
        more = pages.page(following) if following else b""
        if len(more) < 4:
            return None
        (following,) = struct.unpack(">I", more[:4])
        parts.append(more[4 : 4 + min(missing, pages.usable - 4)])
        missing -= len(parts[-1])
        if not parts[-1]:
            return None
    return b"".join(parts)


def _values(payload: bytes) -> list[bytes]:
    head, at = _varint(payload, 0)
    types = []
    while at < head:
        kind, at = _varint(payload, at)
        types.append(kind)
    values = []
    for kind in types:
        length = (kind - 12) // 2 if kind >= 12 else _NUMBERS.get(kind, 0)
        values.append(payload[at : at + length] if kind >= 12 else b"")
        at += length
    return values if at == len(payload) else []


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | data[at + 8], at + 9
