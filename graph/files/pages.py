"""Rows of one column chunk of a Parquet file, of which only the pages that hold them are decoded.

Whoever reads a few records of a file with a large column would else decode the whole row group. Where pages begin is told by the file's
offset index, else by the headers of the pages, and of a nested column, whose headers do not say how many rows begin in a page, by its
repetition levels; what was learnt of a chunk is kept. Levels and values are decoded by pyarrow, whatever their encoding.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.graph.files import thrift
from headwater.graph.files.parquet_file import (
    CutChunk,
    Encoding,
    Leaf,
    Page,
    PageKind,
    Part,
    PhysicalType,
    Repetition,
    page,
    parquet_file,
)
from headwater.graph.files.thrift import Scanner, Struct
from headwater.graph.records.decode import Longs, arrow_of

_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_HEADER = 4096  # bytes that most headers fit in; one with long statistics may not
_LONGEST_HEADER = 1 << 24

_AT_ONCE = 8  # pages that are in memory together

Levels = np.ndarray[tuple[int], np.dtype[np.int32]]


class NotCuttableError(Exception):
    """The chunk is written in a way that is not known here: it has to be decoded whole."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of a leaf: their levels, and the values of those that are not null."""

    repetition: Levels
    definition: Levels
    values: pa.Array


@dataclass(frozen=True, slots=True)
class _Content:
    """A data page: its entries, their levels as they are encoded, and its values."""

    count: int
    repetition: Part
    definition: Part
    encoding: int
    values: Part


@dataclass(frozen=True, slots=True)
class _Page:
    offset: int
    begun: int  # rows of the chunk that begin before it
    continues: bool  # whether it begins amid a row


