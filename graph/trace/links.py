"""The links between captures: the captures that wrote or read a file block, and the columns that are needed there.

A link never depends on time or name alone. A file that was overwritten is another block.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.associations import Behaviour, Operator, Sink, Source
from headwater.graph.duck.memory_tables import taken
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.model import NodeKind, node_id
from headwater.graph.trace.plan import Needed
from headwater.graph.trace.session import Capture, KnownFile, Session

Names = frozenset[str] | None  # columns of a dataset, in lower case; None: all


def writers(session: Session, files: Iterable[KnownFile]) -> dict[int, str]:
    """Return, by number of the file, the capture that wrote the file in this state."""
    by_block = {file.block: file.number for file in files}
    found = session.store.catalog.writers(session.tenant, by_block)
    return {by_block[block]: capture for block, capture in found.items()}


def readers(session: Session, files: Iterable[KnownFile], towards: Collection[str] | None = None) -> dict[int, list[str]]:
    """Return, by number of the file, the captures that read the file in this state.

    `towards` keeps captures that wrote one of these datasets.
    """
    by_block = {file.block: file.number for file in files}
    found = session.store.catalog.readers(session.tenant, by_block, towards)
    return {by_block[block]: captures for block, captures in found.items()}


def read_as(session: Session, files: Iterable[KnownFile], dataset: str) -> set[int]:
    """Return the numbers of the files that a capture read as files of a dataset."""
    known = {file.number: file for file in files}
    found = set()
    for number, captures in readers(session, known.values()).items():
        for capture in map(session.capture, captures):
            of = [source for source in capture.manifest.sources if _dataset(source) == dataset]
            if any(capture.files_of(source).of(known[number].block) is not None for source in of):
                found.add(number)
    return found


def unread(session: Session, files: Iterable[KnownFile]) -> list[KnownFile]:
    """Return the files that no capture read in their current state."""
    by_block = {file.block: file for file in files}
    read = session.store.catalog.read(session.tenant, by_block) if by_block else set()
    return [file for block, file in by_block.items() if block not in read]


def say_overwritten(session: Session, file: KnownFile, reader: Capture) -> None:
    """Report a file that a capture wrote and an unknown program overwrote before `reader` read it."""
    if session.store.catalog.was_written(session.tenant, file.block, reader.manifest.started):
        job = reader.manifest.run.job
        reason = f"it was written by a known run, and changed before job {job} read it; where that content came from is not known"
        session.say(file.block.path, reason, "missing")


def say_read_before(session: Session, file: KnownFile) -> None:
    """Report a file that has changed since a capture read it: nothing is known about its earlier records now.

    A file that a known run wrote in its current state is not reported: its records are that run's, and nobody has read them.
    """
    if writers(session, [file]):
        return
    if (job := session.store.catalog.last_reader(session.tenant, file.block)) is not None:
        session.say(file.block.path, f"it has changed since job {job} read it; what became of its records is not known", "missing")


def datasets_of(capture: Capture) -> tuple[str | None, dict[int, str]]:
    """Return the node id of the dataset that a capture wrote, and by scan the node ids of the datasets that it read."""
    sink = capture.manifest.sink
    names = {source.source: _dataset(source) for source in capture.manifest.sources}
    scans = {operator.id: names[operator.source] for operator in scans_of(capture) if operator.source is not None}
    return (_dataset(sink) if sink else None), scans


def scans_of(capture: Capture) -> list[Operator]:
    return [operator for operator in capture.plan.operators.values() if operator.behaviour is Behaviour.SOURCE]


def needed_names(scan: Operator, needed: Needed) -> Names:
    """Return the columns of its file that a scan must provide."""
    return None if needed is None else frozenset(column.name.lower() for column in scan.attributes if column.attr in needed)


def names_at_writer(source: Source, sink: Sink, names: Names) -> Names:
    """Return the columns under their names at the writer. None stands for all columns."""
    return None if names is None else format_of(source.format).names_at_writer(source, sink, names)


def attributes_of(sink: Sink, names: Names) -> Needed:
    """Return the attributes of the columns with these names. A column that was not written has no value from any record."""
    if names is None or not sink.columns:
        return None
    return frozenset(column.attr for column in sink.columns if column.name.lower() in names)


def _dataset(of: Source | Sink) -> str:
    return node_id(NodeKind.DATASET, of.dataset.namespace, of.dataset.name)


def counts_alike(sink: Sink, source: Source) -> bool:
    """Return whether writer and reader number the records of a file alike. A header that only one of them knows shifts all records."""
    try:
        return format_of(sink.format).numbering(sink.options) == format_of(source.format).numbering(source.options)
    except UnsupportedError:
        return False


def numbered_alike(shape: Shape, source: Source) -> bool:
    """Return whether the reader numbers the records of a file as the shape does."""
    read = Shape.of_source(source)
    if (shape.format, shape.options) == (read.format, read.options):
        return True
    try:
        return format_of(shape.format).numbering(dict(shape.options)) == format_of(source.format).numbering(source.options)
    except UnsupportedError:
        return False


def renumbered(session: Session, table: str, file: KnownFile, source: Source) -> str | None:
    """Return the records `origin, file, row` of a file in the numbers of a reader that numbers differently. None if these are not known.

    The two differ by a header, or by lines that one of them drops. Records with the same line are the same record.
    """
    of_file = session.table(f"SELECT origin, file, row FROM {table} WHERE file = {file.number}")
    session.count(of_file)
    rows = session.columns(of_file)
    if rows is None:
        return None
    shape = Shape.of_source(source)
    try:
        ours = format_of(file.shape.format).line_numbers(session.reader, file.readable(), file.shape)
        theirs = format_of(shape.format).line_numbers(session.reader, file.readable(), shape)
    except (SourceChangedError, UnsupportedError, OSError):
        return None
    if ours is None or theirs is None or not len(theirs):
        return None
    lines = ours[rows["row"]]
    found = np.minimum(np.searchsorted(theirs, lines), len(theirs) - 1)
    return session.hold(taken({**rows, "row": found.astype(np.int64)}, theirs[found] == lines))


def say_counted_otherwise(session: Session, file: KnownFile, reader: str) -> None:
    """Report that the trace ends at a file whose records the writer and the reader number differently."""
    session.say(
        str(file.block.path), f"capture {reader} numbers its records otherwise than they were written (a header, a comment)", "missing"
    )
