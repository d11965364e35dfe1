"""Links captures by files: finds the captures that wrote or read a file, and the columns that are needed there.

A file is identified by its path, length and modification time, so an overwritten file is another file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.associations import Behaviour, Operator, Sink, Source
from headwater.graph.duck.memory_tables import taken
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.model import NodeKind, node_id
from headwater.graph.trace.plan import Needed
from headwater.graph.trace.session import Capture, KnownFile, Session

Names = frozenset[str] | None  # columns of a dataset, in lower case; None: all


def find_writers(session: Session, files: Iterable[KnownFile]) -> dict[int, str]:
    """Return the capture that wrote each file in its present state, by the number of the file."""
    by_block = {file.block: file.number for file in files}
    writer_of_block = session.store.catalog.writers(session.tenant, by_block)
    return {by_block[block]: capture for block, capture in writer_of_block.items()}


def find_readers(session: Session, files: Iterable[KnownFile], goal_datasets: Collection[str] | None = None) -> dict[int, list[str]]:
    """Return the captures that read each file in its present state, by the number of the file.

    `goal_datasets` restricts the result to captures that wrote one of these datasets.
    """
    by_block = {file.block: file.number for file in files}
    readers_of_block = session.store.catalog.readers(session.tenant, by_block, goal_datasets)
    return {by_block[block]: captures for block, captures in readers_of_block.items()}


def find_files_of_dataset(session: Session, files: Iterable[KnownFile], dataset: str) -> set[int]:
    """Return the numbers of the files that a capture read as part of the dataset."""
    files_by_number = {file.number: file for file in files}
    numbers = set()
    for number, captures in find_readers(session, files_by_number.values()).items():
        for capture in map(session.get_capture, captures):
            sources = [source for source in capture.manifest.sources if _make_dataset_id(source) == dataset]
            if any(capture.files_of(source).of(files_by_number[number].block) is not None for source in sources):
                numbers.add(number)
    return numbers


def find_unread_files(session: Session, files: Iterable[KnownFile]) -> list[KnownFile]:
    """Return the files that no capture has read in their present state."""
    by_block = {file.block: file for file in files}
    read_blocks = session.store.catalog.read(session.tenant, by_block) if by_block else set()
    return [file for block, file in by_block.items() if block not in read_blocks]


def report_overwritten_file(session: Session, file: KnownFile, reader: Capture) -> None:
    """Report a file that a captured run wrote and another program overwrote before `reader` read it."""
    if session.store.catalog.was_written(session.tenant, file.block, reader.manifest.started):
        job = reader.manifest.run.job
        reason = f"it was written by a known run, and changed before job {job} read it; where that content came from is not known"
        session.report(file.block.path, reason, "missing")


def report_changed_file(session: Session, file: KnownFile) -> None:
    """Report a file that has changed since a capture read it. The lineage of its earlier records is lost.

    A file that a captured run has written since then is not reported.
    """
    if find_writers(session, [file]):
        return
    if (job := session.store.catalog.last_reader(session.tenant, file.block)) is not None:
        session.report(file.block.path, f"it has changed since job {job} read it; what became of its records is not known", "missing")


def list_datasets(capture: Capture) -> tuple[str | None, dict[int, str]]:
    """Return the node id of the dataset that a capture wrote, and the node ids of the datasets that it read, by scan."""
    sink = capture.manifest.sink
    names = {source.source: _make_dataset_id(source) for source in capture.manifest.sources}
    scans = {operator.id: names[operator.source] for operator in list_scans(capture) if operator.source is not None}
    return (_make_dataset_id(sink) if sink else None), scans


def list_scans(capture: Capture) -> list[Operator]:
    return [operator for operator in capture.plan.operators.values() if operator.behaviour is Behaviour.SOURCE]


def list_needed_names(scan: Operator, attributes: Needed) -> Names:
    """Return the names of the columns that a scan must read from its file. None stands for all columns."""
    return None if attributes is None else frozenset(column.name.lower() for column in scan.attributes if column.attr in attributes)


def translate_to_writer(source: Source, sink: Sink, names: Names) -> Names:
    """Return the names of a reader's columns at the writer of the file. None stands for all columns."""
    return None if names is None else get_format(source.format).translate_to_writer(source, sink, names)


def find_attributes(sink: Sink, names: Names) -> Needed:
    """Return the attributes of the written columns with these names. None stands for all columns."""
    if names is None or not sink.columns:
        return None
    return frozenset(column.attr for column in sink.columns if column.name.lower() in names)


def _make_dataset_id(part: Source | Sink) -> str:
    return node_id(NodeKind.DATASET, part.dataset.namespace, part.dataset.name)


def has_same_numbering(sink: Sink, source: Source) -> bool:
    """Return whether the writer and the reader give the same numbers to records.

    A header that only one of them skips shifts all numbers.
    """
    try:
        return get_format(sink.format).describe_numbering(sink.options) == get_format(source.format).describe_numbering(source.options)
    except UnsupportedError:
        return False


def has_shape_numbering(shape: Shape, source: Source) -> bool:
    """Return whether a reader gives the same numbers to the records of a file as a shape does."""
    reader_shape = Shape.from_source(source)
    if (shape.format, shape.options) == (reader_shape.format, reader_shape.options):
        return True
    try:
        return get_format(shape.format).describe_numbering(dict(shape.options)) == get_format(source.format).describe_numbering(
            source.options
        )
    except UnsupportedError:
        return False


def renumber_records(session: Session, table: str, file: KnownFile, source: Source) -> str | None:
    """Return records `origin, file, row` of a file with the row numbers of a reader that skips other lines. None if they are unknown.

    Records on the same line are the same record.
    """
    of_file = session.make_table(f"SELECT origin, file, row FROM {table} WHERE file = {file.number}")
    session.count_rows(of_file)
    rows = session.get_columns(of_file)
    if rows is None:
        return None
    shape = Shape.from_source(source)
    try:
        shape_lines = get_format(file.shape.format).find_line_numbers(session.reader, file.make_read_file(), file.shape)
        reader_lines = get_format(shape.format).find_line_numbers(session.reader, file.make_read_file(), shape)
    except (SourceChangedError, UnsupportedError, OSError):
        return None
    if shape_lines is None or reader_lines is None or not len(reader_lines):
        return None
    lines = shape_lines[rows["row"]]
    indexes = np.minimum(np.searchsorted(reader_lines, lines), len(reader_lines) - 1)
    return session.keep_in_memory(taken({**rows, "row": indexes.astype(np.int64)}, reader_lines[indexes] == lines))


def report_numbering(session: Session, file: KnownFile, reader: str) -> None:
    """Report that the trace ends at a file, because its writer and its reader number records differently."""
    session.report(
        str(file.block.path), f"capture {reader} numbers its records otherwise than they were written (a header, a comment)", "missing"
    )
