"""Records that are read again by their key: rows of tables, records of topics. The number of a record is its key.

Values are those of now, of records that are as the run read them. What has changed, or may have, is not given.
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
from headwater.graph.files.formats.loaded_records import loaded
from headwater.graph.files.reader import ReadFile, Wanted
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs
from headwater.graph.storage.tables import RowsAsked, RowsFound, StoredTable

_TYPES = {
    "bigint": pa.int64(), "int": pa.int32(), "smallint": pa.int16(), "tinyint": pa.int8(), "boolean": pa.bool_(), "double": pa.float64(),
    "float": pa.float32(), "date": pa.date32(), "string": pa.string(),
}  # fmt: skip
_GONE = "there is no record of this key any more, or none that the service may see"
_SHARED = "two keys of the table have this number: which of them it was is not known"
_UNRECORDED = "its key is not known any more: no run that read it is kept"
_EARLIEST = dt.date(1600, 1, 1)  # before, calendars differ


def by_key(
    database: Database, shape: Shape, files: Sequence[ReadFile], wanted: Wanted | None, columns: Iterable[str] | None, asked: RowsAsked
) -> tuple[str, list[object]]:
    """A query of records as `Format.query` gives it; `asked` has the key, and by what it is known whether a record is as it was."""
    needed = None if columns is None else set(columns)

    def load(file: ReadFile, rows: Longs | None) -> tuple[Longs, pa.Table]:
        return _load(file, shape, rows, needed, asked)

    return loaded(database, shape, files, wanted, load)


def _load(file: ReadFile, shape: Shape, rows: Longs | None, needed: set[str] | None, asked: RowsAsked) -> tuple[Longs, pa.Table]:
    """Records of one table. `needed`: columns that something is computed from, so that nothing in doubt may be given."""
    table = file.stored
    if not isinstance(table, StoredTable):
        raise UnsupportedError(f"Records of {file.block.path} cannot be read here: it is no table and no topic.")
    if needed is not None and (odd := [f"{name} ({kind})" for name, kind in shape.columns if name in needed and not _is_certain(kind)]):
        raise UnsupportedError(f"It is not certain what Spark read in {odd[0]} of {file.block.path}.")
    read = [(name, kind) for name, kind in shape.columns if needed is None or name in needed]
    asked = replace(asked, keys=None if rows is None else rows.tolist(), columns=read)
    unknown: dict[int, str] = {}
    if asked.key_columns and rows is not None:
        asked, unknown = _recorded(table, asked, rows.tolist())
    found = table.store.rows(table.parts, asked) if asked.keys is None or asked.keys else RowsFound([], [[] for _ in read], {}, None)
    if needed is not None and (uncertain := found.uncertain & needed):
        raise UnsupportedError(f"It is not certain what Spark read in {min(uncertain)} of {file.block.path}.")
    kept = _kept(table, found, rows, unknown, strict=needed is not None)
    values = dict(zip((name for name, _ in read), found.columns, strict=True))
    arrays = [
        _array([values[name][place] for place in kept], kind, strict=needed is not None) if name in values else pa.nulls(len(kept))
        for name, kind in shape.columns
    ]
    keys = np.array([found.keys[place] for place in kept], np.int64)
    return keys, pa.table(arrays, names=[str(place) for place in range(len(arrays))])


def _recorded(table: StoredTable, asked: RowsAsked, rows: Sequence[int]) -> tuple[RowsAsked, dict[int, str]]:
    """What is asked by the keys that rows were recorded with; and why those have none that were not."""
    known = table.recorded(rows) if table.recorded is not None else {}
    recorded = {row: key for row in rows if (key := known.get(row)) is not None}
    unknown = {row: _SHARED if row in known else _UNRECORDED for row in rows if row not in recorded}
    return replace(asked, keys=[*recorded], recorded=recorded), unknown


def _kept(table: StoredTable, found: RowsFound, rows: Longs | None, unknown: Mapping[int, str], *, strict: bool) -> list[int]:
    """The places of those rows that are what the run read, as far as can be told; what is not is a doubt, or, if `strict`, raised.

    `unknown`: why it is not known which rows some are.
    """
    doubts: dict[int, str] = dict(found.changed)
    seen: dict[int, int] = {}
    for place, key in enumerate(found.keys):
        if key in seen:
            doubts[key] = "several rows have this key, which is said to be primary"
        seen[key] = place
    for key in [] if rows is None else rows.tolist():
        if key not in seen:
            doubts[key] = unknown.get(key, _GONE)
    if found.unknown and found.keys:
        doubts[-1] = f"whether its rows are as the run read them is not known: {found.unknown}"
    if strict and doubts:
        key, reason = min(doubts.items())
        raise SourceChangedError(f"{table.uri}{f', row {key}' if key >= 0 else ''}: {reason}.")
    table.doubts.update(doubts)
    return [place for key, place in seen.items() if key not in doubts]


def _is_certain(kind: str) -> bool:
    """Whether a value of this type is computed with as Spark read it. A time is not: it depends on zones."""
    return kind in _TYPES or kind.startswith("decimal(")


def _array(values: Sequence[Any], kind: str, *, strict: bool) -> pa.Array:
    """The values of a column, of the type that Spark has for it where that holds them; else as text, or, if `strict`, not at all."""
    if kind == "date" and strict and any(value is not None and (isinstance(value, str) or value < _EARLIEST) for value in values):
        raise UnsupportedError("It is not certain what Spark read of a day before 1600 in a database.")
    try:
        if kind.startswith("decimal("):
            precision, scale = map(int, kind[8:-1].split(","))
            step = decimal.Decimal(1).scaleb(-scale)
            with decimal.localcontext(prec=60):
                rounded = [value if value is None else decimal.Decimal(value).quantize(step, decimal.ROUND_HALF_UP) for value in values]
            return pa.array(rounded, pa.decimal128(precision, scale))
        return pa.array(values, _TYPES[kind]) if kind in _TYPES else pa.array([_text(value) for value in values], pa.string())
    except (pa.ArrowException, decimal.DecimalException, ValueError, TypeError) as error:
        if strict:
            raise UnsupportedError(f"It is not certain what Spark read in a column of the type {kind} of a database.") from error
        return pa.array([_text(value) for value in values], pa.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else value.isoformat() if isinstance(value, dt.date) else str(value)
