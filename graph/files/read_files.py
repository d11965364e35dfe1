"""Locates records in files, with caches that all formats share.

The formats use it. `reader` reads records of any format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import literal, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files.avro_blocks import AvroBlocks, BlockCache
from headwater.graph.files.column_names import NamesCache
from headwater.graph.files.excerpts import Excerpts
from headwater.graph.files.lines import LineCache, LineRules, Lines
from headwater.graph.files.marks import MarkedLines
from headwater.graph.files.shapes import Shape
from headwater.graph.records import FileBlock
from headwater.graph.records.decode import Longs
from headwater.graph.storage import StoredFile
from headwater.graph.storage.files import exactly

FILE, ROW, LINE = "__file", "__row", "__line"
HIDDEN = frozenset({"file_row_number", "file_index"})  # DuckDB's own columns, unless a file has a column of that name
NO_ROWS = np.empty(0, np.int64)
_numbers = count()

WantedRows = str | Mapping[int, Longs]  # the records to read: a table `file, row`, or a few rows by file, ascending


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file to read, by its number in the trace."""

    number: int
    stored: StoredFile
    block: FileBlock
    partition: Mapping[str, str | None]


class FileReader:
    """Locates records in files. Caches the lines of text files, the blocks of Avro files, and the pages of Parquet files."""

    def __init__(self) -> None:
        self.excerpts = Excerpts()
        self.column_names = NamesCache()
        self._lines = LineCache()
        self._blocks = BlockCache()

    def find_lines(self, file: ReadFile, rules: LineRules) -> Lines | MarkedLines:
        return self._lines.get(file.stored, file.block, rules)

    def find_avro_blocks(self, file: ReadFile) -> AvroBlocks:
        return self._blocks.get(file.stored, file.block)


def make_places(database: Database, shape: Shape, files: Sequence[ReadFile]) -> str:
    """Return an SQL relation `m` of files: their index in the list, their number, and the values of partition columns."""
    if not shape.partitions and files:
        values = ", ".join(f"({place}, {file.number})" for place, file in enumerate(files))
        return f"(VALUES {values}) m(place, {FILE})"
    name = f"files_{next(_numbers)}"
    columns = "".join(f", {quoted(column)} {duckdb_type(kind) or 'VARCHAR'}" for column, kind in shape.partitions)
    database.execute(f"CREATE TEMP TABLE {name} (place BIGINT, {FILE} BIGINT{columns})")
    rows = [[place, file.number, *(file.partition[column] for column, _ in shape.partitions)] for place, file in enumerate(files)]
    if rows:
        marks = f"({', '.join('?' * len(rows[0]))})"
        database.execute(f"INSERT INTO {name} VALUES {', '.join([marks] * len(rows))}", [value for row in rows for value in row])
    return f"{name} m"


def format_partitions(shape: Shape) -> str:
    """Return the partition columns of `make_places`, for a SELECT."""
    return "".join(f", m.{quoted(column)}" for column, _ in shape.partitions)


def query_kept_rows(path: Path) -> str:
    return f"read_parquet({literal(exactly(path))})"
