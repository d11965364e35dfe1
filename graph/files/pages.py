"""Decodes rows of one column chunk of a Parquet file, from only the pages that contain them.

Without this, DuckDB decodes a whole row group for a few records of a large column. The positions of pages come from the file's offset
index, or else from the headers of the pages. For nested columns, headers do not state how many rows begin in a page, so the repetition
levels are read. Positions are cached for each chunk. pyarrow decodes levels and values, so every encoding is supported.
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
    make_page,
    make_parquet_file,
)
from headwater.graph.files.thrift import Scanner, Struct
from headwater.graph.records.decode import Longs, arrow_of

_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_HEADER = 4096  # bytes; enough for most headers, except for long statistics
_LONGEST_HEADER = 1 << 24

_AT_ONCE = 8  # pages in memory at the same time

Levels = np.ndarray[tuple[int], np.dtype[np.int32]]


class NotCuttableError(Exception):
    """The column chunk has an unknown form and must be decoded as a whole."""


@dataclass(frozen=True, slots=True)
class LeafEntries:
    """Entries of a leaf column: their levels, and the values that are not null."""

    repetition: Levels
    definition: Levels
    values: pa.Array


@dataclass(frozen=True, slots=True)
class _PageContent:
    """The content of a data page: the number of entries, their encoded levels, and the encoded values."""

    count: int
    repetition: Part
    definition: Part
    encoding: int
    values: Part


@dataclass(frozen=True, slots=True)
class _PagePlace:
    offset: int
    rows_before: int  # rows of the chunk that begin before the page
    begins_within_row: bool  # whether the page begins within a row


class ColumnChunk:
    """A column chunk, as the footer describes it. Safe to use from several threads."""

    def __init__(self, leaf: Leaf, chunk_struct: Struct) -> None:
        metadata_struct: Struct = chunk_struct[3]
        self.leaf = leaf
        if 8 in chunk_struct or 9 in chunk_struct or 1 in chunk_struct:
            raise NotCuttableError("it is encrypted, or lies in another file")
        if metadata_struct[4] not in _CODECS:
            raise NotCuttableError(f"its codec is {metadata_struct[4]}")
        self._codec = _CODECS[metadata_struct[4]]
        self._dictionary: int | None = metadata_struct.get(11) or None
        self._first = metadata_struct[9]
        self._end = min(self._dictionary or self._first, self._first) + metadata_struct[7]
        self._index = (chunk_struct[4], chunk_struct[5]) if 4 in chunk_struct and 5 in chunk_struct else None
        self._pages: list[_PagePlace] = []
        self._next: tuple[int, int] | None = (self._first, 0)  # the offset of the first unknown page, and the rows that begin before it
        self._lock = threading.Lock()

    def read_entries(self, file: int, rows: Longs) -> LeafEntries:
        """Return the entries of some rows.

        `rows` ascend and count from the row group's first row. `file` is a descriptor.

        Raises:
            NotCuttableError: the chunk has an unknown form.
        """
        pages, ends = self._locate_pages(file, int(rows[-1]))
        holding = []
        for page_place, end in zip(pages, ends, strict=True):
            first = np.searchsorted(rows, page_place.rows_before - page_place.begins_within_row)
            if first < len(rows) and rows[first] < end:
                holding.append(page_place)
        parts = [
            self._read_pages(file, holding[first_page : first_page + _AT_ONCE], rows) for first_page in range(0, len(holding), _AT_ONCE)
        ]
        return LeafEntries(
            np.concatenate([part.repetition for part in parts]),
            np.concatenate([part.definition for part in parts]),
            pa.concat_arrays([part.values for part in parts]),
        )

    def _read_pages(self, file: int, pages: Sequence[_PagePlace], rows: Longs) -> LeafEntries:
        contents = [self._decode_page(*self._read_page(file, page_place.offset)) for page_place in pages]
        repetition = decode_levels([(page_place.count, page_place.repetition) for page_place in contents], self.leaf.repetition)
        definition = decode_levels([(page_place.count, page_place.definition) for page_place in contents], self.leaf.definition)
        has_value = definition == self.leaf.definition
        spans, chosen_values, bodies, position, values_before = [], [], [], 0, 0
        for page_place, content in zip(pages, contents, strict=True):
            end = position + content.count
            for first_entry, end_entry in _find_spans(
                repetition[position:end], rows - page_place.rows_before, continues=page_place.begins_within_row
            ):
                spans.append(np.arange(position + first_entry, position + end_entry))
                first = values_before + np.count_nonzero(has_value[position : position + first_entry])
                chosen_values.append(np.arange(first, first + np.count_nonzero(has_value[position + first_entry : position + end_entry])))
            if count := int(np.count_nonzero(has_value[position:end])):
                bodies.append(make_page(PageKind.DATA, [content.values], count, content.encoding))
            position, values_before = end, values_before + count
        chosen_entries = np.concatenate(spans)
        keyed = {content.encoding for content in contents} <= {Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY}
        return LeafEntries(
            repetition[chosen_entries],
            definition[chosen_entries],
            self._decode_values(file, bodies, values_before, np.concatenate(chosen_values), keyed=keyed),
        )

    def _locate_pages(self, file: int, last_row: int) -> tuple[Sequence[_PagePlace], Sequence[int]]:
        """Return the pages from the first to the one after `last_row`, and for each the number of the row after its last row."""
        with self._lock:
            if not self._pages and self._index is not None:
                offset, length = self._index
                places = Scanner(os.pread(file, length, offset)).read_struct()[1]
                self._pages, self._next = [_PagePlace(place[1], place[3], begins_within_row=False) for place in places], None
            while self._next is not None and not (
                self._pages and self._pages[-1].rows_before > last_row + self._pages[-1].begins_within_row
            ):
                self._learn_pages(file, *self._next)
            pages = list(self._pages)
        return pages, [*(after.rows_before for after in pages[1:]), last_row + 1]

    def _learn_pages(self, file: int, offset: int, rows_before: int) -> None:
        places: list[int] = []
        counts: list[tuple[int, Part]] = []  # for nested columns whose pages do not state their rows
        rows: list[int] = []
        while offset < self._end and len(places) < _AT_ONCE:
            header, size = _read_header(file, offset)
            if header[1] == PageKind.DATA and self.leaf.repetition:
                content = self._decode_page(header, os.pread(file, header[3], offset + size))
                counts.append((content.count, content.repetition))
            elif header[1] in (PageKind.DATA, PageKind.DATA_2):
                rows.append(header[5][1] if header[1] == PageKind.DATA else header[8][3])
            if header[1] in (PageKind.DATA, PageKind.DATA_2):
                places.append(offset)
            offset += size + header[3]
        begins = decode_levels(counts, self.leaf.repetition) == 0
        starts = np.cumsum([0, *(count for count, _ in counts)])
        if counts:
            rows = [int(begins[start:end].sum()) for start, end in itertools.pairwise(starts)]
        if len(rows) != len(places):
            raise NotCuttableError("its pages are of two kinds")
        for number, (place, count) in enumerate(zip(places, rows, strict=True)):
            continues = bool(counts) and counts[number][0] > 0 and not begins[starts[number]]
            self._pages.append(_PagePlace(place, rows_before, continues))
            rows_before += count
        self._next = (offset, rows_before) if offset < self._end else None

    def _read_page(self, file: int, offset: int) -> tuple[Struct, bytes]:
        header, size = _read_header(file, offset)
        return header, os.pread(file, header[3], offset + size)

    def _decode_page(self, header: Struct, body: bytes) -> _PageContent:
        if header[1] == PageKind.DATA_2:
            data_header = header[8]
            position, end = data_header[6], data_header[6] + data_header[5]
            values = self._decompress(body[end:], header[2] - end) if data_header.get(7, True) else body[end:]
            return _PageContent(data_header[1], body[:position], body[position:end], data_header[4], values)
        if header[1] != PageKind.DATA:
            raise NotCuttableError(f"a page of kind {header[1]} stands among its data")
        data_header, content, position = header[5], self._decompress(body, header[2]), 0
        levels = []
        for greatest_level, level_encoding in ((self.leaf.repetition, data_header[4]), (self.leaf.definition, data_header[3])):
            if greatest_level and level_encoding != Encoding.RLE:
                raise NotCuttableError(f"its levels are encoded by {level_encoding}")
            size = int.from_bytes(content[position : position + 4], "little") if greatest_level else 0
            position += 4 if greatest_level else 0
            levels.append(content[position : position + size])
            position += size
        repetition, definition = levels
        return _PageContent(data_header[1], repetition, definition, data_header[2], content[position:])

    def _decompress(self, body: bytes, size: int) -> memoryview:
        if self._codec is None or not size:
            return memoryview(body)
        return memoryview(pa.Codec(self._codec).decompress(body, size))

    def _decode_values(self, file: int, bodies: Sequence[Page], count: int, chosen_values: Longs, *, keyed: bool) -> pa.Array:
        """Return some values of pages. `keyed` means that all of them are indexes into a dictionary."""
        # an INT96 is read as its 12 bytes
        kind = (PhysicalType.FIXED_BYTES, 12) if self.leaf.type == PhysicalType.INT96 else (self.leaf.type, self.leaf.length)
        pages = list(bodies)
        if self._dictionary is not None:
            header, body = self._read_page(file, self._dictionary)
            dictionary_header = header[7]
            pages.insert(0, make_page(PageKind.DICTIONARY, [self._decompress(body, header[2])], dictionary_header[1], dictionary_header[2]))
        if not count:
            return _decode_flat(*kind, [make_page(PageKind.DATA, [], 0, Encoding.PLAIN)], 0, has_dictionary=False)
        keyed = keyed and kind[0] == PhysicalType.BYTES
        values = _decode_flat(*kind, pages, count, has_dictionary=self._dictionary is not None, keyed=keyed).take(arrow_of(chosen_values))
        return values.dictionary_decode() if keyed else values


def _find_spans(repetition: Levels, rows: Longs, *, continues: bool) -> Iterator[tuple[int, int]]:
    """Yield the spans of rows in a page. Rows count from the first row that begins in the page.

    The row −1 began in the page before.
    """
    starts = np.flatnonzero(repetition == 0)
    if continues:
        rows, starts = rows + 1, np.concatenate(([0], starts))
    ends = np.append(starts[1:], len(repetition))
    page_rows = rows[(rows >= 0) & (rows < len(starts))]
    return zip(starts[page_rows].tolist(), ends[page_rows].tolist(), strict=True)


def decode_levels(pages: Sequence[tuple[int, Part]], greatest_level: int) -> Levels:
    """Return the levels of pages, up to `greatest_level`. A page is the number of its levels, and runs (repeated or bit-packed).

    Values of a dictionary have the same form, so pyarrow decodes levels as values of a dictionary of all levels.
    """
    count = sum(number for number, _ in pages)
    if not greatest_level or not count:
        return np.zeros(count, np.int32)
    width = bytes([greatest_level.bit_length()])
    dictionary = np.arange(1 << greatest_level.bit_length(), dtype="<i4")
    bodies = [make_page(PageKind.DICTIONARY, [dictionary.tobytes()], len(dictionary), Encoding.PLAIN)]
    filled_pages = [(number, runs) for number, runs in pages if number]  # pyarrow ends at an empty page
    bodies += [make_page(PageKind.DATA, [width, runs], number, Encoding.RLE_DICTIONARY) for number, runs in filled_pages]
    levels = _decode_flat(PhysicalType.INT32, 0, bodies, count, has_dictionary=True)
    return np.frombuffer(levels.buffers()[1], np.int32)[:count]  # to_numpy would load pandas


def _decode_flat(kind: int, length: int, pages: Sequence[Page], count: int, *, has_dictionary: bool, keyed: bool = False) -> Any:
    """Return the values of pages without nulls, with pyarrow. `keyed` returns indexes into the dictionary."""
    leaf = Leaf("v", kind, length, repetition=0, definition=0)
    fields: list[thrift.Field] = [(1, thrift.INT, kind), *([(2, thrift.INT, length)] if length else [])]
    schema = [thrift.write_struct([*fields, (3, thrift.INT, Repetition.REQUIRED), (4, thrift.BINARY, b"v")])]
    file_parts = make_parquet_file(schema, 1, [([CutChunk(leaf, [b"v"], pages, count, has_dictionary)], count)], count)
    return (
        pq.ParquetFile(pa.BufferReader(file_parts), read_dictionary=["v"] if keyed else None)
        .read(use_threads=False)
        .column(0)
        .combine_chunks()
    )


def _read_header(file: int, offset: int) -> tuple[Struct, int]:
    length = _HEADER
    while True:
        scanner = Scanner(os.pread(file, length, offset))
        try:
            header = scanner.read_struct()
        except IndexError:
            if length >= _LONGEST_HEADER:
                raise
            length *= 16
            continue
        if header[3] < 0:  # otherwise the loop over pages would never end
            raise NotCuttableError("a page ends before it begins")
        return header, scanner.position
