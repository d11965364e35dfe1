"""The records that a trace begins with, and records read back for an answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import duckdb
import numpy as np

from headwater.errors import InvalidQueryError, NotFoundError, SourceChangedError, UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import quoted
from headwater.graph.files.footers import Footer, footers, no_parquet
from headwater.graph.files.formats import format_of
from headwater.graph.files.reader import FILE, LINE, ROW, Wanted
from headwater.graph.files.shapes import Shape
from headwater.graph.records import uri_of
from headwater.graph.storage.duck import faults
from headwater.graph.trace.answer import Grain, TracedRecord
from headwater.graph.trace.predicate import checked, explained, mentioned
from headwater.graph.trace.session import KnownFile, Session

_MOST_DOUBTS = 100  # rows of a table that an answer tells one by one

Place = tuple[int, int]  # number of the file, row in it


@dataclass(frozen=True, slots=True)
class Read:
    """Records that were read, by place and in that order, and the columns that they have."""

    columns: Sequence[str]
    records: Mapping[Place, TracedRecord]


def select(session: Session, shape: Shape, files: Sequence[KnownFile], *, where: str | None, rows: Sequence[tuple[str, int]]) -> str:
    """Records by predicate or by place: a table of `__file`, `__row`, `__line` and the columns.

    Raises:
        InvalidQueryError: the predicate cannot be used, or a row is beyond its file.
        NotFoundError: `rows` names a file that is not the dataset's.
    """
    places = places_of(files, rows)
    read = [file for file in files if not rows or file.number in {number for number, _ in places}]
    shapes = _by_shape(shape, read) if rows else {shape: read}
    if len(shapes) > 1:
        raise InvalidQueryError("The files of these rows were written in several shapes.", field="where", hint="Name rows alone.")
    shape = next(iter(shapes), shape)
    if where is not None and not rows:
        query = session.reader.query(session.database, shape, [file.readable() for file in read])
        _say_left_out(session, read)
        return _where(session, shape, read, *query, where)
    table = session.reader.table(session.database, shape, [file.readable() for file in read], _wanted(places) if rows else None)
    if rows and session.count(table) < len(set(places)):
        _check_found(session, places, session.database.execute(f"SELECT {FILE}, {ROW} FROM {table}").fetchall())
    return table if where is None else _where(session, shape, read, f"FROM {table}", [], where)


def select_at(session: Session, shape: Shape, files: Sequence[KnownFile], rows: Sequence[tuple[str, int]], *, values: bool = True) -> Read:
    """The same for a few records by place, without a table; without `values`, of Parquet the footers tell what there is.

    Raises:
        InvalidQueryError: a row is beyond its file.
        NotFoundError: `rows` names a file that is not the dataset's.
    """
    places = places_of(files, rows)
    read = [file for file in files if file.number in {number for number, _ in places}]
    read_shape = _places_only if format_of(shape.format).names_columns and not values else _read
    parts = [
        read_shape(session.database, session, own, in_shape, [place for place in places if place[0] in {file.number for file in in_shape}])
        for own, in_shape in _by_shape(shape, read).items()
    ]
    found = Read(
        list(dict.fromkeys(name for part in parts for name in part.columns)),
        {at: one for part in parts for at, one in part.records.items()},
    )
    if format_of(shape.format).has_gaps:  # a record is there by its number, whatever became of it
        _say_doubts(session, read)
        return Read(found.columns, {place: found.records.get(place) or _bare(session, place) for place in places})
    _check_found(session, places, found.records)
    return found


def _by_shape(shape: Shape, files: Sequence[KnownFile]) -> dict[Shape, list[KnownFile]]:
    """Files by the shape to read them in: that of their dataset, or of line formats their own."""
    found: dict[Shape, list[KnownFile]] = {}
    for file in files:
        found.setdefault(file.shape if format_of(shape.format).shaped_by_file else shape, []).append(file)
    return found


def records(session: Session, table: str, limit: int | None = None) -> list[TracedRecord]:
    """The records of such a table, by file and row."""
    cut = "" if limit is None else f" LIMIT {limit:d}"
    return list(_fetched(session, session.database.execute(f"SELECT * FROM {table} ORDER BY {FILE}, {ROW}{cut}")).records.values())


def _fetched(session: Session, cursor: duckdb.DuckDBPyConnection) -> Read:
    """What a query of such a table's rows gives."""
    names = [column[0] for column in cursor.description or ()][3:]  # the first three are __file, __row and __line
    found: dict[Place, TracedRecord] = {}
    with faults():
        rows = cursor.fetchall()
    for number, row, line, *values in sorted(rows, key=itemgetter(0, 1)):
        file = session.files[number]
        found[number, row] = TracedRecord(file.dataset, file.block.path, row, Grain.RECORD, dict(zip(names, values, strict=True)), line)
    return Read(names, found)


