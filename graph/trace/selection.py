"""Selects the records that a trace begins with, and reads the values of records for an answer."""

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
from headwater.graph.files.footers import Footer, make_parquet_error, read_footers
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import FILE, LINE, ROW, WantedRows
from headwater.graph.files.shapes import Shape
from headwater.graph.records import uri_of
from headwater.graph.storage.duck import faults
from headwater.graph.trace.answer import Grain, TracedRecord
from headwater.graph.trace.predicate import check_predicate, explain_error, list_column_names
from headwater.graph.trace.session import KnownFile, Session

_MOST_DOUBTS = 100  # doubtful rows of a table that an answer lists one by one

Place = tuple[int, int]  # number of the file, row in it


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """Records with their values, by place, and the names of their columns."""

    columns: Sequence[str]
    records: Mapping[Place, TracedRecord]


def select_records(
    session: Session, shape: Shape, files: Sequence[KnownFile], *, predicate: str | None, rows: Sequence[tuple[str, int]]
) -> str:
    """Select records by predicate or by place, as a table of `__file`, `__row`, `__line` and the columns.

    Raises:
        InvalidQueryError: the predicate cannot be used, or a row is beyond its file.
        NotFoundError: `rows` names a file that does not belong to the dataset.
    """
    places = find_places(files, rows)
    read_files = [file for file in files if not rows or file.number in {number for number, _ in places}]
    shapes = group_by_shape(shape, read_files) if rows else {shape: read_files}
    if len(shapes) > 1:
        raise InvalidQueryError("The files of these rows were written in several shapes.", field="where", hint="Name rows alone.")
    shape = next(iter(shapes), shape)
    if predicate is not None and not rows:
        query = session.reader.make_query(session.database, shape, [file.make_read_file() for file in read_files])
        _report_left_out(session, read_files)
        return _filter_records(session, shape, read_files, *query, predicate)
    table = session.reader.make_table(
        session.database, shape, [file.make_read_file() for file in read_files], _group_rows(places) if rows else None
    )
    if rows and session.count_rows(table) < len(set(places)):
        _check_found(session, places, session.database.execute(f"SELECT {FILE}, {ROW} FROM {table}").fetchall())
    return table if predicate is None else _filter_records(session, shape, read_files, f"FROM {table}", [], predicate)


def read_places(
    session: Session, shape: Shape, files: Sequence[KnownFile], rows: Sequence[tuple[str, int]], *, values: bool = True
) -> ReadRecords:
    """Read a few records by file and row, without a table. Without `values`, only the footers of Parquet files are read.

    Raises:
        InvalidQueryError: a row is beyond its file.
        NotFoundError: `rows` names a file that does not belong to the dataset.
    """
    places = find_places(files, rows)
    read_files = [file for file in files if file.number in {number for number, _ in places}]
    read_shape = _check_places if get_format(shape.format).names_columns and not values else _read_shape
    parts = [
        read_shape(
            session.database, session, own_shape, in_shape, [place for place in places if place[0] in {file.number for file in in_shape}]
        )
        for own_shape, in_shape in group_by_shape(shape, read_files).items()
    ]
    result = ReadRecords(
        list(dict.fromkeys(name for part in parts for name in part.columns)),
        {own_place: record for part in parts for own_place, record in part.records.items()},
    )
    if get_format(shape.format).has_gaps:  # every number names a record, even if its row is gone
        _report_doubts(session, read_files)
        return ReadRecords(result.columns, {place: result.records.get(place) or _make_bare_record(session, place) for place in places})
    _check_found(session, places, result.records)
    return result


def group_by_shape(shape: Shape, files: Sequence[KnownFile]) -> dict[Shape, list[KnownFile]]:
    """Group files by the shape in which to read them: the dataset's shape, or the file's own shape for line formats."""
    files_by_shape: dict[Shape, list[KnownFile]] = {}
    for file in files:
        files_by_shape.setdefault(file.shape if get_format(shape.format).shaped_by_file else shape, []).append(file)
    return files_by_shape


def list_records(session: Session, table: str, limit: int | None = None) -> list[TracedRecord]:
    limit_clause = "" if limit is None else f" LIMIT {limit:d}"
    return list(
        _fetch_records(session, session.database.execute(f"SELECT * FROM {table} ORDER BY {FILE}, {ROW}{limit_clause}")).records.values()
    )


def _fetch_records(session: Session, cursor: duckdb.DuckDBPyConnection) -> ReadRecords:
    names = [column[0] for column in cursor.description or ()][3:]  # the first three are __file, __row and __line
    records_by_place: dict[Place, TracedRecord] = {}
    with faults():
        rows = cursor.fetchall()
    for number, row, line, *values in sorted(rows, key=itemgetter(0, 1)):
        file = session.files[number]
        records_by_place[number, row] = TracedRecord(
            file.dataset, file.block.path, row, Grain.RECORD, dict(zip(names, values, strict=True)), line
        )
    return ReadRecords(names, records_by_place)


