"""Writes Parquet files from existing pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from headwater.graph.files import thrift

MAGIC = b"PAR1"
_VERSION = 2
_UNCOMPRESSED = 0


class PageKind(IntEnum):
    """Kinds of Parquet pages, with their numbers in parquet.thrift. Only these kinds are read."""

    DATA = 0
    DICTIONARY = 2
    DATA_2 = 3


class Encoding(IntEnum):
    """Encodings of values, with their numbers in parquet.thrift. Levels have RLE."""

    PLAIN = 0
    PLAIN_DICTIONARY = 2  # the former name of RLE_DICTIONARY
    RLE = 3
    RLE_DICTIONARY = 8


class Repetition(IntEnum):
    """Whether a Parquet column is required, optional or repeated."""

    REQUIRED = 0
    REPEATED = 2


class PhysicalType(IntEnum):
    """Physical types of Parquet."""

    INT32 = 1
    INT96 = 3
    BYTES = 6
    FIXED_BYTES = 7


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column of the schema: `repetition` and `definition` are its maximum levels, `column` is the child of the root above it."""

    column: str
    type: int
    length: int
    repetition: int
    definition: int


Part = bytes | memoryview
Page = Sequence[Part]  # the header, and the content


def make_page(kind: PageKind, body: Sequence[Part], count: int, encoding: int) -> Page:
    """Return a page of `count` entries. The `body` of a data page begins with the levels. Nothing is copied, because pages may be large."""
    fields: list[thrift.Field] = [(1, thrift.INT, count), (2, thrift.INT, encoding)]
    if kind is not PageKind.DICTIONARY:
        fields += [(3, thrift.INT, Encoding.RLE), (4, thrift.INT, Encoding.RLE)]
    size = sum(map(len, body))
    sizes: list[thrift.Field] = [(1, thrift.INT, kind), (2, thrift.INT, size), (3, thrift.INT, size)]
    return [thrift.write_struct([*sizes, (7 if kind is PageKind.DICTIONARY else 5, thrift.STRUCT, thrift.write_struct(fields))]), *body]


@dataclass(frozen=True, slots=True)
class CutChunk:
    """A column chunk to write: its leaf, the leaf's path in the schema, the pages (the dictionary first), and the number of entries."""

    leaf: Leaf
    path: Sequence[bytes]
    pages: Sequence[Page]
    entries: int
    has_dictionary: bool = False


RowGroup = tuple[Sequence[CutChunk], int]  # the chunks, and the number of rows


def make_parquet_file(
    schema: Sequence[bytes], columns: int, groups: Sequence[RowGroup], rows: int, created_by: bytes = b"headwater"
) -> bytes:
    """Return a Parquet file. `schema` has the elements without the root, which has `columns` children."""
    parts: list[Part] = [MAGIC]
    position = len(MAGIC)
    written_groups = []
    for chunks, count in groups:
        chunk_structs, begin = [], position
        for chunk in chunks:
            start = position
            first = start + (sum(map(len, chunk.pages[0])) if chunk.has_dictionary else 0)
            parts += [part for chunk_page in chunk.pages for part in chunk_page]
            size = sum(len(part) for chunk_page in chunk.pages for part in chunk_page)
            position += size
            encodings = (thrift.INT, [Encoding.PLAIN, Encoding.RLE, *([Encoding.RLE_DICTIONARY] if chunk.has_dictionary else [])])
            chunk_fields: list[thrift.Field] = [
                (1, thrift.INT, chunk.leaf.type), (2, thrift.LIST, encodings), (3, thrift.LIST, (thrift.BINARY, chunk.path)),
                (4, thrift.INT, _UNCOMPRESSED), (5, thrift.LONG, chunk.entries), (6, thrift.LONG, size), (7, thrift.LONG, size),
                (9, thrift.LONG, first), *([(11, thrift.LONG, start)] if chunk.has_dictionary else []),
            ]  # fmt: skip
            chunk_structs.append(thrift.write_struct([(2, thrift.LONG, start), (3, thrift.STRUCT, thrift.write_struct(chunk_fields))]))
        size = position - begin
        written_groups.append(
            thrift.write_struct([(1, thrift.LIST, (thrift.STRUCT, chunk_structs)), (2, thrift.LONG, size), (3, thrift.LONG, count)])
        )
    root = thrift.write_struct([(4, thrift.BINARY, b"schema"), (5, thrift.INT, columns)])
    footer = thrift.write_struct([
        (1, thrift.INT, _VERSION), (2, thrift.LIST, (thrift.STRUCT, [root, *schema])), (3, thrift.LONG, rows),
        (4, thrift.LIST, (thrift.STRUCT, written_groups)), (6, thrift.BINARY, created_by),
    ])  # fmt: skip
    return b"".join([*parts, footer, len(footer).to_bytes(4, "little"), MAGIC])