def read_back(session: Session, places: Sequence[tuple[int, int]]) -> list[TracedRecord]:
    """Records by number of file and row, with their values, in that order; what cannot be read any more is said, and has no values."""
    shapes: dict[Shape, list[KnownFile]] = {}
    for number in dict.fromkeys(number for number, _ in places):
        file = session.files[number]
        if file.problem:
            session.say(file.block.path, file.problem, "unreadable")
        else:
            shapes.setdefault(file.shape, []).append(file)
    found: dict[Place, TracedRecord] = {}
    for files, read in zip(shapes.values(), _read_all(session, shapes, places), strict=True):
        if isinstance(read, Read):
            found |= read.records
        else:
            what = ", ".join(sorted(file.block.path for file in files))
            session.say(what, f"its records cannot be read: {read}", "unreadable")
    _say_doubts(session, [file for files in shapes.values() for file in files])
    return [found.get(place) or _bare(session, place) for place in places]


def _say_doubts(session: Session, files: Sequence[KnownFile]) -> None:
    """Say which rows of tables are not what a run read, or were not there, when they were read for this answer."""
    for file in files:
        doubts = file.doubts()
        for row, reason in list(doubts.items())[:_MOST_DOUBTS]:
            session.say(file.block.path if row < 0 else f"{file.block.path}, row {row}", reason, "unreadable")
        if len(doubts) > _MOST_DOUBTS:
            session.say(file.block.path, f"so it is with {len(doubts) - _MOST_DOUBTS:,} more of its rows", "unreadable")


def _say_left_out(session: Session, files: Sequence[KnownFile]) -> None:
    """Say of tables that a predicate is asked of which rows it cannot be asked."""
    for file in files:
        doubts = file.doubts()
        if doubts.get(-1):
            session.say(file.block.path, doubts[-1], "superset")
        rows = [row for row in doubts if row >= 0]
        if rows:
            what = f"{len(rows):,} of its rows, such as {min(rows)}, were left out: {doubts[min(rows)]}"
            session.say(file.block.path, what, "missing")


def unread(session: Session, places: Sequence[Place]) -> list[TracedRecord]:
    """The same without values. Of a file that has changed since it is said, as its records are not what they were."""
    for number in dict.fromkeys(number for number, _ in places):
        file = session.files[number]
        if format_of(file.shape.format).in_files and file.changed:
            session.say(file.block.path, file.changed, "unreadable")
    return [_bare(session, place) for place in places]


def _bare(session: Session, place: Place) -> TracedRecord:
    """A record without its values."""
    file = session.files[place[0]]
    return TracedRecord(file.dataset, file.block.path, place[1], Grain.RECORD)