def read_values(session: Session, places: Sequence[tuple[int, int]]) -> list[TracedRecord]:
    """Read the records at places (number of the file, row), in that order. Report unreadable records, and return them without values."""
    shapes: dict[Shape, list[KnownFile]] = {}
    for number in dict.fromkeys(number for number, _ in places):
        file = session.files[number]
        if file.problem:
            session.report(file.block.path, file.problem, "unreadable")
        else:
            shapes.setdefault(file.shape, []).append(file)
    records_by_place: dict[Place, TracedRecord] = {}
    for files, result in zip(shapes.values(), _read_shapes(session, shapes, places), strict=True):
        if isinstance(result, ReadRecords):
            records_by_place |= result.records
        else:
            paths = ", ".join(sorted(file.block.path for file in files))
            session.report(paths, f"its records cannot be read: {result}", "unreadable")
    _report_doubts(session, [file for files in shapes.values() for file in files])
    return [records_by_place.get(place) or _make_bare_record(session, place) for place in places]


def _report_doubts(session: Session, files: Sequence[KnownFile]) -> None:
    """Report rows of database tables that are missing now, or may differ from what the run read."""
    for file in files:
        doubts = file.list_doubts()
        for row, reason in list(doubts.items())[:_MOST_DOUBTS]:
            session.report(file.block.path if row < 0 else f"{file.block.path}, row {row}", reason, "unreadable")
        if len(doubts) > _MOST_DOUBTS:
            session.report(file.block.path, f"so it is with {len(doubts) - _MOST_DOUBTS:,} more of its rows", "unreadable")


def _report_left_out(session: Session, files: Sequence[KnownFile]) -> None:
    """Report rows of database tables on which a predicate could not be evaluated."""
    for file in files:
        doubts = file.list_doubts()
        if doubts.get(-1):
            session.report(file.block.path, doubts[-1], "superset")
        rows = [row for row in doubts if row >= 0]
        if rows:
            message = f"{len(rows):,} of its rows, such as {min(rows)}, were left out: {doubts[min(rows)]}"
            session.report(file.block.path, message, "missing")


def list_without_values(session: Session, places: Sequence[Place]) -> list[TracedRecord]:
    """Return the records without values. Report files that have changed, because their rows may be others now."""
    for number in dict.fromkeys(number for number, _ in places):
        file = session.files[number]
        if get_format(file.shape.format).in_files and file.changed:
            session.report(file.block.path, file.changed, "unreadable")
    return [_make_bare_record(session, place) for place in places]


def _make_bare_record(session: Session, place: Place) -> TracedRecord:
    file = session.files[place[0]]
    return TracedRecord(file.dataset, file.block.path, place[1], Grain.RECORD)


