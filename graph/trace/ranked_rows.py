"""Ranks the rows of a dataset by a quality: an expression of SQL over the columns of a row, or a function of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import FILE, ROW
from headwater.graph.records import AssociationStore, DataRoots, uri_of
from headwater.graph.trace.datasets import keep_readable_files
from headwater.graph.trace.predicate import check_predicate
from headwater.graph.trace.rows_elsewhere import ReadAs
from headwater.graph.trace.selection import list_column_types, select_records
from headwater.graph.trace.session import Session
from headwater.graph.trace.tracer import get_tracer

MOST_ROWS = 2_000_000  # rows are ranked in memory
Quality = str | Callable[[Mapping[str, Any]], float | None]


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A row of a dataset and its quality. A row without a quality has None."""

    file: str
    row: int
    quality: float | None


def rank_rows(store: AssociationStore, tenant: str, read_as: ReadAs, quality: Quality, folder: Path | None = None) -> list[RankedRow]:
    """Return the rows of a dataset, the worst first, and rows without a quality last. `folder` has other files of the dataset.

    Raises:
        InvalidQueryError: the quality names a missing column, is not allowed, raises an error, or is no number.
        UnsupportedError: the files cannot be read, or have too many rows.
    """
    with get_tracer(store).session(tenant, DataRoots.of([folder]) if folder is not None else None) as session:
        table = _read(session, read_as, uri_of(folder) if folder is not None else read_as.place)
        if table is None:
            return []
        if session.count_rows(table) > MOST_ROWS:
            raise UnsupportedError(f"The dataset has more than {MOST_ROWS:,} rows, too many to rank.", hint="Rank a smaller result.")
        ranked = _rank_by_sql(session, table, quality) if isinstance(quality, str) else _rank_by_function(session, table, quality)
        found = [RankedRow(session.files[file].block.path, row, score) for file, row, score in ranked]
    return sorted(found, key=lambda each: (each.quality is None, each.quality or 0.0, each.file, each.row))


def _read(session: Session, read_as: ReadAs, place: str) -> str | None:
    listed = get_format(read_as.shape.format).list_files(session.look, place, read_as.shape) or ()
    files = keep_readable_files(session, [session.add_file(each.block, read_as.dataset, read_as.shape, each.partition) for each in listed])
    if session.incomplete:
        raise UnsupportedError("; ".join(f"{entry.what}: {entry.reason}" for entry in session.incomplete))
    return select_records(session, read_as.shape, files, predicate=None, rows=()) if files else None


def _rank_by_sql(session: Session, table: str, quality: str) -> list[tuple[int, int, float | None]]:
    expression = f"(\n{quality}\n)"
    try:
        check_predicate(session.database, f"{expression} IS NULL")
    except InvalidQueryError as error:
        reason = error.message.rpartition("': ")[2] or error.message
        raise InvalidQueryError(f"The quality {quality!r} is not an expression over one row: {reason}", field="quality") from error
    try:
        rows = session.database.execute(f"SELECT {FILE}, {ROW}, CAST({expression} AS DOUBLE) FROM {table}").fetchall()
    except duckdb.BinderException as error:
        columns = ", ".join(name for name, _ in list_column_types(session, table))
        raise InvalidQueryError(
            f"The quality {quality!r} cannot be computed: {_first_line(error)}.", field="quality", hint=f"The columns are {columns}."
        ) from error
    except duckdb.Error as error:
        raise InvalidQueryError(
            f"The quality {quality!r} raises an error: {_first_line(error)}.", field="quality", hint="It must give a number for each row."
        ) from error
    return [(file, row, _number(score)) for file, row, score in rows]


def _rank_by_function(
    session: Session, table: str, quality: Callable[[Mapping[str, Any]], float | None]
) -> list[tuple[int, int, float | None]]:
    names = [name for name, _ in list_column_types(session, table)]
    columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)
    found = []
    for file, row, *values in session.database.execute(f"SELECT {FILE}, {ROW}, {columns} FROM {table}").fetchall():
        record = dict(zip(names, values, strict=True))
        try:
            score = quality(record)
            found.append((file, row, None if score is None else _number(float(score))))
        except Exception as error:
            raise InvalidQueryError(
                f"The quality function raised {type(error).__name__}: {error} for row {row} of {session.files[file].block.path}.",
                field="quality",
                hint="It must return a number, or None for a row that has no quality.",
            ) from error
    return found


def _number(score: float | None) -> float | None:
    return None if score is None or math.isnan(score) else score


def _first_line(error: duckdb.Error) -> str:
    return str(error).partition("\n")[0]
