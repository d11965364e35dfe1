"""Computes a digest of a file's content that ignores one meaningless order in Parquet files.

Parquet's writer lists the encodings of each column chunk in the footer, in the order of a hash set, which differs between JVMs. The digest
sorts these lists. All other bytes are hashed unchanged.
"""

from __future__ import annotations

import hashlib
from io import FileIO

from headwater.graph.files.thrift import Scanner, Struct

_MAGIC = b"PAR1"
_TAIL = 8  # bytes of the length of the footer, and the magic
_LARGEST_FOOTER = 256 << 20
_STEP = 4 << 20  # bytes per read
_ENCODINGS = (4, 1, 3, 2)  # numbers of nested fields in parquet.thrift, down to the encodings of a column chunk


def digest_of(file: FileIO, length: int) -> bytes | None:
    """Return the digest of an open file of `length` bytes, or None if the file has another length."""
    footer = _footer_length(file, length)
    digest, left = hashlib.sha256(), length - footer
    file.seek(0)
    while left and (block := file.read(min(_STEP, left))):
        digest.update(block)
        left -= len(block)
    rest = _all(file)
    if left or len(rest) != footer:
        return None
    digest.update(_canonical(rest) if footer else b"")
    return digest.digest()


def _footer_length(file: FileIO, length: int) -> int:
    """Return the size of a Parquet file's footer and tail in bytes, or 0 for other files."""
    if length < len(_MAGIC) + _TAIL:
        return 0
    begin = file.read(len(_MAGIC))
    file.seek(length - _TAIL)
    tail = _all(file)
    footer = int.from_bytes(tail[:4], "little") + _TAIL
    is_parquet = begin == _MAGIC and tail[4:] == _MAGIC and footer <= min(length - len(_MAGIC), _LARGEST_FOOTER)
    return footer if is_parquet else 0


def _all(file: FileIO) -> bytes:
    found = bytearray()
    while block := file.read(_STEP):
        found += block
    return bytes(found)


def _canonical(footer: bytes) -> bytes:
    """Sort each list of encodings in a footer. An unreadable footer is returned unchanged."""
    places = _Encodings(footer[:-_TAIL])
    try:
        places.read_struct()
    except (ValueError, IndexError, RecursionError):
        return footer
    sorted_footer = bytearray(footer)
    for begin, end in places.found:
        sorted_footer[begin:end] = bytes(sorted(footer[begin:end]))
    return bytes(sorted_footer)


class _Encodings(Scanner):
    """Finds the byte ranges of encoding lists in a footer, if each entry has one byte."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.found: list[tuple[int, int]] = []
        self._path: list[int] = []  # field numbers on the path to the current value

    def read_struct(self, until: int | None = None) -> Struct:
        field = 0
        while head := self._read_byte():
            field = field + (head >> 4) if head >> 4 else self._read_zigzag()
            self._path.append(field)
            begin = self.position
            value = self._read_value(head & 15)
            if tuple(self._path) == _ENCODINGS and isinstance(value, list) and len(value) == self.position - begin - 1:
                self.found.append((begin + 1, self.position))
            self._path.pop()
            if field == until:
                break
        return {}