def _where(session: Session, shape: Shape, files: Sequence[KnownFile], query: str, parameters: list[object], where: str) -> str:
    """A table of those rows of a query, which reads files, that fulfil a predicate."""
    predicate = checked(session.database, where)
    try:
        described = session.database.execute(f"SELECT * FROM ({query}) LIMIT 0", parameters).description or ()
    except duckdb.InvalidInputException as error:
        raise no_parquet(error) from error
    format_of(shape.format).check_names(column[0] for column in described)
    if alike := _alike(session, shape, files, [column[0].lower() for column in described]):
        _check_meant(session, predicate, alike)
    try:
        return session.table(f"SELECT * FROM ({query}) WHERE ({predicate}){_there(session, files)}", parameters)
    except (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise  # of a file, or of the process: not of the predicate
    except duckdb.Error as error:
        raise explained(error, where, [column[0] for column in described if column[0] not in {FILE, ROW, LINE}]) from None


def _there(session: Session, files: Sequence[KnownFile]) -> str:
    """SQL that leaves out rows which the dataset does not hold any more; nothing where there are none."""
    left_out = {file.number: session.left_out[file.number] for file in files if file.number in session.left_out}
    if not left_out:
        return ""
    numbers = [np.full(len(rows), number, np.int64) for number, rows in left_out.items()]
    name = session.hold({"file": np.concatenate(numbers), "row": np.concatenate(list(left_out.values()))})
    return f" AND NOT EXISTS (SELECT 1 FROM {name} o WHERE o.file = {FILE} AND o.row = {ROW})"


def _alike(session: Session, shape: Shape, files: Sequence[KnownFile], names: Sequence[str]) -> set[str]:
    """The names, in lower case, that several columns of a file have but for case. To DuckDB the second of `a` is `a_1`: among `names`."""
    if not any(number.isdigit() and stem in names for stem, _, number in (name.rpartition("_") for name in names)):
        return set()
    name_lists = [[name for name, _ in shape.columns]]
    if format_of(shape.format).names_columns:
        known = footers(session.database, [file.readable() for file in files])
        name_lists = [[name for name, _ in footer.columns] for footer in known]
    return {name for one in name_lists for name, times in Counter(map(str.lower, one)).items() if times > 1}


def _check_meant(session: Session, predicate: str, alike: Collection[str]) -> None:
    """See that a predicate names no column that differs from another in case alone: it would be about the first of them."""
    if unclear := sorted(mentioned(session.database, predicate).intersection(alike)):
        raise InvalidQueryError(
            f"{unclear[0]} is the name of several columns, which differ in case alone.", field="where", hint="Name records by file and row."
        )


def _read_all(session: Session, shapes: Mapping[Shape, Sequence[KnownFile]], places: Sequence[Place]) -> list[Read | Exception]:
    """Records of several datasets, which are read beside each other; in the place of what cannot be read the reason."""

    def read(shape: Shape) -> Read | Exception:
        numbers = {file.number for file in shapes[shape]}
        try:
            with session.database.beside() as database:
                return _read(database, session, shape, shapes[shape], [place for place in places if place[0] in numbers])
        except (SourceChangedError, UnsupportedError, OSError, duckdb.Error) as error:
            return error

    if len(shapes) < 2:
        return list(map(read, shapes))
    with ThreadPoolExecutor(min(len(shapes), os.cpu_count() or 1)) as pool:
        return list(pool.map(read, shapes))


def _read(database: Database, session: Session, shape: Shape, files: Sequence[KnownFile], places: Sequence[Place]) -> Read:
    select, parameters = session.reader.query(database, shape, [file.readable() for file in files], _wanted(places))
    read = _fetched(session, database.execute(select, parameters))
    format_of(shape.format).check_names(read.columns)
    return read


def _places_only(database: Database, session: Session, shape: Shape, files: Sequence[KnownFile], places: Sequence[Place]) -> Read:
    """The same records of Parquet files without their values."""
    known = footers(database, [file.readable() for file in files])
    rows = {file.number: footer.rows for file, footer in zip(files, known, strict=True)}
    found = sorted({place for place in places if place[1] < rows[place[0]]})
    return Read(_named_in(known, shape), {place: _bare(session, place) for place in found})


def own_names(session: Session, shape: Shape, files: Sequence[KnownFile], names: Sequence[str]) -> Sequence[str]:
    """Columns by their own names: of two in a file that differ in case alone, DuckDB gives the second another, which are `names`."""
    if not format_of(shape.format).names_columns:
        return names
    return _named_in(footers(session.database, [file.readable() for file in files]), shape)


def _named_in(known: Sequence[Footer], shape: Shape) -> list[str]:
    """The columns of files and of their folders, each once."""
    return list(dict.fromkeys([*(name for footer in known for name, _ in footer.columns), *(name for name, _ in shape.partitions)]))


def column_names(session: Session, table: str) -> list[str]:
    """The columns of a table."""
    return [column[0] for column in session.database.execute(f"SELECT * FROM {table} LIMIT 0").description or ()]


def column_types(session: Session, table: str) -> list[tuple[str, str]]:
    """Names and types of the dataset's columns in a table of records."""
    described = session.database.execute(f"DESCRIBE {quoted(table)}").fetchall()
    return [(str(entry[0]), str(entry[1])) for entry in described if entry[0] not in {FILE, ROW, LINE}]


def places_of(files: Sequence[KnownFile], rows: Sequence[tuple[str, int]]) -> list[Place]:
    """Records that a request names, by number of the file and row.

    Raises:
        InvalidQueryError: a row is less than 0.
        NotFoundError: a file is none of these.
    """
    by_path = {file.block.path: file for file in files}
    found: list[Place] = []
    for path, row in rows:
        file = by_path.get(uri_of(path)) or by_path.get(uri_of(Path(os.path.abspath(path))))
        if file is None:
            raise NotFoundError(f"{path} is no file of this dataset.", hint=f"It has {', '.join(sorted(by_path)[:5]) or 'none'}.")
        if row < 0:
            raise InvalidQueryError(f"{path} has no record {row}.", field="rows", hint="Rows count from 0, without a header.")
        found.append((file.number, row))
    return found


def check_rows(session: Session, places: Sequence[Place], counts: Mapping[int, int]) -> None:
    """See that no row lies beyond its file, where it is known how many it has (`counts`, by number of the file)."""
    _check_found(session, places, [place for place in places if place[1] < counts.get(place[0], place[1] + 1)])


def _check_found(session: Session, places: Sequence[Place], found: Collection[Place]) -> None:
    if missing := set(places).difference(found):
        number, row = min(missing)
        raise InvalidQueryError(
            f"{session.files[number].block.path} has no record {row}.", field="rows", hint="Rows count from 0, without a header."
        )


def _wanted(places: Sequence[Place]) -> Wanted:
    """Places as the reader takes them."""
    rows: dict[int, set[int]] = {}
    for number, row in places:
        rows.setdefault(number, set()).add(row)
    return {number: np.array(sorted(of_file), np.int64) for number, of_file in rows.items()}
