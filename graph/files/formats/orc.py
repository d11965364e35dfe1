"""ORC: rows by their number in the file, read stripe by stripe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.loaded_records import chosen, loaded
from headwater.graph.files.reader import Reader, ReadFile, Wanted
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

# Of these types a value means the same to Spark and here, if the file has the very type. Times have zones, char is padded.
_CERTAIN = {
    "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "float": "float", "double": "double", "string": "string",
    "boolean": "bool", "date": "date32[day]",
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_OLDEST = date(1600, 1, 1)  # before 1582 a file's days may be of another calendar


class Orc(Format):
    """Columns by name, rows by their number."""

    counts_from_file = True

    @property
    def unreadable(self) -> str | None:
        return None

    def first_of_split(self, reader: Reader, file: ReadFile, shape: Shape, start: int) -> int:
        del reader, file, shape, start
        return 0

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        del reader, database, shape
        return int(_opened(file).nrows)

    def column_names(self, reader: Reader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        del database
        if not self.tells_columns(shape):
            return [UNCERTAIN] * len(files)
        return [reader.column_names.get((self.name, file.stored.identity, file.block), partial(_names, file)) for file in files]

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        del reader
        exact = None if columns is None else frozenset(columns)
        return loaded(database, shape, files, wanted, lambda file, rows: _read(file, shape, rows, exact))


def _names(file: ReadFile) -> ColumnNames:
    try:
        schema = _opened(file).schema
    except OSError:
        return UNCERTAIN
    return ColumnNames(is_certain=True, others=frozenset((field.name, name) for field in schema for name in _nested(field.type)))


def _nested(kind: pa.DataType) -> set[str]:
    """The names of fields within a type."""
    found: set[str] = set()
    for place in range(kind.num_fields):
        field = kind.field(place)
        found |= {field.name} if pa.types.is_struct(kind) else set()
        found |= _nested(field.type)
    return found


def _opened(file: ReadFile) -> Any:
    """The file as ORC; it is read from its bytes, which are mapped.

    Raises:
        OSError: it is none.
    """
    try:
        return orc.ORCFile(pa.BufferReader(pa.py_buffer(file.stored.content())))
    except pa.ArrowException as error:
        raise OSError(f"{file.stored.name} cannot be read as ORC: {error}") from error


def _read(file: ReadFile, shape: Shape, rows: Longs | None, exact: frozenset[str] | None) -> tuple[Longs, pa.Table]:
    opened = _opened(file)
    names = [_found(opened.schema, column, kind, exact, file) for column, kind in shape.columns]
    rows = chosen(rows, opened.nrows)
    try:
        table = _taken(opened, names, rows)
        for place, (column, kind) in enumerate(shape.columns):
            if exact and column in exact and kind.lower() == "date" and pc.any(pc.less(table.column(place), pa.scalar(_OLDEST))).as_py():
                raise UnsupportedError(f"What Spark read in {column} is not certain: a date before 1600.")
        return rows, table
    except pa.ArrowException as error:
        raise OSError(f"{file.stored.name} cannot be read as ORC: {error}") from error


def _found(schema: Any, column: str, kind: str, exact: frozenset[str] | None, file: ReadFile) -> str | None:
    """The file's column of a name, as Spark finds it; None where it has none, which Spark reads as null."""
    met = [name for name in schema.names if name == column] or [name for name in schema.names if name.lower() == column.lower()]
    if exact is not None and column in exact:
        found = str(schema.field(met[0]).type) if len(met) == 1 else None
        hive = all(name.startswith("_col") for name in schema.names)  # columns go by position then
        if hive or found is None or _certain(kind.lower()) != found:
            raise UnsupportedError(
                f"What Spark read in {column} is not certain: {kind}, where {file.stored.name} has {found or 'no such column'}."
            )
    return met[0] if len(met) == 1 else None


def _certain(kind: str) -> str | None:
    """The type of a file's column, as Arrow has it, that surely holds values of a type of Spark."""
    decimal = _DECIMAL.fullmatch(kind)
    return f"decimal128({decimal[1]}, {decimal[2]})" if decimal else _CERTAIN.get(kind)


def _taken(opened: Any, names: Sequence[str | None], rows: Longs) -> pa.Table:
    """Rows of an ORC file, ascending, as columns by place."""
    wanted = sorted({name for name in names if name is not None}) or opened.schema.names[:1]
    parts, begin = [], 0
    for stripe in range(opened.nstripes):
        if begin > (rows[-1] if len(rows) else -1):
            break
        batch = pa.Table.from_batches([opened.read_stripe(stripe, columns=wanted)])
        within = rows[(rows >= begin) & (rows < begin + batch.num_rows)] - begin
        if len(within):
            parts.append(batch.take(pa.array(within)))
        begin += batch.num_rows
    table = pa.concat_tables(parts) if parts else pa.table({name: pa.array([], opened.schema.field(name).type) for name in wanted})
    nulls = pa.nulls(table.num_rows, pa.string())
    return pa.table([nulls if name is None else table.column(name) for name in names], names=[str(place) for place in range(len(names))])
