"""Finds the captures that wrote records of files with several possible writers that all number records alike.

The upstream walk uses it for keys of tables, for streams, and for files whose written records actors state. Each key of a table counts as a
file. `writers_by_place` handles files with other numbers or with byte ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.associations import Source
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.session import Capture, KnownFile, Session

_NAMED = 20  # files that an answer names; more files are only counted


@dataclass(frozen=True, slots=True)
class NumberedParts:
    """Tables `origin, file, row` of records by writer, a table of records without a writer, and the files that were skipped."""

    by_writer: Sequence[tuple[str, str]]
    unwritten: str | None
    skipped_files: Sequence[KnownFile]


def is_shared(session: Session, file: KnownFile, writer: str, source: Source | None) -> bool:
    """Return whether several captures may have written records of a file: its format or its writer gives each record a place of its own."""
    if get_format(file.shape.format).shares_files or (source is not None and get_format(source.format).shares_files):
        return True
    sink = session.get_capture(writer).plan.sink
    return sink is not None and sink.is_placed


def split_by_numbers(session: Session, table: str, files: Sequence[KnownFile], source: Source | None) -> NumberedParts:
    """Split records `origin, file, row` of several files by the captures that wrote rows with these numbers."""
    writers = session.store.catalog.all_writers(session.tenant, [file.block for file in files])
    pruned_captures = session.find_pruned({name for names in writers.values() for name in names})
    reader_shape = Shape.from_source(source) if source else None
    same_numbers: dict[tuple[str, Shape], bool] = {}
    checked_files: list[KnownFile] = []
    places: dict[str, list[tuple[int, int]]] = {}  # by writer: number of a file here, and at the writer
    for file in files:
        shape = reader_shape or file.shape
        writer_places: dict[str, int | None] = {}
        for name in writers.get(file.block, ()):
            if (name, shape) not in same_numbers:
                same_numbers[name, shape] = name not in pruned_captures and _has_same_numbers(session.get_capture(name), shape)
            writer_places[name] = session.get_capture(name).files.place_of(file.block) if same_numbers[name, shape] else None
        if None in writer_places.values():
            continue
        checked_files.append(file)
        for name, place in writer_places.items():
            places.setdefault(name, []).append((file.number, place or 0))
    if not checked_files:
        return NumberedParts((), None, files)
    numbers = {file.number for file in checked_files}
    own_records = session.make_table(
        f"SELECT DISTINCT origin, file, row FROM {table} SEMI JOIN {_find_table(session, numbers)} USING (file) WHERE row IS NOT NULL"
    )
    writer_records = [
        (name, _query_written_records(session, own_records, session.get_capture(name), writer_places))
        for name, writer_places in places.items()
    ]
    writer_records = [(name, records) for name, records in writer_records if session.count_rows(records)]
    _report_rewritten(session, writer_records)
    covered_records = " UNION ".join(f"FROM {records}" for _, records in writer_records)
    unwritten = session.make_table(
        f"SELECT origin, file, row FROM {own_records} "
        f"{f'ANTI JOIN ({covered_records}) USING (origin, file, row)' if covered_records else ''}"
    )
    _report_counts(
        session,
        f"SELECT file, count(DISTINCT row) FROM {unwritten} GROUP BY file",
        "records were written by no run that is known",
        "missing",
    )
    return NumberedParts(
        writer_records, unwritten if session.count_rows(unwritten) else None, [file for file in files if file.number not in numbers]
    )


def report_unstated_records(session: Session, capture: Capture) -> None:
    """Report records of present files of a capture that no run states to have written. They may derive from any record of the walk.

    Only a capture whose rows state their positions, such as an actor's, may leave out a record of its file. Ranges of bytes are not
    checked, because a heading or a separator belongs to no record.
    """
    sink, sink_part = capture.plan.sink, capture.manifest.sink
    if sink is None or sink_part is None or not sink.is_placed or capture.id in session.stated_captures:
        return
    session.stated_captures.add(capture.id)
    kind = get_format(sink_part.format)
    if not kind.in_files or kind.counts_bytes or kind.shares_files or kind.is_table:
        return
    for file in (session.get_written_file(capture, place) for place in range(len(capture.files))):
        if file.problem is None and (count := _count_unstated(session, file)):
            session.report(file.block.path, f"{count} of its records were written by no run that is known", "missing")


def _count_unstated(session: Session, file: KnownFile) -> int:
    """Return how many records of a file no capture states. 0 if a capture numbers its records differently."""
    names = session.store.catalog.all_writers(session.tenant, [file.block]).get(file.block, [])
    stated = []
    for writer in map(session.get_capture, set(names) - session.find_pruned(names)):
        place, sink = writer.files.place_of(file.block), writer.plan.sink
        if sink is None or place is None or not _has_same_numbers(writer, file.shape):
            return 0
        stated.append(f"SELECT row FROM {session.query_rows(writer, sink)} WHERE file = {place}")
    total = get_format(file.shape.format).count_records(session.reader, session.database, file.shape, file.make_read_file())
    found = session.database.execute(f"SELECT count(DISTINCT row) FROM ({' UNION ALL '.join(stated)})").fetchone() if stated else None
    return max(0, total - found[0]) if found else 0


def _has_same_numbers(writer: Capture, shape: Shape) -> bool:
    """Return whether a writer's n-th record of a file is also the n-th record in a shape, and the capture lists written records."""
    sink_part, sink = writer.manifest.sink, writer.plan.sink
    if sink_part is None or sink is None:
        return False
    writer_format = get_format(sink_part.format)
    if writer_format.counts_bytes or get_format(shape.format).counts_bytes:
        return False
    try:
        return get_format(shape.format).describe_numbering(dict(shape.options)) == writer_format.describe_numbering(dict(sink_part.options))
    except UnsupportedError:
        return False


