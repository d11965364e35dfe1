"""The records that a trace begins with, and records read back for an answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from headwater.errors import InvalidQueryError, NotFoundError, SourceChangedError, UnsupportedError
from headwater.graph.records import uri_of
from headwater.graph.trace.answer import Grain, TracedRecord
from headwater.graph.trace.predicate import checked, explained
from headwater.graph.trace.reader import FILE, LINE, ROW, quoted
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.shapes import Shape


def select(session: Session, shape: Shape, files: Sequence[KnownFile], *, where: str | None, rows: Sequence[tuple[str, int]]) -> str:
    """Records by predicate or by place: a table of `__file`, `__row`, `__line` and the columns.

    Raises:
        InvalidQueryError: the predicate cannot be used, or a row is beyond its file.
        NotFoundError: `rows` names a file that is not the dataset's.
    """
    wanted = _wanted(session, files, rows) if rows else None
    read = [file for file in files if wanted is None or file.number in {number for number, _ in wanted[1]}]
    table = session.reader.table(session.database, shape, [file.readable() for file in read], wanted[0] if wanted else None)
    if wanted is not None and session.count(table) < len(set(wanted[1])):
        found = set(session.database.execute(f"SELECT {FILE}, {ROW} FROM {table}").fetchall())
        number, row = min(set(wanted[1]) - found)
        raise InvalidQueryError(
            f"{session.files[number].block.path} has no record {row}.", field="rows", hint="Rows count from 0, without a header."
        )
    if where is None:
        return table
    predicate = checked(session.database, where)
    columns = [name for name in column_names(session, table) if name not in {FILE, ROW, LINE}]
    try:
        return session.table(f"SELECT * FROM {table} WHERE {predicate}")
    except duckdb.Error as error:
        raise explained(error, where, columns) from None


def records(session: Session, table: str, limit: int | None = None) -> list[TracedRecord]:
    """The records of such a table, by file and row."""
    return list(_placed(session, table, limit).values())


def _placed(session: Session, table: str, limit: int | None = None) -> dict[tuple[int, int], TracedRecord]:
    """The records of a table by number of file and row, in that order."""
    cut = "" if limit is None else f" LIMIT {limit:d}"
    cursor = session.database.execute(f"SELECT * FROM {table} ORDER BY {FILE}, {ROW}{cut}")
    names = [column[0] for column in cursor.description or ()][3:]  # the first three are __file, __row and __line
    found: dict[tuple[int, int], TracedRecord] = {}
    for number, row, line, *values in cursor.fetchall():
        file = session.files[number]
        found[number, row] = TracedRecord(file.dataset, file.block.path, row, Grain.RECORD, dict(zip(names, values, strict=True)), line)
    return found


def read_back(session: Session, places: Sequence[tuple[int, int]]) -> list[TracedRecord]:
    """Records by number of file and row, with their values, in that order; what cannot be read any more is said, and has no values."""
    found: dict[tuple[int, int], TracedRecord] = {}
    shapes: dict[Shape, dict[int, KnownFile]] = {}
    for number in {number for number, _ in places}:
        file = session.files[number]
        if file.problem:
            session.say(file.block.path, file.problem, "unreadable")
        else:
            shapes.setdefault(file.shape, {})[number] = file
    for shape, files in shapes.items():
        wanted = places_table(session, [place for place in places if place[0] in files])
        try:
            table = session.reader.table(session.database, shape, [file.readable() for file in files.values()], wanted)
        except (SourceChangedError, UnsupportedError, OSError, duckdb.Error) as error:
            what = ", ".join(sorted(file.block.path for file in files.values()))
            session.say(what, f"its records cannot be read: {error}", "unreadable")
        else:
            found |= _placed(session, table)
    bare = {
        place: TracedRecord(session.files[place[0]].dataset, session.files[place[0]].block.path, place[1], Grain.RECORD) for place in places
    }
    return [found.get(place, bare[place]) for place in places]


def column_names(session: Session, table: str) -> list[str]:
    """The columns of a table."""
    return [column[0] for column in session.database.execute(f"SELECT * FROM {table} LIMIT 0").description or ()]


def column_types(session: Session, table: str) -> list[tuple[str, str]]:
    """Names and types of the dataset's columns in a table of records."""
    described = session.database.execute(f"DESCRIBE {quoted(table)}").fetchall()
    return [(str(entry[0]), str(entry[1])) for entry in described if entry[0] not in {FILE, ROW, LINE}]


def _wanted(session: Session, files: Sequence[KnownFile], rows: Sequence[tuple[str, int]]) -> tuple[str, list[tuple[int, int]]]:
    by_path = {file.block.path: file for file in files}
    found: list[tuple[int, int]] = []
    for path, row in rows:
        file = by_path.get(uri_of(path)) or by_path.get(uri_of(Path(os.path.abspath(path))))
        if file is None:
            raise NotFoundError(f"{path} is no file of this dataset.", hint=f"It has {', '.join(sorted(by_path)[:5]) or 'none'}.")
        if row < 0:
            raise InvalidQueryError(f"{path} has no record {row}.", field="rows", hint="Rows count from 0, without a header.")
        found.append((file.number, row))
    return places_table(session, found), found


def places_table(session: Session, places: Sequence[tuple[int, int]]) -> str:
    """Places as a table `file, row`."""
    name = session.name()
    columns = {key: pa.array([place[side] for place in places], pa.int64()) for side, key in enumerate(("file", "row"))}
    session.database.register(name, pa.table(columns))
    return name
