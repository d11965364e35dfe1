"""Checks that DuckDB reads the same values from the columns of Parquet files as Spark did.

Spark reads by the schema of the table, DuckDB by the file. If they differ, no step computes with the column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from headwater.errors import SourceChangedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.duck.types import INTEGERS, duckdb_type
from headwater.graph.files.read_files import HIDDEN, ReadFile
from headwater.graph.records import FileBlock
from headwater.graph.records.bounded_cache import Bounded


class NoParquetError(SourceChangedError):
    """A file that should be Parquet is not, or is damaged."""


@dataclass(frozen=True, slots=True)
class Footer:
    """The columns of a file, with DuckDB's types, and its number of rows. Its dates may be in the calendar before 1582.

    `ids` are the field ids of the columns, in the same order, if the file has them. `nested` are pairs of a column and a field in it.
    """

    columns: Sequence[tuple[str, str | None]]
    old_calendar: bool
    rows: int
    ids: Sequence[int | None] = ()
    nested: frozenset[tuple[str, str]] = frozenset()


_INTEGERS = frozenset({*INTEGERS, "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"})
_WIDER = frozenset({
    ("FLOAT", "DOUBLE"), ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"),
    ("TIMESTAMP", "TIMESTAMPTZ"),  # INT96, in UTC, as a trace's database is
})  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_LEGACY = "org.apache.spark.legacyDateTime"  # dates in the calendar before 1582; only Spark converts them
_VERSION = "org.apache.spark.version"
_STRUCTURAL = frozenset(
    {"list", "element", "array", "array_element", "bag", "key_value", "map"}
)  # levels of lists and maps, which are not fields
_MOST = 2_000
_FOOTERS = Bounded[tuple[Hashable, FileBlock], Footer](_MOST)


def check_columns(
    database: Database, files: Sequence[ReadFile], types: Mapping[str, str], everywhere: Collection[str] = (), *, cased: bool = False
) -> set[str]:
    """Check columns (name → Spark's type) of files. Return the columns that no file has, which Spark reads as null.

    Columns of `everywhere` (lower case) have a default value in files without them. `cased`: names that differ in case are different names.

    Raises:
        Untranslatable: the values may differ from Spark's, or a column has a name that DuckDB needs for the row number.
    """
    if not files:
        return set()
    found_names: set[str] = set()
    names = {name.lower(): (name, kind) for name, kind in types.items()}
    file_footers = read_footers(database, files)
    for file, footer in zip(files, file_footers, strict=True):
        lower = [name.lower() for name, _ in footer.columns]
        if hiding_names := [name for name, _ in footer.columns if name.lower() in HIDDEN]:
            raise Untranslatable(f"a record of {file.block.path}, which has a column {hiding_names[0]},")
        for (name, kind), key in zip(footer.columns, lower, strict=True):
            has_other_case = key in names and cased and name != names[key][0]
            if key in names and (has_other_case or lower.count(key) > 1 or not has_same_values(kind, duckdb_type(names[key][1]))):
                column_text = f"{names[key][0]}, which was read as {names[key][1]}"
                raise Untranslatable(f"{column_text}, is not just that in {file.block.path} ({name}: {kind})")
        found_names.update(lower)
        if missing_names := sorted(names.keys() & set(everywhere) - set(lower)):
            raise Untranslatable(f"{missing_names[0]}, which {file.block.path} lacks and which has a default,")
    if "date" in types.values() and any(footer.old_calendar for footer in file_footers):
        raise Untranslatable("a date in a file of the calendar that Spark used before version 3")
    return {names[key][0] for key in names.keys() - found_names}


def read_footers(database: Database, files: Sequence[ReadFile]) -> list[Footer]:
    """Return the footers of files, cached for unchanged files.

    Raises:
        NoParquetError: a file is not Parquet.
    """
    known_footers = {key: footer for file in files if (footer := _FOOTERS.get(key := _make_key(file))) is not None}
    if unknown_files := [file for file in files if _make_key(file) not in known_footers]:
        paths = [file.stored.scan for file in unknown_files]
        schema = _read_schema(database, paths)
        statement = (
            f"SELECT file_name, decode(key), decode(value) FROM parquet_kv_metadata(?) WHERE key IN ('{_LEGACY}'::BLOB, '{_VERSION}'::BLOB)"
        )
        entries = database.execute(statement, [paths]).fetchall()
        old = {file for file, key, value in entries if key == _LEGACY or (key == _VERSION and value < "3")}
        counts = dict(database.execute("SELECT file_name, num_rows FROM parquet_file_metadata(?)", [paths]).fetchall())
        columns = {file: (top, nested) for file, top, nested in _list_top_columns(schema)}
        columns_by_file = {}
        for file in unknown_files:
            name = file.stored.name_in_answers
            top, nested = columns[name]
            names, ids = [(column, kind) for column, kind, _ in top], [number for _, _, number in top]
            columns_by_file[_make_key(file)] = Footer(names, name in old, counts[name], ids, nested)
        for file in unknown_files:
            _ = file.stored.scan  # raises if it was closed, so that nothing is cached for another file with its name
        known_footers |= columns_by_file
        for key, footer in columns_by_file.items():
            _FOOTERS.put(key, footer, 1)
    return [known_footers[_make_key(file)] for file in files]


def _make_key(file: ReadFile) -> tuple[Hashable, FileBlock]:
    return file.stored.identity, file.block


def make_parquet_error(error: duckdb.InvalidInputException) -> NoParquetError:
    return NoParquetError(f"A file cannot be read as Parquet: {str(error).partition(chr(10))[0]}.", hint="Look at the file, or remove it.")


def _read_schema(database: Database, paths: list[str]) -> list[tuple[str, str, int | None, str | None, int | None]]:
    query = "SELECT file_name, name, num_children, duckdb_type, field_id FROM parquet_schema(?)"
    try:
        return database.execute(query, [paths]).fetchall()
    except duckdb.InvalidInputException as error:
        raise make_parquet_error(error) from error


def _list_top_columns(
    schema: Iterable[tuple[str, str, int | None, str | None, int | None]],
) -> Iterable[tuple[str, list[tuple[str, str | None, int | None]], frozenset[tuple[str, str]]]]:
    """Yield the columns of each file with their field ids, and pairs of a column and a field within it."""
    rows = iter(schema)
    for file, _, count, _, _ in rows:
        columns, nested = [], set()
        for _ in range(count or 0):
            _, name, children, kind, number = next(rows)
            columns.append((name, None if children else kind, number))
            children_left = children or 0
            while children_left:
                _, field, inner, _, _ = next(rows)
                nested.add((name, field))
                children_left += (inner or 0) - 1
        yield file, columns, frozenset(pair for pair in nested if pair[1] not in _STRUCTURAL)


def has_same_values(stored_type: str | None, spark_type: str | None) -> bool:
    """Return whether values stored as one DuckDB type are certainly the values that Spark reads as another type."""
    stored, wanted_decimal = _DECIMAL.fullmatch(stored_type or ""), _DECIMAL.fullmatch(spark_type or "")
    if wanted_decimal:
        whole_digits, scale = int(wanted_decimal[1]) - int(wanted_decimal[2]), int(wanted_decimal[2])
        return stored_type in _INTEGERS or (
            stored is not None and int(stored[2]) <= scale and int(stored[1]) - int(stored[2]) <= whole_digits
        )
    return stored_type == spark_type or (stored_type, spark_type) in _WIDER or (spark_type in INTEGERS and stored_type in _INTEGERS)
