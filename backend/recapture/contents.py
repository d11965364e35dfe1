"""A digest of what a file holds: of all its bytes, but for an order that says nothing.

Parquet's writer lists the encodings of each column chunk as they come out of a hash set, in another order in each JVM. That list stands in
the footer. There each counts as if it were sorted; every other byte of the file counts as it is.
"""

from __future__ import annotations

import hashlib
from io import FileIO

from headwater.graph.trace.files.thrift import Scanner, Struct

_MAGIC = b"PAR1"
_TAIL = 8  # bytes of the length of the footer, and the magic
_LARGEST_FOOTER = 256 << 20
_STEP = 4 << 20  # bytes that are read at once
_ENCODINGS = (4, 1, 3, 2)  # of the metadata of a column of a row group, as parquet.thrift numbers fields


def digest_of(file: FileIO, length: int) -> bytes | None:
    """The digest of an open file that has `length` bytes; None where it turns out to have others."""
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
    """How many bytes the footer of a Parquet file has, with its tail; 0 where it is no such file."""
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
    """A footer with each list of encodings sorted. One that cannot be read stays as it is."""
    places = _Encodings(footer[:-_TAIL])
    try:
        places.struct()
    except (ValueError, IndexError, RecursionError):
        return footer
    sorted_footer = bytearray(footer)
    for begin, end in places.found:
        sorted_footer[begin:end] = bytes(sorted(footer[begin:end]))
    return bytes(sorted_footer)


class _Encodings(Scanner):
    """Finds where the lists of encodings are: the bytes of their entries, where each has one."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.found: list[tuple[int, int]] = []
        self._path: list[int] = []  # the fields that lead to a value

    def struct(self, until: int | None = None) -> Struct:
        """Walk through a struct, whose values do not matter."""
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._zigzag()
            self._path.append(field)
            begin = self.at
            value = self._value(head & 15)
            if tuple(self._path) == _ENCODINGS and isinstance(value, list) and len(value) == self.at - begin - 1:
                self.found.append((begin + 1, self.at))
            self._path.pop()
            if field == until:
                break
        return {}
