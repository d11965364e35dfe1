"""Whether Parquet files hold columns in such a way that DuckDB gives the values that Spark gave.

Spark goes by the schema of the table, DuckDB by the file. Where a file says something else, nothing is computed from it.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from headwater.errors import SourceChangedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.duck.types import INTEGERS, duckdb_type
from headwater.graph.files.reader import HIDDEN, ReadFile
from headwater.graph.records import FileBlock


class NoParquetError(SourceChangedError):
    """A file that should be Parquet is none, or is damaged."""


@dataclass(frozen=True, slots=True)
class Footer:
    """The columns that a file has, with DuckDB's types; whether its dates may be of the calendar before 1582; and how many rows it has.

    `ids` are the ids of the columns' fields, in the same order, where the file has some. `nested` are pairs of a column and a field in it.
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
_LEGACY = "org.apache.spark.legacyDateTime"  # dates of the calendar before 1582; Spark converts them, DuckDB does not
_VERSION = "org.apache.spark.version"
_STRUCTURAL = frozenset({"list", "element", "array", "array_element", "bag", "key_value", "map"})  # levels of lists and maps, no fields
_MOST = 2_000
_KNOWN: OrderedDict[tuple[Hashable, FileBlock], Footer] = OrderedDict()
_LOCK = threading.Lock()


def check_columns(
    database: Database, files: Sequence[ReadFile], wanted: Mapping[str, str], everywhere: Collection[str] = (), *, cased: bool = False
) -> set[str]:
    """Check columns, name → Spark's type, in files; give those that none of the files has, which Spark reads as null.

    Those of `everywhere` (lower case) have a value of their own in a file that lacks them. `cased`: a name in another case is another name.

    Raises:
        Untranslatable: their values may be others than Spark read, or a column, wanted or not, hides the place of a record.
    """
    if not files:
        return set()
    found: set[str] = set()
    names = {name.lower(): (name, kind) for name, kind in wanted.items()}
    listed = footers(database, files)
    for file, footer in zip(files, listed, strict=True):
        lower = [name.lower() for name, _ in footer.columns]
        if own := [name for name, _ in footer.columns if name.lower() in HIDDEN]:
            raise Untranslatable(f"a record of {file.block.path}, which has a column {own[0]},")
        for (name, kind), key in zip(footer.columns, lower, strict=True):
            other = key in names and cased and name != names[key][0]
            if key in names and (other or lower.count(key) > 1 or not alike(kind, duckdb_type(names[key][1]))):
                read = f"{names[key][0]}, which was read as {names[key][1]}"
                raise Untranslatable(f"{read}, is not just that in {file.block.path} ({name}: {kind})")
        found.update(lower)
        if lacking := sorted(names.keys() & set(everywhere) - set(lower)):
            raise Untranslatable(f"{lacking[0]}, which {file.block.path} lacks and which has a default,")
    if "date" in wanted.values() and any(footer.old_calendar for footer in listed):
        raise Untranslatable("a date in a file of the calendar that Spark used before version 3")
    return {names[key][0] for key in names.keys() - found}


def footers(database: Database, files: Sequence[ReadFile]) -> list[Footer]:
    """What the footers of files say; those of files that are as they were are not read again.

    Raises:
        NoParquetError: a file is none.
    """
    with _LOCK:
        known = {key: _KNOWN[key] for file in files if (key := _key(file)) in _KNOWN}
    if unknown := [file for file in files if _key(file) not in known]:
        paths = [file.stored.scan for file in unknown]
        schema = _schema(database, paths)
        statement = (
            f"SELECT file_name, decode(key), decode(value) FROM parquet_kv_metadata(?) WHERE key IN ('{_LEGACY}'::BLOB, '{_VERSION}'::BLOB)"
        )
        entries = database.execute(statement, [paths]).fetchall()
        old = {file for file, key, value in entries if key == _LEGACY or (key == _VERSION and value < "3")}
        counts = dict(database.execute("SELECT file_name, num_rows FROM parquet_file_metadata(?)", [paths]).fetchall())
        columns = {file: (top, nested) for file, top, nested in _top(schema)}
        read = {}
        for file in unknown:
            name = file.stored.name_in_answers
            top, nested = columns[name]
            names, ids = [(column, kind) for column, kind, _ in top], [number for _, _, number in top]
            read[_key(file)] = Footer(names, name in old, counts[name], ids, nested)
        for file in unknown:
            _ = file.stored.scan  # raises if it was closed meanwhile, so that nothing is remembered of a file that has its name by now
        known |= read
        with _LOCK:
            _KNOWN.update(read)
            while len(_KNOWN) > _MOST:
                _KNOWN.popitem(last=False)
    return [known[_key(file)] for file in files]


def _key(file: ReadFile) -> tuple[Hashable, FileBlock]:
    return file.stored.identity, file.block


def no_parquet(error: duckdb.InvalidInputException) -> NoParquetError:
    """What DuckDB says of a file, which it names."""
    return NoParquetError(f"A file cannot be read as Parquet: {str(error).partition(chr(10))[0]}.", hint="Look at the file, or remove it.")


def _schema(database: Database, paths: list[str]) -> list[tuple[str, str, int | None, str | None, int | None]]:
    query = "SELECT file_name, name, num_children, duckdb_type, field_id FROM parquet_schema(?)"
    try:
        return database.execute(query, [paths]).fetchall()
    except duckdb.InvalidInputException as error:
        raise no_parquet(error) from error


def _top(
    schema: Iterable[tuple[str, str, int | None, str | None, int | None]],
) -> Iterable[tuple[str, list[tuple[str, str | None, int | None]], frozenset[tuple[str, str]]]]:
    """Each file's columns with the ids of their fields; and, apart from them, pairs of a column and a field within it."""
    rows = iter(schema)
    for file, _, count, _, _ in rows:
        columns, nested = [], set()
        for _ in range(count or 0):
            _, name, children, kind, number = next(rows)
            columns.append((name, None if children else kind, number))
            below = children or 0
            while below:
                _, field, inner, _, _ = next(rows)
                nested.add((name, field))
                below += (inner or 0) - 1
        yield file, columns, frozenset(pair for pair in nested if pair[1] not in _STRUCTURAL)


def alike(given: str | None, wanted: str | None) -> bool:
    """Whether values of one of DuckDB's types are those that Spark reads as another."""
    stored, asked = _DECIMAL.fullmatch(given or ""), _DECIMAL.fullmatch(wanted or "")
    if asked:
        whole, scale = int(asked[1]) - int(asked[2]), int(asked[2])
        return given in _INTEGERS or (stored is not None and int(stored[2]) <= scale and int(stored[1]) - int(stored[2]) <= whole)
    return given == wanted or (given, wanted) in _WIDER or (wanted in INTEGERS and given in _INTEGERS)