class Chunk:
    """A column chunk, by what the footer says of it. Safe to use from several threads."""

    def __init__(self, leaf: Leaf, stated: Struct) -> None:
        described: Struct = stated[3]
        self.leaf = leaf
        if 8 in stated or 9 in stated or 1 in stated:
            raise NotCuttableError("it is encrypted, or lies in another file")
        if described[4] not in _CODECS:
            raise NotCuttableError(f"its codec is {described[4]}")
        self._codec = _CODECS[described[4]]
        self._dictionary: int | None = described.get(11) or None
        self._first = described[9]
        self._end = min(self._dictionary or self._first, self._first) + described[7]
        self._index = (stated[4], stated[5]) if 4 in stated and 5 in stated else None
        self._pages: list[_Page] = []
        self._next: tuple[int, int] | None = (self._first, 0)  # where the pages go on that are not known yet, and the rows begun before
        self._lock = threading.Lock()

    def entries(self, file: int, rows: Longs) -> Entries:
        """The entries of rows, which ascend and count from the row group's first; `file` is a descriptor.

        Raises:
            NotCuttableError: the chunk is written in a way that is not known here.
        """
        pages, ends = self._located(file, int(rows[-1]))
        holding = []
        for one, end in zip(pages, ends, strict=True):
            first = np.searchsorted(rows, one.begun - one.continues)
            if first < len(rows) and rows[first] < end:
                holding.append(one)
        found = [self._entries(file, holding[at : at + _AT_ONCE], rows) for at in range(0, len(holding), _AT_ONCE)]
        return Entries(
            np.concatenate([part.repetition for part in found]),
            np.concatenate([part.definition for part in found]),
            pa.concat_arrays([part.values for part in found]),
        )

    def _entries(self, file: int, pages: Sequence[_Page], rows: Longs) -> Entries:
        """Those in some pages."""
        read = [self._content(*self._read(file, one.offset)) for one in pages]
        repetition = decoded([(one.count, one.repetition) for one in read], self.leaf.repetition)
        definition = decoded([(one.count, one.definition) for one in read], self.leaf.definition)
        present = definition == self.leaf.definition
        spans, taken, bodies, at, before = [], [], [], 0, 0
        for one, content in zip(pages, read, strict=True):
            end = at + content.count
            for low, high in _spans(repetition[at:end], rows - one.begun, continues=one.continues):
                spans.append(np.arange(at + low, at + high))
                first = before + np.count_nonzero(present[at : at + low])
                taken.append(np.arange(first, first + np.count_nonzero(present[at + low : at + high])))
            if count := int(np.count_nonzero(present[at:end])):
                bodies.append(page(PageKind.DATA, [content.values], count, content.encoding))
            at, before = end, before + count
        chosen = np.concatenate(spans)
        keyed = {content.encoding for content in read} <= {Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY}
        return Entries(repetition[chosen], definition[chosen], self._values(file, bodies, before, np.concatenate(taken), keyed=keyed))

    def _located(self, file: int, last: int) -> tuple[Sequence[_Page], Sequence[int]]:
        """Pages up to that which ends the row `last` at least, and for each the row before which its rows end."""
        with self._lock:
            if not self._pages and self._index is not None:
                offset, length = self._index
                places = Scanner(os.pread(file, length, offset)).struct()[1]
                self._pages, self._next = [_Page(place[1], place[3], continues=False) for place in places], None
            while self._next is not None and not (self._pages and self._pages[-1].begun > last + self._pages[-1].continues):
                self._learn(file, *self._next)
            pages = list(self._pages)
        return pages, [*(after.begun for after in pages[1:]), last + 1]

    def _learn(self, file: int, offset: int, begun: int) -> None:
        """Learn of some pages, from an offset on."""
        places: list[int] = []
        counts: list[tuple[int, Part]] = []  # of a nested column, in pages that do not say how many rows begin in them
        rows: list[int] = []
        while offset < self._end and len(places) < _AT_ONCE:
            header, size = _header(file, offset)
            if header[1] == PageKind.DATA and self.leaf.repetition:
                content = self._content(header, os.pread(file, header[3], offset + size))
                counts.append((content.count, content.repetition))
            elif header[1] in (PageKind.DATA, PageKind.DATA_2):
                rows.append(header[5][1] if header[1] == PageKind.DATA else header[8][3])
            if header[1] in (PageKind.DATA, PageKind.DATA_2):
                places.append(offset)
            offset += size + header[3]
        begins = decoded(counts, self.leaf.repetition) == 0
        starts = np.cumsum([0, *(count for count, _ in counts)])
        if counts:
            rows = [int(begins[start:end].sum()) for start, end in itertools.pairwise(starts)]
        if len(rows) != len(places):
            raise NotCuttableError("its pages are of two kinds")
        for number, (place, count) in enumerate(zip(places, rows, strict=True)):
            continues = bool(counts) and counts[number][0] > 0 and not begins[starts[number]]
            self._pages.append(_Page(place, begun, continues))
            begun += count
        self._next = (offset, begun) if offset < self._end else None

    def _read(self, file: int, offset: int) -> tuple[Struct, bytes]:
        """The header of a page, and its body."""
        header, size = _header(file, offset)
        return header, os.pread(file, header[3], offset + size)

    def _content(self, header: Struct, body: bytes) -> _Content:
        """What a data page holds."""
        if header[1] == PageKind.DATA_2:
            data_header = header[8]
            at, end = data_header[6], data_header[6] + data_header[5]
            values = self._decompressed(body[end:], header[2] - end) if data_header.get(7, True) else body[end:]
            return _Content(data_header[1], body[:at], body[at:end], data_header[4], values)
        if header[1] != PageKind.DATA:
            raise NotCuttableError(f"a page of kind {header[1]} stands among its data")
        data_header, content, at = header[5], self._decompressed(body, header[2]), 0
        levels = []
        for most, how in ((self.leaf.repetition, data_header[4]), (self.leaf.definition, data_header[3])):
            if most and how != Encoding.RLE:
                raise NotCuttableError(f"its levels are encoded by {how}")
            size = int.from_bytes(content[at : at + 4], "little") if most else 0
            at += 4 if most else 0
            levels.append(content[at : at + size])
            at += size
        repetition, definition = levels
        return _Content(data_header[1], repetition, definition, data_header[2], content[at:])

    def _decompressed(self, body: bytes, size: int) -> memoryview:
        if self._codec is None or not size:
            return memoryview(body)
        return memoryview(pa.Codec(self._codec).decompress(body, size))

    def _values(self, file: int, bodies: Sequence[Page], count: int, taken: Longs, *, keyed: bool) -> pa.Array:
        """Those values of pages; `keyed`: all of them are places in a dictionary."""
        # an INT96 is read as the 12 bytes that it is
        kind = (PhysicalType.FIXED_BYTES, 12) if self.leaf.type == PhysicalType.INT96 else (self.leaf.type, self.leaf.length)
        pages = list(bodies)
        if self._dictionary is not None:
            header, body = self._read(file, self._dictionary)
            dictionary_header = header[7]
            pages.insert(0, page(PageKind.DICTIONARY, [self._decompressed(body, header[2])], dictionary_header[1], dictionary_header[2]))
        if not count:
            return _flat(*kind, [page(PageKind.DATA, [], 0, Encoding.PLAIN)], 0, has_dictionary=False)
        keyed = keyed and kind[0] == PhysicalType.BYTES
        values = _flat(*kind, pages, count, has_dictionary=self._dictionary is not None, keyed=keyed).take(arrow_of(taken))
        return values.dictionary_decode() if keyed else values


