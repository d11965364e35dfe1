"""Excerpts of Parquet files: a few rows of the columns that are large, as a Parquet file of its own.

For reading the values of a few records: DuckDB decodes of a row group whatever a record of it may lie in, which for columns of lists, maps
or long texts is tens of megabytes a record. An excerpt holds the same values, levels and types, so what reads it gives just what reading
the file would give. What is written in a way that is not known here is read from the file, as without.
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
from headwater.graph.files.pages import Chunk, Entries, Levels, NotCuttableError
from headwater.graph.files.parquet_file import MAGIC, CutChunk, Encoding, Leaf, Page, PageKind, Repetition, page, parquet_file
from headwater.graph.files.thrift import Scanner, Struct
from headwater.graph.records.decode import Longs
from headwater.graph.storage import Identity, LocalFile

_LARGE = 8 << 20  # bytes, decoded, of a column in a row group that it pays to cut; reading less takes DuckDB a few milliseconds
_LARGE_NESTED = 1 << 20  # the same of lists and maps, of which it decodes some 150 MB a second
_LONGEST_FOOTER = 256 << 10  # bytes, for a quarter of a second; of a longer one, reading it here takes longer than what it would save
_MOST_ROWS = 1000  # of a file; of more, DuckDB decodes the whole in less time
_MOST = 256  # files of which footers and pages are remembered
# what a file that is damaged, or written as nobody foresaw, may come to
_FAULTS = (
    NotCuttableError, SourceChangedError, OSError, MemoryError, pa.ArrowException, struct.error,
    ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A file that holds some columns of some rows of another: `rows` are their places there, in the order in which they stand."""

    path: Path
    columns: Sequence[str]
    rows: Sequence[int]


@dataclass(slots=True)
class _Footer:
    """What is known of a file: elements of the schema by column, leaves, row groups, and chunks whose pages are known."""

    elements: Mapping[str, Sequence[bytes]]
    leaves: Sequence[Leaf]
    groups: Sequence[_Group]
    chunks: dict[tuple[int, int], Chunk] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Group:
    """A row group: its rows, those before it, the columns that are large in it, and by leaf the chunks of those large in any group."""

    before: int
    rows: int
    large: frozenset[str]
    chunks: Mapping[int, Struct]


