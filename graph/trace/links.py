"""The links between captures: which of them wrote or read a file block, and which columns are needed there.

Nothing is linked by time or by name alone: a file that was overwritten since is another block.
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
    """For each file (by number) the capture that wrote it as it was read."""
    by_block = {file.block: file.number for file in files}
    found = session.store.catalog.writers(session.tenant, by_block)
    return {by_block[block]: capture for block, capture in found.items()}


def readers(session: Session, files: Iterable[KnownFile], towards: Collection[str] | None = None) -> dict[int, list[str]]:
    """For each file the captures that read it as it was written; `towards`: those of them that wrote one of these datasets."""
    by_block = {file.block: file.number for file in files}
    found = session.store.catalog.readers(session.tenant, by_block, towards)
    return {by_block[block]: captures for block, captures in found.items()}


def read_as(session: Session, files: Iterable[KnownFile], dataset: str) -> set[int]:
    """Those of the files, by number, that some capture read as files of a dataset."""
    known = {file.number: file for file in files}
    found = set()
    for number, captures in readers(session, known.values()).items():
        for capture in map(session.capture, captures):
            of = [source for source in capture.manifest.sources if _dataset(source) == dataset]
            if any(capture.files_of(source).of(known[number].block) is not None for source in of):
                found.add(number)
    return found


def unread(session: Session, files: Iterable[KnownFile]) -> list[KnownFile]:
    """The files that no capture read as they are."""
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
    """Report a file that has changed since a capture read it: what became of its earlier records is not known.

    Not of one that a known run wrote as it is: its records are that run's, and nobody has read them.
    """
    if writers(session, [file]):
        return
    if (job := session.store.catalog.last_reader(session.tenant, file.block)) is not None:
        session.say(file.block.path, f"it has changed since job {job} read it; what became of its records is not known", "missing")


def datasets_of(capture: Capture) -> tuple[str | None, dict[int, str]]:
    """Node ids of the dataset that a capture wrote, and of those that its scans read."""
    sink = capture.manifest.sink
    names = {source.source: _dataset(source) for source in capture.manifest.sources}
    scans = {operator.id: names[operator.source] for operator in scans_of(capture) if operator.source is not None}
    return (_dataset(sink) if sink else None), scans


def scans_of(capture: Capture) -> list[Operator]:
    """The scans of a capture."""
    return [operator for operator in capture.plan.operators.values() if operator.behaviour is Behaviour.SOURCE]


def needed_names(scan: Operator, needed: Needed) -> Names:
    """The columns of its file that a scan must give."""
    return None if needed is None else frozenset(column.name.lower() for column in scan.attributes if column.attr in needed)


def names_at_writer(source: Source, sink: Sink, names: Names) -> Names:
    """The columns as their writer calls them; None: any of them."""
    return None if names is None else format_of(source.format).names_at_writer(source, sink, names)


def attributes_of(sink: Sink, names: Names) -> Needed:
    """The attributes that the columns of these names hold. A column that was not written has no value that a record could have given."""
    if names is None or not sink.columns:
        return None
    return frozenset(column.attr for column in sink.columns if column.name.lower() in names)


def _dataset(of: Source | Sink) -> str:
    return node_id(NodeKind.DATASET, of.dataset.namespace, of.dataset.name)


def counts_alike(sink: Sink, source: Source) -> bool:
    """Whether the writer's n-th record of a file is the reader's n-th: a header that one of them does not know shifts all that follow."""
    try:
        return format_of(sink.format).numbering(sink.options) == format_of(source.format).numbering(source.options)
    except UnsupportedError:
        return False


def numbered_alike(shape: Shape, source: Source) -> bool:
    """Whether the n-th record of a file in one shape is the reader's n-th."""
    read = Shape.of_source(source)
    if (shape.format, shape.options) == (read.format, read.options):
        return True
    try:
        return format_of(shape.format).numbering(dict(shape.options)) == format_of(source.format).numbering(source.options)
    except UnsupportedError:
        return False


def renumbered(session: Session, table: str, file: KnownFile, source: Source) -> str | None:
    """The records `origin, file, row` of a file that its reader numbers otherwise, by its numbers; None where those are not known.

    A header, or lines that one of them drops, tell the two apart: records of one line are one record.
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
