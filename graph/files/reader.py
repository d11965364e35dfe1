"""Reading records back from their files, by row or all of them, as a table of a trace's database.

For selecting the records that a trace begins with, for values by which a witness is chosen, and for the values in an answer. What
it reads is the file as it is now: whoever asks has made sure that it is the one that was meant. How is for the format to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from headwater.graph.files.formats import format_of
from headwater.graph.files.lines import LineCache, LineRules, Lines
from headwater.graph.files.marks import MarkedLines
from headwater.graph.files.shapes import Shape
from headwater.graph.records import FileBlock
from headwater.graph.records.decode import Longs
from headwater.graph.storage import StoredFile
from headwater.graph.storage.files import exactly

FILE, ROW, LINE = "__file", "__row", "__line"
HIDDEN = frozenset({"file_row_number", "file_index"})  # DuckDB's own columns, unless a file has one of the name
NO_ROWS = np.empty(0, np.int64)
_numbers = count()

Wanted = str | Mapping[int, Longs]  # the records to read: a table `file, row`, or a few rows by file, ascending


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file to read, by its number in the trace."""

    number: int
    stored: StoredFile
    block: FileBlock
    partition: Mapping[str, str | None]


class Reader:
    """Reads files. Keeps what it learnt about text files, about blocks of Avro, and about pages of Parquet."""

    def __init__(self) -> None:
        self.excerpts = Excerpts()
        self.column_names = NamesCache()
        self._lines = LineCache()
        self._blocks = BlockCache()

    def lines(self, file: ReadFile, rules: LineRules) -> Lines | MarkedLines:
        """Where the records of a text file lie."""
        return self._lines.get(file.stored, file.block, rules)

    def avro_blocks(self, file: ReadFile) -> AvroBlocks:
        """Where the blocks of an Avro file lie."""
        return self._blocks.get(file.stored, file.block)

    def table(self, database: Database, shape: Shape, files: Sequence[ReadFile], wanted: Wanted | None = None) -> str:
        """Make a temporary table of records: `__file`, `__row`, `__line` (null where records are no lines) and the dataset's columns.

        Without `wanted`, all records are read.
        """
        name = f"records_{next(_numbers)}"
        select, parameters = self.query(database, shape, files, wanted)
        database.execute(f"CREATE TEMP TABLE {name} AS {select}", parameters)
        described = database.execute(f"SELECT * FROM {name} LIMIT 0").description or ()
        format_of(shape.format).check_names(column[0] for column in described)
        return name

    def query(
        self,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        """A query of what `table` would hold, and its parameters.

        `columns` are those that something is computed from: where the format allows it, no other is read. Without them, whoever runs the
        query sees to the names of what it gives (`Format.check_names`): files may have columns that the shape has not.

        Raises:
            UnsupportedError: records of the format cannot be read, or it is not certain what Spark read in one of `columns`.
        """
        return format_of(shape.format).query(self, database, shape, files, wanted, columns)


def places(database: Database, shape: Shape, files: Sequence[ReadFile]) -> str:
    """A relation `m` of files: their place in the list, number, and the values of partition columns."""
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


def extra(shape: Shape) -> str:
    """The partition columns of `places`, in a SELECT."""
    return "".join(f", m.{quoted(column)}" for column, _ in shape.partitions)


def kept_rows(path: Path) -> str:
    """The rows of a kept table, in a query."""
    return f"read_parquet({literal(exactly(path))})"