def _filter_records(
    session: Session, shape: Shape, files: Sequence[KnownFile], query: str, parameters: list[object], condition: str
) -> str:
    predicate = check_predicate(session.database, condition)
    try:
        description = session.database.execute(f"SELECT * FROM ({query}) LIMIT 0", parameters).description or ()
    except duckdb.InvalidInputException as error:
        raise make_parquet_error(error) from error
    get_format(shape.format).check_names(column[0] for column in description)
    if equal_names := _find_equal_names(session, shape, files, [column[0].lower() for column in description]):
        _check_names(session, predicate, equal_names)
    try:
        return session.make_table(f"SELECT * FROM ({query}) WHERE ({predicate}){_exclude_deleted_rows(session, files)}", parameters)
    except (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise  # a fault of a file or of the process, not of the predicate
    except duckdb.Error as error:
        raise explain_error(error, condition, [column[0] for column in description if column[0] not in {FILE, ROW, LINE}]) from None


def _exclude_deleted_rows(session: Session, files: Sequence[KnownFile]) -> str:
    """Return SQL that excludes deleted rows of the dataset, or an empty string if there are none."""
    left_out = {file.number: session.deleted_rows[file.number] for file in files if file.number in session.deleted_rows}
    if not left_out:
        return ""
    numbers = [np.full(len(rows), number, np.int64) for number, rows in left_out.items()]
    name = session.keep_in_memory({"file": np.concatenate(numbers), "row": np.concatenate(list(left_out.values()))})
    return f" AND NOT EXISTS (SELECT 1 FROM {name} o WHERE o.file = {FILE} AND o.row = {ROW})"


def _find_equal_names(session: Session, shape: Shape, files: Sequence[KnownFile], names: Sequence[str]) -> set[str]:
    """Return column names, in lower case, that several columns of a file share except for case.

    DuckDB renames the second column, for example from `a` to `a_1`. `names` are DuckDB's names.
    """
    if not any(number.isdigit() and stem in names for stem, _, number in (name.rpartition("_") for name in names)):
        return set()
    name_lists = [[name for name, _ in shape.columns]]
    if get_format(shape.format).names_columns:
        known_footers = read_footers(session.database, [file.make_read_file() for file in files])
        name_lists = [[name for name, _ in footer.columns] for footer in known_footers]
    return {name for names_of_file in name_lists for name, times in Counter(map(str.lower, names_of_file)).items() if times > 1}


def _check_names(session: Session, predicate: str, equal_names: Collection[str]) -> None:
    """Check that every column in a predicate is unambiguous. Of two columns that differ in case alone, DuckDB would read the first."""
    if ambiguous_names := sorted(list_column_names(session.database, predicate).intersection(equal_names)):
        raise InvalidQueryError(
            f"{ambiguous_names[0]} is the name of several columns, which differ in case alone.",
            field="where",
            hint="Name records by file and row.",
        )


def _read_shapes(session: Session, shapes: Mapping[Shape, Sequence[KnownFile]], places: Sequence[Place]) -> list[ReadRecords | Exception]:
    """Read records of several datasets in parallel. If records of a shape cannot be read, its result is the exception."""

    def read(shape: Shape) -> ReadRecords | Exception:
        numbers = {file.number for file in shapes[shape]}
        try:
            with session.database.beside() as database:
                return _read_shape(database, session, shape, shapes[shape], [place for place in places if place[0] in numbers])
        except (SourceChangedError, UnsupportedError, OSError, duckdb.Error) as error:
            return error

    if len(shapes) < 2:
        return list(map(read, shapes))
    with ThreadPoolExecutor(min(len(shapes), os.cpu_count() or 1)) as pool:
        return list(pool.map(read, shapes))


def _read_shape(database: Database, session: Session, shape: Shape, files: Sequence[KnownFile], places: Sequence[Place]) -> ReadRecords:
    select, parameters = session.reader.make_query(database, shape, [file.make_read_file() for file in files], _group_rows(places))
    result = _fetch_records(session, database.execute(select, parameters))
    get_format(shape.format).check_names(result.columns)
    return result


def _check_places(database: Database, session: Session, shape: Shape, files: Sequence[KnownFile], places: Sequence[Place]) -> ReadRecords:
    known_footers = read_footers(database, [file.make_read_file() for file in files])
    rows = {file.number: footer.rows for file, footer in zip(files, known_footers, strict=True)}
    existing_places = sorted({place for place in places if place[1] < rows[place[0]]})
    return ReadRecords(_list_footer_names(known_footers, shape), {place: _make_bare_record(session, place) for place in existing_places})


def list_own_names(session: Session, shape: Shape, files: Sequence[KnownFile], names: Sequence[str]) -> Sequence[str]:
    """Return the names of columns in the files. DuckDB's `names` differ if two columns are equal except for case."""
    if not get_format(shape.format).names_columns:
        return names
    return _list_footer_names(read_footers(session.database, [file.make_read_file() for file in files]), shape)


def _list_footer_names(known_footers: Sequence[Footer], shape: Shape) -> list[str]:
    return list(dict.fromkeys([*(name for footer in known_footers for name, _ in footer.columns), *(name for name, _ in shape.partitions)]))


def list_columns(session: Session, table: str) -> list[str]:
    return [column[0] for column in session.database.execute(f"SELECT * FROM {table} LIMIT 0").description or ()]


def list_column_types(session: Session, table: str) -> list[tuple[str, str]]:
    description = session.database.execute(f"DESCRIBE {quoted(table)}").fetchall()
    return [(str(entry[0]), str(entry[1])) for entry in description if entry[0] not in {FILE, ROW, LINE}]


def find_places(files: Sequence[KnownFile], rows: Sequence[tuple[str, int]]) -> list[Place]:
    """Return the records that a request names, as number of the file and row.

    Raises:
        InvalidQueryError: a row is less than 0.
        NotFoundError: a file does not belong to the dataset.
    """
    by_path = {file.block.path: file for file in files}
    places: list[Place] = []
    for path, row in rows:
        file = by_path.get(uri_of(path)) or by_path.get(uri_of(Path(os.path.abspath(path))))
        if file is None:
            raise NotFoundError(f"{path} is no file of this dataset.", hint=f"It has {', '.join(sorted(by_path)[:5]) or 'none'}.")
        if row < 0:
            raise InvalidQueryError(f"{path} has no record {row}.", field="rows", hint="Rows count from 0, without a header.")
        places.append((file.number, row))
    return places


def check_rows(session: Session, places: Sequence[Place], counts: Mapping[int, int]) -> None:
    """Check that no row is beyond the end of its file. `counts` has the number of rows of some files."""
    _check_found(session, places, [place for place in places if place[1] < counts.get(place[0], place[1] + 1)])


def _check_found(session: Session, places: Sequence[Place], existing_places: Collection[Place]) -> None:
    if missing_places := set(places).difference(existing_places):
        number, row = min(missing_places)
        raise InvalidQueryError(
            f"{session.files[number].block.path} has no record {row}.", field="rows", hint="Rows count from 0, without a header."
        )


def _group_rows(places: Sequence[Place]) -> WantedRows:
    rows: dict[int, set[int]] = {}
    for number, row in places:
        rows.setdefault(number, set()).add(row)
    return {number: np.array(sorted(of_file), np.int64) for number, of_file in rows.items()}
