"""Parquet files of pages that are there already: what stands around them, and the numbers that the format gives to its kinds of things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from headwater.graph.files import thrift

MAGIC = b"PAR1"
_VERSION = 2
_UNCOMPRESSED = 0


class PageKind(IntEnum):
    """Kinds of pages, as parquet.thrift numbers them; so with the others. Those that are not named here are not read."""

    DATA = 0
    DICTIONARY = 2
    DATA_2 = 3


class Encoding(IntEnum):
    """How values are encoded; levels have RLE."""

    PLAIN = 0
    PLAIN_DICTIONARY = 2  # what RLE_DICTIONARY was called at first
    RLE = 3
    RLE_DICTIONARY = 8


class Repetition(IntEnum):
    """Whether a column may lack a value, or have several."""

    REQUIRED = 0
    REPEATED = 2


class PhysicalType(IntEnum):
    """What values are, to the file."""

    INT32 = 1
    INT96 = 3
    BYTES = 6
    FIXED_BYTES = 7


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column of values, as the schema has it: `repetition` and `definition` are its highest levels, `column` the child of the root."""

    column: str
    type: int
    length: int
    repetition: int
    definition: int


Part = bytes | memoryview
Page = Sequence[Part]  # its header, and what follows


def page(kind: PageKind, body: Sequence[Part], count: int, encoding: int) -> Page:
    """A page of `count` entries; of a data page, `body` begins with the levels. Nothing is copied: pages may be megabytes."""
    fields: list[thrift.Field] = [(1, thrift.INT, count), (2, thrift.INT, encoding)]
    if kind is not PageKind.DICTIONARY:
        fields += [(3, thrift.INT, Encoding.RLE), (4, thrift.INT, Encoding.RLE)]
    size = sum(map(len, body))
    sizes: list[thrift.Field] = [(1, thrift.INT, kind), (2, thrift.INT, size), (3, thrift.INT, size)]
    return [thrift.struct([*sizes, (7 if kind is PageKind.DICTIONARY else 5, thrift.STRUCT, thrift.struct(fields))]), *body]


@dataclass(frozen=True, slots=True)
class CutChunk:
    """A column chunk to write: its leaf, the path of that in the schema, pages (a dictionary first, if it has one), and their entries."""

    leaf: Leaf
    path: Sequence[bytes]
    pages: Sequence[Page]
    entries: int
    has_dictionary: bool = False


RowGroup = tuple[Sequence[CutChunk], int]  # and its rows


def parquet_file(schema: Sequence[bytes], columns: int, groups: Sequence[RowGroup], rows: int, created_by: bytes = b"headwater") -> bytes:
    """A file of elements of a schema, without its root, which has so many `columns`."""
    out: list[Part] = [MAGIC]
    at = len(MAGIC)
    written = []
    for chunks, count in groups:
        listed, begin = [], at
        for chunk in chunks:
            start = at
            first = start + (sum(map(len, chunk.pages[0])) if chunk.has_dictionary else 0)
            out += [part for one in chunk.pages for part in one]
            size = sum(len(part) for one in chunk.pages for part in one)
            at += size
            encodings = (thrift.INT, [Encoding.PLAIN, Encoding.RLE, *([Encoding.RLE_DICTIONARY] if chunk.has_dictionary else [])])
            described: list[thrift.Field] = [
                (1, thrift.INT, chunk.leaf.type), (2, thrift.LIST, encodings), (3, thrift.LIST, (thrift.BINARY, chunk.path)),
                (4, thrift.INT, _UNCOMPRESSED), (5, thrift.LONG, chunk.entries), (6, thrift.LONG, size), (7, thrift.LONG, size),
                (9, thrift.LONG, first), *([(11, thrift.LONG, start)] if chunk.has_dictionary else []),
            ]  # fmt: skip
            listed.append(thrift.struct([(2, thrift.LONG, start), (3, thrift.STRUCT, thrift.struct(described))]))
        size = at - begin
        written.append(thrift.struct([(1, thrift.LIST, (thrift.STRUCT, listed)), (2, thrift.LONG, size), (3, thrift.LONG, count)]))
    root = thrift.struct([(4, thrift.BINARY, b"schema"), (5, thrift.INT, columns)])
    footer = thrift.struct([
        (1, thrift.INT, _VERSION), (2, thrift.LIST, (thrift.STRUCT, [root, *schema])), (3, thrift.LONG, rows),
        (4, thrift.LIST, (thrift.STRUCT, written)), (6, thrift.BINARY, created_by),
    ])  # fmt: skip
    return b"".join([*out, footer, len(footer).to_bytes(4, "little"), MAGIC])