class Excerpts:
    """Makes excerpts, and remembers where pages begin of files that are as they were. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[Identity, _Footer | None] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, file: LocalFile, rows: Longs, place: Callable[[], Path]) -> Excerpt | None:
        """Write the large columns of rows, which ascend, to a file whose place is asked for then; None where there are none to be cut."""
        if len(rows) > _MOST_ROWS:
            return None
        try:
            footer = self._footer(file)
            large = _large(footer, rows) if footer else []
            if footer is None or not large:
                return None
            made = _cut(footer, file.descriptor, rows, large)
            if Identity.of(os.fstat(file.descriptor)) != file.identity:
                return None  # it was written meanwhile
            target = place()
            target.write_bytes(made)
        except _FAULTS:
            return None  # whoever reads the file itself says what is wrong with it
        return Excerpt(target, large, rows.tolist())

    def _footer(self, file: LocalFile) -> _Footer | None:
        identity = file.identity
        with self._lock:
            if identity in self._known:
                self._known.move_to_end(identity)
                return self._known[identity]
        try:
            footer = _read_footer(file.descriptor, identity.length)
        except _FAULTS:
            footer = None
        with self._lock:
            self._known[identity] = footer
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return footer


def _read_footer(descriptor: int, end: int) -> _Footer:
    tail = os.pread(descriptor, 8, end - 8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > _LONGEST_FOOTER:
        raise NotCuttableError("its footer is encrypted, or long")
    footer = os.pread(descriptor, length, end - 8 - length)
    elements, leaves = _schema(footer)
    read = Scanner(footer).struct()[4]
    large = [_large_in(leaves, group[1]) for group in read]
    cut = frozenset[str]().union(*large)
    groups, before = [], 0
    for group, names in zip(read, large, strict=True):
        chunks = {place: group[1][place] for place, leaf in enumerate(leaves) if leaf.column in cut}
        groups.append(_Group(before, group[3], names, chunks))
        before += group[3]
    return _Footer(elements, leaves, groups)


def _large_in(leaves: Sequence[Leaf], chunks: Sequence[Struct]) -> frozenset[str]:
    """The columns that are large in a row group."""
    sizes: dict[str, float] = {}  # in parts of what is large
    for leaf, chunk in zip(leaves, chunks, strict=True):
        sizes[leaf.column] = sizes.get(leaf.column, 0.0) + chunk[3][6] / (_LARGE_NESTED if leaf.repetition else _LARGE)
    return frozenset(name for name, size in sizes.items() if size > 1)


def _schema(footer: bytes) -> tuple[Mapping[str, Sequence[bytes]], Sequence[Leaf]]:
    """The elements below each child of the root, and the leaves."""
    scanner = Scanner(footer)
    scanner.struct(until=1)
    scanner.at += 1  # the head of the next field, which is the list of elements
    head = footer[scanner.at]
    scanner.at += 1
    size = head >> 4 if head >> 4 < 15 else scanner.varint()
    root = scanner.struct()
    elements: dict[str, list[bytes]] = {}
    leaves: list[Leaf] = []
    open_: list[tuple[int, int, int]] = []  # children that are still to come, and the levels above them
    column = ""
    for _ in range(size - 1):
        begin = scanner.at
        element = scanner.struct()
        if not open_:
            column = bytes(element[4]).decode()
            if column.lower() in {name.lower() for name in elements}:
                raise NotCuttableError("two of its columns have one name")
            elements[column] = []
        elements[column].append(footer[begin : scanner.at])
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


def _large(footer: _Footer, rows: Longs) -> list[str]:
    """The columns that are large where one of the rows lies."""
    found = frozenset[str]().union(*(footer.groups[number].large for number, _ in _holding(footer, rows)))
    return [name for name in footer.elements if name in found]


def _holding(footer: _Footer, rows: Longs) -> list[tuple[int, Longs]]:
    """The row groups that hold rows, by number, and the rows as counted from there."""
    found = []
    for number, group in enumerate(footer.groups):
        low, high = np.searchsorted(rows, (group.before, group.before + group.rows))
        if high > low:
            found.append((number, rows[low:high] - group.before))
    return found


def _cut(footer: _Footer, file: int, rows: Longs, columns: Sequence[str]) -> bytes:
    if len(rows) and int(rows[-1]) >= footer.groups[-1].before + footer.groups[-1].rows:
        raise NotCuttableError("a row is beyond the file")
    groups = []
    for number, wanted in _holding(footer, rows):
        chunks, cut = footer.groups[number].chunks, []
        for place, leaf in enumerate(footer.leaves):
            if leaf.column in columns:
                chunk = footer.chunks.setdefault((number, place), Chunk(leaf, chunks[place]))
                entries = chunk.entries(file, wanted)
                cut.append(CutChunk(leaf, chunks[place][3][3], [_page(leaf, entries)], len(entries.definition)))
        groups.append((cut, len(wanted)))
    schema = [element for name in columns for element in footer.elements[name]]
    return parquet_file(schema, len(columns), groups, len(rows))


def _page(leaf: Leaf, entries: Entries) -> Page:
    levels = _encoded(entries.repetition, leaf.repetition) + _encoded(entries.definition, leaf.definition)
    return page(PageKind.DATA, [levels, _plain(entries.values)], len(entries.definition), Encoding.PLAIN)


def _encoded(levels: Levels, most: int) -> bytes:
    """Levels as one run, packed by bits, with their length before them."""
    if not most:
        return b""
    width, runs = most.bit_length(), -(-len(levels) // 8)
    padded = np.zeros(runs * 8, np.int64)
    padded[: len(levels)] = levels
    bits = (padded[:, None] >> np.arange(width) & 1).astype(np.uint8)
    content = thrift.varint(runs << 1 | 1) + np.packbits(bits.reshape(-1), bitorder="little").tobytes()
    return len(content).to_bytes(4, "little") + content


def _plain(values: pa.Array) -> bytes:
    """Values one after the other."""
    if pa.types.is_boolean(values.type):
        return np.packbits(np.array(values.to_pylist(), np.uint8), bitorder="little").tobytes()
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return b"".join(len(value).to_bytes(4, "little") + value for value in values.to_pylist())
    if pa.types.is_fixed_size_binary(values.type):
        return b"".join(values.to_pylist())
    width = values.type.bit_width // 8
    return bytes(values.buffers()[1][values.offset * width : (values.offset + len(values)) * width])