def _find_table(session: Session, numbers: set[int]) -> str:
    return session.keep_in_memory({"file": np.fromiter(sorted(numbers), np.int64, len(numbers))})


def _query_written_records(session: Session, own_records: str, writer: Capture, places: Sequence[tuple[int, int]]) -> str:
    if (sink := writer.plan.sink) is None:
        return session.make_table(f"SELECT * FROM {own_records} LIMIT 0")
    numbers, writer_rows = np.array(places, np.int64).reshape(-1, 2).T
    place_table = session.keep_in_memory({"file": numbers.copy(), "place": writer_rows.copy()})
    return session.make_table(
        f"SELECT o.origin, o.file, o.row FROM {own_records} o JOIN {place_table} k ON k.file = o.file "
        f"SEMI JOIN (SELECT file AS place, row FROM {session.query_rows(writer, sink)}) s ON s.place = k.place AND s.row = o.row"
    )


def _report_rewritten(session: Session, writer_records: Sequence[tuple[str, str]]) -> None:
    """Report records that several captures wrote, because the capture whose record was read is unknown."""
    if len(writer_records) > 1:
        union = " UNION ALL ".join(f"SELECT DISTINCT file, row FROM {records}" for _, records in writer_records)
        rewritten_query = f"SELECT file, count(*) FROM (SELECT file, row FROM ({union}) GROUP BY ALL HAVING count(*) > 1) GROUP BY file"
        _report_counts(session, rewritten_query, "records were written more than once; all who wrote them are given", "superset")


def _report_counts(session: Session, counts: str, message: str, effect: str) -> None:
    rows = session.database.execute(f"{counts} ORDER BY file").fetchall()
    if len(rows) <= _NAMED:
        for number, count in rows:
            session.report(session.files[number].block.path, f"{count} of its {message}", effect)
        return
    datasets: dict[str, int] = {}
    for number, count in rows:
        datasets[session.files[number].dataset] = datasets.get(session.files[number].dataset, 0) + count
    for dataset, count in datasets.items():
        session.report(dataset, f"{count} of its {message}", effect)
