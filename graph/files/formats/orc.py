"""ORC files: rows are identified by their number in the file, and read stripe by stripe."""

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
from headwater.graph.files.formats.loaded_records import choose_rows, load_records
from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

# Values of these types mean the same to Spark and here, if the file has exactly this type. Times have zones, and char is padded.
_CERTAIN = {
    "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "float": "float", "double": "double", "string": "string",
    "boolean": "bool", "date": "date32[day]",
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_OLDEST = date(1600, 1, 1)  # before 1582 a file's days may be in another calendar


class Orc(Format):
    """The ORC format. Columns match by name, rows by their number."""

    counts_from_file = True

    @property
    def unreadable_reason(self) -> str | None:
        return None

    def find_first_of_split(self, reader: FileReader, file: ReadFile, shape: Shape, start: int) -> int:
        del reader, file, shape, start
        return 0

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        del reader, database, shape
        return int(_open_orc(file).nrows)

    def find_column_names(self, reader: FileReader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        del database
        if not self.has_reliable_columns(shape):
            return [UNCERTAIN] * len(files)
        return [reader.column_names.get((self.name, file.stored.identity, file.block), partial(_list_names, file)) for file in files]

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        del reader
        computed_columns = None if columns is None else frozenset(columns)
        return load_records(database, shape, files, wanted_rows, lambda file, rows: _read_columns(file, shape, rows, computed_columns))


def _list_names(file: ReadFile) -> ColumnNames:
    try:
        schema = _open_orc(file).schema
    except OSError:
        return UNCERTAIN
    return ColumnNames(
        is_certain=True, other_names=frozenset((field.name, name) for field in schema for name in _list_nested_names(field.type))
    )


def _list_nested_names(kind: pa.DataType) -> set[str]:
    names: set[str] = set()
    for place in range(kind.num_fields):
        field = kind.field(place)
        names |= {field.name} if pa.types.is_struct(kind) else set()
        names |= _list_nested_names(field.type)
    return names


def _open_orc(file: ReadFile) -> Any:
    try:
        return orc.ORCFile(pa.BufferReader(pa.py_buffer(file.stored.content())))
    except pa.ArrowException as error:
        raise OSError(f"{file.stored.name} cannot be read as ORC: {error}") from error


def _read_columns(file: ReadFile, shape: Shape, rows: Longs | None, computed_columns: frozenset[str] | None) -> tuple[Longs, pa.Table]:
    orc_file = _open_orc(file)
    names = [_find_column(orc_file.schema, column, kind, computed_columns, file) for column, kind in shape.columns]
    rows = choose_rows(rows, orc_file.nrows)
    try:
        table = _take_rows(orc_file, names, rows)
        for place, (column, kind) in enumerate(shape.columns):
            if (
                computed_columns
                and column in computed_columns
                and kind.lower() == "date"
                and pc.any(pc.less(table.column(place), pa.scalar(_OLDEST))).as_py()
            ):
                raise UnsupportedError(f"What Spark read in {column} is not certain: a date before 1600.")
        return rows, table
    except pa.ArrowException as error:
        raise OSError(f"{file.stored.name} cannot be read as ORC: {error}") from error


def _find_column(schema: Any, column: str, kind: str, computed_columns: frozenset[str] | None, file: ReadFile) -> str | None:
    """Return the ORC column that Spark reads for a column name. None if there is none, and Spark reads null."""
    matching_names = [name for name in schema.names if name == column] or [name for name in schema.names if name.lower() == column.lower()]
    if computed_columns is not None and column in computed_columns:
        column_type = str(schema.field(matching_names[0]).type) if len(matching_names) == 1 else None
        hive = all(name.startswith("_col") for name in schema.names)  # columns go by position then
        if hive or column_type is None or _find_certain_type(kind.lower()) != column_type:
            raise UnsupportedError(
                f"What Spark read in {column} is not certain: {kind}, where {file.stored.name} has {column_type or 'no such column'}."
            )
    return matching_names[0] if len(matching_names) == 1 else None


def _find_certain_type(kind: str) -> str | None:
    """Return the Arrow type of an ORC column whose values certainly equal those of a Spark type."""
    decimal = _DECIMAL.fullmatch(kind)
    return f"decimal128({decimal[1]}, {decimal[2]})" if decimal else _CERTAIN.get(kind)


def _take_rows(orc_file: Any, names: Sequence[str | None], rows: Longs) -> pa.Table:
    wanted_names = sorted({name for name in names if name is not None}) or orc_file.schema.names[:1]
    parts, begin = [], 0
    for stripe in range(orc_file.nstripes):
        if begin > (rows[-1] if len(rows) else -1):
            break
        batch = pa.Table.from_batches([orc_file.read_stripe(stripe, columns=wanted_names)])
        batch_rows = rows[(rows >= begin) & (rows < begin + batch.num_rows)] - begin
        if len(batch_rows):
            parts.append(batch.take(pa.array(batch_rows)))
        begin += batch.num_rows
    table = pa.concat_tables(parts) if parts else pa.table({name: pa.array([], orc_file.schema.field(name).type) for name in wanted_names})
    nulls = pa.nulls(table.num_rows, pa.string())
    return pa.table([nulls if name is None else table.column(name) for name in names], names=[str(place) for place in range(len(names))])
