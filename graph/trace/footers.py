"""Whether Parquet files hold columns in such a way that DuckDB gives the values that Spark gave.

Spark goes by the schema of the table, DuckDB by the file. Where a file says something else, nothing is computed from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from headwater.graph.trace.held import Database
from headwater.graph.trace.translate import Untranslatable
from headwater.graph.trace.types import INTEGERS, duckdb_type

_INTEGERS = frozenset({*INTEGERS, "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"})
_WIDER = frozenset({
    ("FLOAT", "DOUBLE"), ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"),
    ("TIMESTAMP", "TIMESTAMPTZ"),  # INT96, in UTC, as a trace's database is
})  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_LEGACY = "org.apache.spark.legacyDateTime"  # dates of the calendar before 1582; Spark converts them, DuckDB does not
_VERSION = "org.apache.spark.version"


def check_columns(database: Database, paths: Sequence[str], wanted: Mapping[str, str]) -> None:
    """Check columns, name → Spark's type, in files (as `read_parquet` names them).

    Raises:
        Untranslatable: their values may be others than Spark read.
    """
    if not paths or not wanted:
        return
    schema = database.execute("SELECT file_name, name, num_children, duckdb_type FROM parquet_schema(?)", [list(paths)]).fetchall()
    found: set[str] = set()
    names = {name.lower(): (name, kind) for name, kind in wanted.items()}
    for file, columns in _top(schema):
        lower = [name.lower() for name, _ in columns]
        for (name, kind), key in zip(columns, lower, strict=True):
            if key in names and (lower.count(key) > 1 or not _alike(kind, duckdb_type(names[key][1]))):
                raise Untranslatable(f"{names[key][0]}, which was read as {names[key][1]}, is not just that in {file} ({name}: {kind})")
        found.update(lower)
    if absent := sorted(names.keys() - found):
        raise Untranslatable(f"{absent[0]}, which none of the files has")
    if "date" in wanted.values():
        _check_calendar(database, paths)


def _top(schema: Iterable[tuple[str, str, int | None, str | None]]) -> Iterable[tuple[str, list[tuple[str, str | None]]]]:
    """Each file's columns, without what is nested in them."""
    rows = iter(schema)
    for file, _, count, _ in rows:
        columns = []
        for _ in range(count or 0):
            _, name, children, kind = next(rows)
            columns.append((name, None if children else kind))
            below = children or 0
            while below:
                below += (next(rows)[2] or 0) - 1
        yield file, columns


def _alike(given: str | None, wanted: str | None) -> bool:
    held, asked = _DECIMAL.fullmatch(given or ""), _DECIMAL.fullmatch(wanted or "")
    if asked:
        whole, scale = int(asked[1]) - int(asked[2]), int(asked[2])
        return given in _INTEGERS or (held is not None and int(held[2]) <= scale and int(held[1]) - int(held[2]) <= whole)
    return given == wanted or (given, wanted) in _WIDER or (wanted in INTEGERS and given in _INTEGERS)


def _check_calendar(database: Database, paths: Sequence[str]) -> None:
    said = database.execute("SELECT decode(key), decode(value) FROM parquet_kv_metadata(?)", [list(paths)]).fetchall()
    if any(key == _LEGACY or (key == _VERSION and value < "3") for key, value in said):
        raise Untranslatable("a date in a file of the calendar that Spark used before version 3")
