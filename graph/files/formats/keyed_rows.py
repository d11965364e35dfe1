"""Reads records again by key: rows of tables and records of topics. The number of a record is its key.

Values are read now. Records that have changed since the run read them, or may have changed, are left out.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats.loaded_records import load_records
from headwater.graph.files.read_files import ReadFile, WantedRows
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs
from headwater.graph.storage.tables import RowRequest, StoredTable, TableRows

_TYPES = {
    "bigint": pa.int64(), "int": pa.int32(), "smallint": pa.int16(), "tinyint": pa.int8(), "boolean": pa.bool_(), "double": pa.float64(),
    "float": pa.float32(), "date": pa.date32(), "string": pa.string(),
}  # fmt: skip
_GONE = "there is no record of this key any more, or none that the service may see"
_SHARED = "two keys of the table have this number: which of them it was is not known"
_UNRECORDED = "its key is not known any more: no run that read it is kept"
_EARLIEST = dt.date(1600, 1, 1)  # calendars differ before this date


def query_by_key(
    database: Database,
    shape: Shape,
    files: Sequence[ReadFile],
    wanted_rows: WantedRows | None,
    columns: Iterable[str] | None,
    rows_asked: RowRequest,
) -> tuple[str, list[object]]:
    """Return a query of records, like `Format.make_query`. `rows_asked` has the key, and the way to detect a changed record."""
    computed_columns = None if columns is None else set(columns)

    def load(file: ReadFile, rows: Longs | None) -> tuple[Longs, pa.Table]:
        return _load_rows(file, shape, rows, computed_columns, rows_asked)

    return load_records(database, shape, files, wanted_rows, load)


def _load_rows(
    file: ReadFile, shape: Shape, rows: Longs | None, computed_columns: set[str] | None, rows_asked: RowRequest
) -> tuple[Longs, pa.Table]:
    """Load records of one table. `computed_columns` are used in computations, so doubtful records raise an error."""
    table = file.stored
    if not isinstance(table, StoredTable):
        raise UnsupportedError(f"Records of {file.block.path} cannot be read here: it is no table and no topic.")
    if computed_columns is not None and (
        unreadable_columns := [f"{name} ({kind})" for name, kind in shape.columns if name in computed_columns and not _is_certain(kind)]
    ):
        raise UnsupportedError(f"It is not certain what Spark read in {unreadable_columns[0]} of {file.block.path}.")
    read_columns = [(name, kind) for name, kind in shape.columns if computed_columns is None or name in computed_columns]
    rows_asked = replace(rows_asked, keys=None if rows is None else rows.tolist(), columns=read_columns)
    unknown_rows: dict[int, str] = {}
    if rows_asked.key_columns and rows is not None:
        rows_asked, unknown_rows = _find_recorded_keys(table, rows_asked, rows.tolist())
    rows_found = (
        table.store.rows(table.parts, rows_asked)
        if rows_asked.keys is None or rows_asked.keys
        else TableRows([], [[] for _ in read_columns], {}, None)
    )
    if computed_columns is not None and (uncertain := rows_found.uncertain & computed_columns):
        raise UnsupportedError(f"It is not certain what Spark read in {min(uncertain)} of {file.block.path}.")
    kept_places = _keep_unchanged(table, rows_found, rows, unknown_rows, strict=computed_columns is not None)
    values = dict(zip((name for name, _ in read_columns), rows_found.columns, strict=True))
    arrays = [
        _make_array([values[name][place] for place in kept_places], kind, strict=computed_columns is not None)
        if name in values
        else pa.nulls(len(kept_places))
        for name, kind in shape.columns
    ]
    keys = np.array([rows_found.keys[place] for place in kept_places], np.int64)
    return keys, pa.table(arrays, names=[str(place) for place in range(len(arrays))])


def _find_recorded_keys(table: StoredTable, rows_asked: RowRequest, rows: Sequence[int]) -> tuple[RowRequest, dict[int, str]]:
    """Return the request with the recorded keys of rows, and the reasons why other rows have no key."""
    known_keys = table.recorded(rows) if table.recorded is not None else {}
    recorded_keys = {row: key for row in rows if (key := known_keys.get(row)) is not None}
    unknown_rows = {row: _SHARED if row in known_keys else _UNRECORDED for row in rows if row not in recorded_keys}
    return replace(rows_asked, keys=[*recorded_keys], recorded=recorded_keys), unknown_rows


def _keep_unchanged(
    table: StoredTable, rows_found: TableRows, rows: Longs | None, unknown_rows: Mapping[int, str], *, strict: bool
) -> list[int]:
    """Return the indexes of rows that have not changed since the run. Other rows become doubts, or raise an error if `strict`.

    `unknown_rows` are the reasons why the identity of some rows is unknown.
    """
    doubts: dict[int, str] = dict(rows_found.changed)
    count_by_row: dict[int, int] = {}
    for place, key in enumerate(rows_found.keys):
        if key in count_by_row:
            doubts[key] = "several rows have this key, which is said to be primary"
        count_by_row[key] = place
    for key in [] if rows is None else rows.tolist():
        if key not in count_by_row:
            doubts[key] = unknown_rows.get(key, _GONE)
    if rows_found.unknown and rows_found.keys:
        doubts[-1] = f"whether its rows are as the run read them is not known: {rows_found.unknown}"
    if strict and doubts:
        key, reason = min(doubts.items())
        raise SourceChangedError(f"{table.uri}{f', row {key}' if key >= 0 else ''}: {reason}.")
    table.doubts.update(doubts)
    return [place for key, place in count_by_row.items() if key not in doubts]


def _is_certain(kind: str) -> bool:
    """Return whether computations may use a value of this type. Times depend on zones, so they may not."""
    return kind in _TYPES or kind.startswith("decimal(")


def _make_array(values: Sequence[Any], kind: str, *, strict: bool) -> pa.Array:
    """Return the values of a column in Spark's type, if they fit. Otherwise return text, or raise an error if `strict`."""
    if kind == "date" and strict and any(value is not None and (isinstance(value, str) or value < _EARLIEST) for value in values):
        raise UnsupportedError("It is not certain what Spark read of a day before 1600 in a database.")
    try:
        if kind.startswith("decimal("):
            precision, scale = map(int, kind[8:-1].split(","))
            step = decimal.Decimal(1).scaleb(-scale)
            with decimal.localcontext(prec=60):
                rounded_values = [
                    value if value is None else decimal.Decimal(value).quantize(step, decimal.ROUND_HALF_UP) for value in values
                ]
            return pa.array(rounded_values, pa.decimal128(precision, scale))
        return pa.array(values, _TYPES[kind]) if kind in _TYPES else pa.array([_make_text(value) for value in values], pa.string())
    except (pa.ArrowException, decimal.DecimalException, ValueError, TypeError) as error:
        if strict:
            raise UnsupportedError(f"It is not certain what Spark read in a column of the type {kind} of a database.") from error
        return pa.array([_make_text(value) for value in values], pa.string())


def _make_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else value.isoformat() if isinstance(value, dt.date) else str(value)