def _spans(repetition: Levels, rows: Longs, *, continues: bool) -> Iterator[tuple[int, int]]:
    """Where in a page the entries of rows stand, which are counted from the first that begins there; -1 is one that goes on there."""
    starts = np.flatnonzero(repetition == 0)
    if continues:
        rows, starts = rows + 1, np.concatenate(([0], starts))
    ends = np.append(starts[1:], len(repetition))
    here = rows[(rows >= 0) & (rows < len(starts))]
    return zip(starts[here].tolist(), ends[here].tolist(), strict=True)


def decoded(pages: Sequence[tuple[int, Part]], most: int) -> Levels:
    """Levels up to `most` of pages, each a number of levels and these in runs that are repeated or packed by bits.

    Such runs are also how values of a dictionary are told, so pyarrow decodes them, as values of the dictionary of all levels.
    """
    count = sum(number for number, _ in pages)
    if not most or not count:
        return np.zeros(count, np.int32)
    width = bytes([most.bit_length()])
    dictionary = np.arange(1 << most.bit_length(), dtype="<i4")
    bodies = [page(PageKind.DICTIONARY, [dictionary.tobytes()], len(dictionary), Encoding.PLAIN)]
    filled = [(number, runs) for number, runs in pages if number]  # pyarrow ends at an empty page
    bodies += [page(PageKind.DATA, [width, runs], number, Encoding.RLE_DICTIONARY) for number, runs in filled]
    levels = _flat(PhysicalType.INT32, 0, bodies, count, has_dictionary=True)
    return np.frombuffer(levels.buffers()[1], np.int32)[:count]  # to_numpy would load pandas


def _flat(kind: int, length: int, pages: Sequence[Page], count: int, *, has_dictionary: bool, keyed: bool = False) -> Any:
    """The values of pages of one column without nulls: pyarrow reads a file of them. `keyed`: as places in the dictionary."""
    leaf = Leaf("v", kind, length, repetition=0, definition=0)
    fields: list[thrift.Field] = [(1, thrift.INT, kind), *([(2, thrift.INT, length)] if length else [])]
    schema = [thrift.struct([*fields, (3, thrift.INT, Repetition.REQUIRED), (4, thrift.BINARY, b"v")])]
    made = parquet_file(schema, 1, [([CutChunk(leaf, [b"v"], pages, count, has_dictionary)], count)], count)
    return (
        pq.ParquetFile(pa.BufferReader(made), read_dictionary=["v"] if keyed else None).read(use_threads=False).column(0).combine_chunks()
    )


def _header(file: int, offset: int) -> tuple[Struct, int]:
    """The header of a page, and its length."""
    length = _HEADER
    while True:
        scanner = Scanner(os.pread(file, length, offset))
        try:
            header = scanner.struct()
        except IndexError:
            if length >= _LONGEST_HEADER:
                raise
            length *= 16
            continue
        if header[3] < 0:  # whoever goes from page to page would come by the same ones for ever
            raise NotCuttableError("a page ends before it begins")
        return header, scanner.at
