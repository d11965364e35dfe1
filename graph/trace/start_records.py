"""Selects the records with which a trace begins: by a predicate, or by file and row, of the present or of an earlier version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import FILE, ROW
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.answer import TracedRecord, TraceRequest
from headwater.graph.trace.datasets import (
    Dataset,
    Version,
    apply_writer_shapes,
    find_named_files,
    find_shape,
    keep_readable_files,
    list_current_files,
)
from headwater.graph.trace.partition_locations import find_files_outside
from headwater.graph.trace.selection import (
    check_rows,
    find_places,
    list_columns,
    list_own_names,
    list_records,
    list_without_values,
    read_places,
    select_records,
)
from headwater.graph.trace.session import KnownFile, Session


def select_start(session: Session, dataset: Dataset, request: TraceRequest, *, by_origin: bool) -> tuple[str, Sequence[TracedRecord]]:
    """Select the records to begin with, as a table `origin, file, row` and as records for the answer.

    If the dataset cannot be read here, records are selected by file and row, without reading them.
    """
    if dataset.version is not None:
        return _select_version_records(session, dataset, dataset.version, request, by_origin=by_origin)
    shape, _ = find_shape(session, dataset)
    by_place = get_format(shape.format).has_snapshots and request.rows  # a run knows the file, even if the table no longer has it
    try:
        files_to_read = (
            find_named_files(session, dataset, shape, [path for path, _ in request.rows])
            if by_place
            else _list_files(session, dataset, shape)
        )
    except UnsupportedError as error:
        if not request.rows or request.where is not None:
            hint = error.hint or ""
            if "by file and row" not in hint:
                hint = f"Name its records by file and row. {hint}".rstrip()
            raise UnsupportedError(error.message, hint=hint) from error
        paths = [path for path, _ in request.rows]
        named_blocks = apply_writer_shapes(session, dataset, find_named_files(session, dataset, shape, paths), paths)
        return _list_named_records(session, named_blocks, request, by_origin=by_origin)
    if not by_place:
        paths = [path for path, _ in request.rows]
        files_to_read = apply_writer_shapes(
            session, dataset, [*files_to_read, *find_files_outside(session, dataset, shape, files_to_read, paths)], paths
        )
    files = keep_readable_files(session, files_to_read)
    begin, columns, selected = _start_table(session, shape, files, request, by_origin=by_origin)
    if request.column is not None and not request.forward:
        start_files = [session.files[number] for number in session.list_files_of([begin])]
        _check_column(
            request.column, dataset, (list_own_names(session, shape, column_files, columns) for column_files in (start_files, files))
        )
    return begin, selected


def _select_version_records(
    session: Session, dataset: Dataset, version: Version, request: TraceRequest, *, by_origin: bool
) -> tuple[str, Sequence[TracedRecord]]:
    """Select records of an earlier version. If a file was deleted or changed, records are selected by row number only.

    Raises:
        UnsupportedError: a predicate cannot select among records that no longer exist.
    """
    files = version.files
    if request.rows:
        places = find_places(files, request.rows)
        for number, row in places:
            if number in session.deleted_rows and row in session.deleted_rows[number]:
                raise InvalidQueryError(f"{dataset.name} had no row {row} of {session.files[number].block.path} then: it was deleted.")
        numbers = {number for number, _ in places}
        files = [file for file in files if file.number in numbers]
    unreadable_files = [file for file in files if file.problem]
    if unreadable_files and request.where is None:
        return _list_named_records(session, files, request, by_origin=by_origin)
    if unreadable_files and not request.rows and request.where is not None and request.where.strip().lower() == "true" and version.rows:
        return _list_version_records(session, version, by_origin=by_origin, limit=request.limit)
    if unreadable_files and (len(unreadable_files) == len(files) or request.rows):
        raise UnsupportedError(
            f"{dataset.name} cannot be searched as of {version.as_of.at}: {unreadable_files[0].block.path}: {unreadable_files[0].problem}.",
            hint="Name its records by file and row (--row FILE:N), or all of them (--where true).",
        )
    shapes = {(file.shape.format, file.shape.options) for file in files} if request.where is not None else set()
    if len(shapes) > 1:
        raise UnsupportedError(
            f"The files of {dataset.name} as of {version.as_of.at} are of several formats.", hint="Name records by file and row."
        )
    readable = keep_readable_files(session, files)
    begin, columns, selected = _start_table(session, version.shape, readable, request, by_origin=by_origin)
    if request.column is not None and not request.forward:
        _check_column(request.column, dataset, [list_own_names(session, version.shape, readable, columns)])
    return begin, selected


def _list_version_records(session: Session, version: Version, *, by_origin: bool, limit: int) -> tuple[str, Sequence[TracedRecord]]:
    counts = [version.rows[file.number] for file in version.files]
    file = np.repeat(np.array([file.number for file in version.files], np.int64), counts)
    row = np.concatenate([np.arange(count, dtype=np.int64) for count in counts] or [np.empty(0, np.int64)])
    begin = session.keep_in_memory(
        {"origin": np.arange(len(file), dtype=np.int64) if by_origin else np.zeros(len(file), np.int64), "file": file, "row": row}
    )
    first = list(zip(file[:limit].tolist(), row[:limit].tolist(), strict=True))
    return begin, [] if by_origin else list_without_values(session, first)


def _list_files(session: Session, dataset: Dataset, shape: Shape) -> list[KnownFile]:
    files = list_current_files(session, dataset, shape)
    file_format = get_format(shape.format)
    if file_format.in_files and file_format.unreadable_reason:
        raise UnsupportedError(f"{file_format.unreadable_reason.capitalize()}.")
    return files


def _list_named_records(
    session: Session, files: Sequence[KnownFile], request: TraceRequest, *, by_origin: bool
) -> tuple[str, Sequence[TracedRecord]]:
    places = sorted(set(find_places(files, request.rows)))
    writer_of_block = session.store.catalog.writers(session.tenant, [file.block for file in files])
    rows = {
        entry.block: entry.rows
        for capture in map(session.get_capture, set(writer_of_block.values()))
        if capture.plan.sink is not None and not capture.plan.sink.is_placed
        for entry in capture.files
    }
    check_rows(session, places, {file.number: rows[file.block] for file in files if file.block in rows})
    for file in files:
        session.report(file.block.path, file.problem or "it was not read", "unreadable")
    begin = session.keep_in_memory(_start_columns(places, by_origin=by_origin))
    return begin, [] if by_origin else list_without_values(session, places)[: request.limit]


def _start_columns(places: Iterable[tuple[int, int]], *, by_origin: bool) -> Columns:
    file, row = np.array(list(places), np.int64).T
    return {"origin": np.arange(len(file), dtype=np.int64) if by_origin else np.zeros(len(file), np.int64), "file": file, "row": row}


def _check_column(column_name: str, dataset: Dataset, columns: Iterable[Sequence[str]]) -> None:
    names: Sequence[str] = ()
    for names in columns:
        if column_name.lower() in {name.lower() for name in names}:
            return
    shown_names = ", ".join(name for name in names if not name.startswith("__"))
    raise InvalidQueryError(f"{dataset.name} has no column {column_name}.", field="column", hint=f"It has {shown_names}.")


def _start_table(
    session: Session, shape: Shape, files: Sequence[KnownFile], request: TraceRequest, *, by_origin: bool
) -> tuple[str, Sequence[str], Sequence[TracedRecord]]:
    if request.rows and request.where is None:
        read_records = read_places(session, shape, files, request.rows, values=request.selected_values)
        begin = session.keep_in_memory(_start_columns(read_records.records, by_origin=by_origin))
        return begin, read_records.columns, [] if by_origin else list(read_records.records.values())[: request.limit]
    selection = select_records(session, shape, files, predicate=request.where, rows=request.rows)
    place = f"dense_rank() OVER (ORDER BY {FILE}, {ROW}) - 1" if by_origin else "0::BIGINT"
    begin = session.make_table(f"SELECT DISTINCT {place} AS origin, {FILE} AS file, {ROW} AS row FROM {selection}")
    return begin, list_columns(session, selection), [] if by_origin else list_records(session, selection, request.limit)
