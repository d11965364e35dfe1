"""Copies the large columns of a few rows from a Parquet file into a small Parquet file.

DuckDB decodes a whole row group for one record. For columns of lists, maps or long texts, this is tens of megabytes per record. An excerpt
has the same values, levels and types, so it reads the same. Files in an unknown form are read without excerpts.
"""

from __future__ import annotations

import os
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from headwater.errors import SourceChangedError
from headwater.graph.files import thrift
from headwater.graph.files.pages import ColumnChunk, LeafEntries, Levels, NotCuttableError
from headwater.graph.files.parquet_file import MAGIC, CutChunk, Encoding, Leaf, Page, PageKind, Repetition, make_page, make_parquet_file
from headwater.graph.files.thrift import Scanner, Struct
from headwater.graph.records.decode import Longs
from headwater.graph.storage import Identity, LocalFile

_LARGE = 8 << 20  # decoded bytes of a column in a row group; DuckDB reads smaller columns in a few milliseconds
_LARGE_NESTED = 1 << 20  # bytes of lists and maps; DuckDB decodes 150 MB of these in a second
_LONGEST_FOOTER = 256 << 10  # bytes, read in a quarter of a second; to read a longer footer takes longer than it saves
_MOST_ROWS = 1000  # rows of a file; for more rows, DuckDB is faster
_MOST = 256  # files whose footers and pages are cached
# errors of a file that is damaged, or written in an unexpected way
_FAULTS = (
    NotCuttableError, SourceChangedError, OSError, MemoryError, pa.ArrowException, struct.error,
    ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A file with some columns of some rows of another file. `rows` are their row numbers in that file, in the order of the excerpt."""

    path: Path
    columns: Sequence[str]
    rows: Sequence[int]


@dataclass(slots=True)
class _Footer:
    """The cached parts of a file's footer: elements of the schema by column, leaves, row groups, and chunks with known pages."""

    elements: Mapping[str, Sequence[bytes]]
    leaves: Sequence[Leaf]
    groups: Sequence[_Group]
    chunks: dict[tuple[int, int], ColumnChunk] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Group:
    """A row group: its rows, the rows before it, its large columns, and by leaf the chunks of columns that are large in any group."""

    rows_before: int
    rows: int
    large: frozenset[str]
    chunks: Mapping[int, Struct]


class Excerpts:
    """Makes excerpts, and caches the positions of pages in unchanged files. Safe to use from several threads."""

    def __init__(self) -> None:
        self._footers: OrderedDict[Identity, _Footer | None] = OrderedDict()
        self._lock = threading.Lock()

    def cut_rows(self, file: LocalFile, rows: Longs, place: Callable[[], Path]) -> Excerpt | None:
        """Write the large columns of some rows to a file. `rows` must ascend. Return None if no column is large.

        `place` returns the path of the new file. It is called only if there is something to write.
        """
        if len(rows) > _MOST_ROWS:
            return None
        try:
            footer = self._get_footer(file)
            large = _find_large_columns(footer, rows) if footer else []
            if footer is None or not large:
                return None
            row_groups = _cut_groups(footer, file.descriptor, rows, large)
            if Identity.of(os.fstat(file.descriptor)) != file.identity:
                return None  # the file was written in the meantime
            target = place()
            target.write_bytes(row_groups)
        except _FAULTS:
            return None  # reading the file itself reports the fault
        return Excerpt(target, large, rows.tolist())

    def _get_footer(self, file: LocalFile) -> _Footer | None:
        identity = file.identity
        with self._lock:
            if identity in self._footers:
                self._footers.move_to_end(identity)
                return self._footers[identity]
        try:
            footer = _read_footer(file.descriptor, identity.length)
        except _FAULTS:
            footer = None
        with self._lock:
            self._footers[identity] = footer
            while len(self._footers) > _MOST:
                self._footers.popitem(last=False)
        return footer


def _read_footer(descriptor: int, end: int) -> _Footer:
    tail = os.pread(descriptor, 8, end - 8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > _LONGEST_FOOTER:
        raise NotCuttableError("its footer is encrypted, or long")
    footer = os.pread(descriptor, length, end - 8 - length)
    elements, leaves = _read_schema(footer)
    group_structs = Scanner(footer).read_struct()[4]
    large = [_find_large_in_group(leaves, group[1]) for group in group_structs]
    cut_columns = frozenset[str]().union(*large)
    groups, rows_before = [], 0
    for group, names in zip(group_structs, large, strict=True):
        chunks = {place: group[1][place] for place, leaf in enumerate(leaves) if leaf.column in cut_columns}
        groups.append(_Group(rows_before, group[3], names, chunks))
        rows_before += group[3]
    return _Footer(elements, leaves, groups)


def _find_large_in_group(leaves: Sequence[Leaf], chunks: Sequence[Struct]) -> frozenset[str]:
    sizes: dict[str, float] = {}  # as a share of the limit
    for leaf, chunk in zip(leaves, chunks, strict=True):
        sizes[leaf.column] = sizes.get(leaf.column, 0.0) + chunk[3][6] / (_LARGE_NESTED if leaf.repetition else _LARGE)
    return frozenset(name for name, size in sizes.items() if size > 1)


def _read_schema(footer: bytes) -> tuple[Mapping[str, Sequence[bytes]], Sequence[Leaf]]:
    """Return the elements below each child of the schema's root, and the leaves."""
    scanner = Scanner(footer)
    scanner.read_struct(last_field=1)
    scanner.position += 1  # the header of the next field, the list of elements
    head = footer[scanner.position]
    scanner.position += 1
    size = head >> 4 if head >> 4 < 15 else scanner.read_varint()
    root = scanner.read_struct()
    elements: dict[str, list[bytes]] = {}
    leaves: list[Leaf] = []
    open_: list[tuple[int, int, int]] = []  # numbers of missing children, with the levels above them
    column = ""
    for _ in range(size - 1):
        begin = scanner.position
        element = scanner.read_struct()
        if not open_:
            column = bytes(element[4]).decode()
            if column.lower() in {name.lower() for name in elements}:
                raise NotCuttableError("two of its columns have one name")
            elements[column] = []
        elements[column].append(footer[begin : scanner.position])
        repetition, definition = open_[-1][1:] if open_ else (0, 0)
        repetition += element[3] == Repetition.REPEATED
        definition += element[3] != Repetition.REQUIRED
        if open_:
            open_[-1] = (open_[-1][0] - 1, *open_[-1][1:])
        if children := element.get(5, 0):
            open_.append((children, repetition, definition))
        else:
            leaves.append(Leaf(column, element[1], element.get(2, 0), repetition, definition))
        while open_ and not open_[-1][0]:
            open_.pop()
    if len(elements) != root[5]:
        raise NotCuttableError("its schema is not a tree")
    return elements, leaves


def _find_large_columns(footer: _Footer, rows: Longs) -> list[str]:
    large_columns = frozenset[str]().union(*(footer.groups[number].large for number, _ in _find_groups(footer, rows)))
    return [name for name in footer.elements if name in large_columns]


def _find_groups(footer: _Footer, rows: Longs) -> list[tuple[int, Longs]]:
    """Return the row groups that contain some rows, by number, with these rows counted from the start of the group."""
    groups = []
    for number, group in enumerate(footer.groups):
        first_index, end_index = np.searchsorted(rows, (group.rows_before, group.rows_before + group.rows))
        if end_index > first_index:
            groups.append((number, rows[first_index:end_index] - group.rows_before))
    return groups


def _cut_groups(footer: _Footer, file: int, rows: Longs, columns: Sequence[str]) -> bytes:
    if len(rows) and int(rows[-1]) >= footer.groups[-1].rows_before + footer.groups[-1].rows:
        raise NotCuttableError("a row is beyond the file")
    groups = []
    for number, group_rows in _find_groups(footer, rows):
        chunks, cut_chunks = footer.groups[number].chunks, []
        for place, leaf in enumerate(footer.leaves):
            if leaf.column in columns:
                chunk = footer.chunks.setdefault((number, place), ColumnChunk(leaf, chunks[place]))
                entries = chunk.read_entries(file, group_rows)
                cut_chunks.append(CutChunk(leaf, chunks[place][3][3], [_make_page(leaf, entries)], len(entries.definition)))
        groups.append((cut_chunks, len(group_rows)))
    schema = [element for name in columns for element in footer.elements[name]]
    return make_parquet_file(schema, len(columns), groups, len(rows))


def _make_page(leaf: Leaf, entries: LeafEntries) -> Page:
    levels = _encode_levels(entries.repetition, leaf.repetition) + _encode_levels(entries.definition, leaf.definition)
    return make_page(PageKind.DATA, [levels, _encode_plain(entries.values)], len(entries.definition), Encoding.PLAIN)


def _encode_levels(levels: Levels, greatest_level: int) -> bytes:
    """Encode levels as one bit-packed run, after its length."""
    if not greatest_level:
        return b""
    width, runs = greatest_level.bit_length(), -(-len(levels) // 8)
    padded = np.zeros(runs * 8, np.int64)
    padded[: len(levels)] = levels
    bits = (padded[:, None] >> np.arange(width) & 1).astype(np.uint8)
    content = thrift.write_varint(runs << 1 | 1) + np.packbits(bits.reshape(-1), bitorder="little").tobytes()
    return len(content).to_bytes(4, "little") + content


def _encode_plain(values: pa.Array) -> bytes:
    if pa.types.is_boolean(values.type):
        return np.packbits(np.array(values.to_pylist(), np.uint8), bitorder="little").tobytes()
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return b"".join(len(value).to_bytes(4, "little") + value for value in values.to_pylist())
    if pa.types.is_fixed_size_binary(values.type):
        return b"".join(values.to_pylist())
    width = values.type.bit_width // 8
    return bytes(values.buffers()[1][values.offset * width : (values.offset + len(values)) * width])
