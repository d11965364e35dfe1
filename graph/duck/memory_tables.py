"""Small tables of a trace, in memory as integer columns.

A statement of the database takes a millisecond or two even for few rows, and a trace of one record handles few rows many times. So a small
table is stored as numpy arrays under its name, and enters the database only if a statement names it. This module has the few operations
that the steps of a trace need for such tables. Everything else uses the database.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import numpy as np

from headwater.graph.records.decode import Longs
from headwater.graph.storage.duck import faults

Columns = Mapping[str, Longs]
SCRATCH = "headwater-trace-"  # prefix of the folder with files of a database

_NAME = re.compile(r"\bh\d+\b")
_BITS = 63
_FEW = 1 << 16


class Database:
    """The database of one trace. Its statements may name tables in memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._tables: dict[str, Columns] = {}
        self._waiting: set[str] = set()
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def execute(self, query: str, parameters: Sequence[object] | None = None) -> duckdb.DuckDBPyConnection:
        with faults():
            return self.holding(query).execute(query, parameters)

    def holding(self, query: str) -> duckdb.DuckDBPyConnection:
        """Return the connection, after registering the memory tables that a query names."""
        if self._waiting:
            for name in self._waiting.intersection(_NAME.findall(query)):
                self.register(name, dict(self._tables[name]))
                self._waiting.remove(name)
        return self._connection

    @contextmanager
    def beside(self) -> Iterator[Database]:
        """Yield the same database for another thread, without the memory tables of this one."""
        with self._connection.cursor() as cursor:
            cursor.execute("SET enable_progress_bar = false")
            database = Database(cursor)
            try:
                yield database
            finally:
                database.close()

    def scratch(self, name: str) -> Path:
        """Return a path for a temporary file that other users cannot read, until the database is closed."""
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix=SCRATCH)
        return Path(self._scratch.name) / name

    def close(self) -> None:
        """Delete the temporary files. The connection belongs to the caller."""
        if self._scratch is not None:
            self._scratch.cleanup()

    def interrupt(self) -> None:
        """Interrupt the running statement, from another thread. The statement raises."""
        with suppress(duckdb.ConnectionException):  # closed meanwhile
            self._connection.interrupt()

    def register(self, name: str, table: object) -> None:
        self._free()
        self._connection.register(name, table)

    def unregister(self, name: str) -> None:
        self._free()
        self._connection.unregister(name)

    def _free(self) -> None:
        """Release a result that is not read to its end, because DuckDB 2 registers nothing while one is open."""
        abort = getattr(self._connection, "abort", None)
        if abort is not None:
            abort()

    def hold(self, columns: Columns) -> str:
        """Store a table in memory, and return its name."""
        name = f"h{len(self._tables)}"
        self._tables[name] = columns
        self._waiting.add(name)
        return name

    def columns(self, name: str) -> Columns | None:
        return self._tables.get(name)


def count(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def chosen(columns: Columns, names: Sequence[str]) -> Columns:
    return {name: columns[name] for name in names}


def taken(columns: Columns, rows: Longs | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Columns:
    """Return some of the rows, by index or by a mask. If the mask selects all rows, nothing is copied."""
    if rows.dtype == np.bool_ and rows.all():
        return columns
    return {name: column[rows] for name, column in columns.items()}


def united(tables: Sequence[Columns]) -> Columns:
    """Return the distinct rows of several tables with equal columns."""
    if len(tables) == 1:
        return distinct(tables[0])
    return distinct({name: np.concatenate([table[name] for table in tables]) for name in tables[0]})


def distinct(columns: Columns) -> Columns:
    """Return the distinct rows, in order."""
    if not count(columns):
        return columns
    code = _code(columns)
    if code is not None:
        if (code[1:] > code[:-1]).all():
            return columns
        return taken(columns, np.unique(code, return_index=True)[1])
    order = np.lexsort(list(columns.values())[::-1])
    ordered = taken(columns, order)
    new = np.ones(len(order), np.bool_)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in ordered.values()])
    return taken(ordered, new)


def values(column: Longs) -> Longs:
    """Return the distinct values of a column, ascending."""
    steps = column[1:] != column[:-1]
    if (column[1:] >= column[:-1]).all():
        return column[np.concatenate(([True], steps))] if len(column) else column
    return np.unique(column)


def ascending(columns: Columns, by: str) -> Columns:
    """Return the rows in ascending order of a column."""
    column = columns[by]
    return columns if (column[1:] >= column[:-1]).all() else taken(columns, column.argsort(kind="stable"))


def mapped(column: Longs, values: Mapping[int, int]) -> Longs:
    """Return the mapped value of each value; −1 if there is none."""
    if not values or not len(column):
        return np.full(len(column), -1, np.int64)
    if min(0, *values, int(column.min())) == 0 and (most := max(*values, int(column.max()))) < _FEW:
        table = np.full(most + 1, -1, np.int64)  # an index access; a search takes several times as long
        table[list(values)] = list(values.values())
        return np.asarray(table[column], np.int64)
    keys = np.array(sorted(values), np.int64)
    places = np.minimum(np.searchsorted(keys, column), len(keys) - 1)
    to = np.array([values[key] for key in sorted(values)], np.int64)
    return np.where(keys[places] == column, to[places], -1)


def matched(refs: Longs, keys: Longs, *, most: int) -> tuple[Longs, Longs] | None:
    """Return the pairs of equal `refs` and `keys` (ascending), as indexes into both. None if there are more than `most`."""
    low, high = np.searchsorted(keys, refs, "left"), np.searchsorted(keys, refs, "right")
    counts = high - low
    if int(counts.sum()) > most:
        return None
    left = np.repeat(np.arange(len(refs), dtype=np.int64), counts)
    within = np.arange(len(left), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    return left, np.repeat(low, counts) + within


def _code(columns: Columns) -> Longs | None:
    """Return each row as one integer, in the same order. None if the values do not fit."""
    parts: list[tuple[Longs, int, int]] = []
    for column in columns.values():
        least = int(column.min())
        bits = (int(column.max()) - least).bit_length()
        if bits:
            parts.append((column, least, bits))
    if len(parts) == 1:
        return parts[0][0]
    if sum(bits for _, _, bits in parts) > _BITS:
        return None
    code = np.zeros(count(columns), np.int64)
    for column, least, bits in parts:
        code <<= bits
        code |= column - least
    return code
