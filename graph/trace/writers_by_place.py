"""Matches the records that writers and readers of a file have in common, by their bytes.

The walks use it if several captures wrote a file and number its records differently, or if a capture counts ranges of bytes. Two records
match if their bytes overlap (*ghost* associations). An answer is exact if every record that was read consists of whole written records.
Otherwise the answer is a superset, or reports what is missing. Lengths and offsets come from other programs, so they are only compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwater.errors import SourceChangedError, SourceUnavailableError, UnsupportedError
from headwater.graph.associations import Source
from headwater.graph.associations.references import POSITION_BITS, POSITION_MASK
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.session import Capture, KnownFile, Session


@dataclass(frozen=True, slots=True)
class FileParts:
    """The records of one file by writer, as tables `origin, file, row`, and the records without a writer."""

    by_writer: Sequence[tuple[str, str]]
    unwritten: str


def split_by_writers(session: Session, table: str, file: KnownFile, reader: Capture | None, source: Source | None) -> FileParts:
    """Split records `origin, file, row` of a file by the captures that wrote them, with the row numbers of each writer."""
    own_records = session.make_table(f"SELECT DISTINCT origin, row FROM {table} WHERE file = {file.number} AND row IS NOT NULL")
    shape = Shape.from_source(source) if source else file.shape
    writer_pairs: list[tuple[str, str]] = []
    matched: list[str] = []
    everyone = session.store.catalog.all_writers(session.tenant, [file.block]).get(file.block, [])
    pruned_captures = session.find_pruned(everyone)
    writers = [name for name in everyone if name not in pruned_captures]
    for name in writers:
        writer = session.get_capture(name)
        sink = writer.manifest.sink
        if sink is None:
            continue
        writer_shape = Shape.from_sink(sink)
        range_kinds = {_has_byte_ranges(shape), _has_byte_ranges(writer_shape)}
        by_number = range_kinds == {False} or (reader is None and range_kinds == {True})  # a question names ranges as they were written
        pairs = _pair_equal_numbers(session, own_records, file, writer, shape, writer_shape) if by_number else None
        if pairs is None and _may_overlap(shape, writer_shape):
            reader_ranges = (
                _query_read_ranges(session, file, reader, source) if reader and source else _query_line_ranges(session, file, shape)
            )
            writer_ranges = _query_written_ranges(session, file, writer)
            pairs = _pair_overlapping(session, own_records, reader_ranges, writer_ranges) if reader_ranges and writer_ranges else None
        if pairs is None:
            session.report(file.block.path, f"capture {name} wrote it, and numbers its records in another way", "missing")
        elif session.count_rows(pairs):
            writer_pairs.append(
                (name, session.make_table(f"SELECT DISTINCT origin, {file.number}::BIGINT AS file, theirs AS row FROM {pairs}"))
            )
            matched.append(pairs)
    if len(writers) > 1:
        _report_rewritten(session, file, writer_pairs)
    covered_records = " UNION ".join(f"SELECT origin, row FROM {pairs}" for pairs in matched)
    unwritten = session.make_table(
        f"SELECT origin, {file.number}::BIGINT AS file, row FROM {own_records} "
        f"{f'ANTI JOIN ({covered_records}) USING (origin, row)' if covered_records else ''}"
    )
    if writers and not pruned_captures and session.count_rows(unwritten):
        session.report(file.block.path, f"{session.count_rows(unwritten)} of its records were written by no run that is known", "missing")
    _report_cut_records(session, file, matched)
    return FileParts(writer_pairs, unwritten)


def number_as_reader(session: Session, table: str, file: KnownFile, reader: Capture, source: Source) -> str | None:
    """Return records `origin, file, row` of a file with the row numbers of a reader. None if these are unknown."""
    own_records = session.make_table(f"SELECT DISTINCT origin, row FROM {table} WHERE file = {file.number}")
    reader_ranges = _query_read_ranges(session, file, reader, source)
    if _has_byte_ranges(file.shape):
        names = session.store.catalog.all_writers(session.tenant, [file.block]).get(file.block, [])
        writers = [session.get_capture(name) for name in names if name not in session.find_pruned(names)]
        writer_queries = [query for writer in writers if (query := _query_written_ranges(session, file, writer))]
        own_ranges = f"({' UNION '.join(f'FROM {query}' for query in writer_queries)})" if writer_queries else None
        if own_ranges is None and _has_byte_ranges(Shape.from_source(source)):
            own_ranges = reader_ranges  # without a writer, a question names a range as the readers do
    else:
        own_ranges = _query_line_ranges(session, file, file.shape)
    if not own_ranges or not reader_ranges:
        return None
    pairs = _pair_overlapping(session, own_records, own_ranges, reader_ranges)
    _report_cut_records(session, file, [pairs])
    return session.make_table(f"SELECT DISTINCT origin, {file.number}::BIGINT AS file, theirs AS row FROM {pairs}")


def _pair_equal_numbers(
    session: Session, own_records: str, file: KnownFile, writer: Capture, own_shape: Shape, writer_shape: Shape
) -> str | None:
    """Return pairs of records with equal numbers, for records that the writer states to have written."""
    try:
        has_same_numbering = get_format(own_shape.format).describe_numbering(dict(own_shape.options)) == get_format(
            writer_shape.format
        ).describe_numbering(dict(writer_shape.options))
    except UnsupportedError:
        has_same_numbering = False
    place = writer.files.place_of(file.block)
    sink = writer.plan.sink
    if not has_same_numbering or place is None or sink is None:
        return None
    rows = session.query_rows(writer, sink)
    return session.make_table(
        f"SELECT o.origin, o.row, o.row AS theirs, false AS cut, 0 AS low, 0 AS high, 0 AS begin, 0 AS finish FROM {own_records} o "
        f"SEMI JOIN (SELECT row FROM {rows} WHERE file = {place}) s ON s.row = o.row"
    )


def _pair_overlapping(session: Session, own_records: str, own_ranges: str, writer_ranges: str) -> str:
    """Return pairs of records whose bytes overlap. `cut` is true if one reaches beyond the own record, from `low` to `high`."""
    range_table = session.make_table(
        f"SELECT o.origin, o.row, min(r.begin) AS low, max(r.finish) AS high FROM {own_records} o "
        f"JOIN {own_ranges} r ON r.row = o.row GROUP BY ALL"
    )
    return session.make_table(
        f"SELECT o.origin, o.row, t.row AS theirs, t.begin < o.low OR t.finish > o.high AS cut, o.low, o.high, t.begin, t.finish "
        f"FROM {range_table} o JOIN {writer_ranges} t ON t.begin < o.high AND t.finish > o.low"
    )


def _report_cut_records(session: Session, file: KnownFile, pairs: Sequence[str]) -> None:
    if not pairs:
        return
    all_pairs = session.make_table(" UNION ALL ".join(f"FROM {table}" for table in pairs))
    gaps = (
        f"SELECT cut, begin > coalesce(max(finish) OVER (PARTITION BY origin, row ORDER BY begin, finish "
        f"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), low) OR max(finish) OVER (PARTITION BY origin, row) < high AS gap "
        f"FROM {all_pairs}"
    )
    totals = session.database.execute(f"SELECT coalesce(bool_or(cut), false), coalesce(bool_or(gap), false) FROM ({gaps})").fetchone()
    has_cuts, gap = totals or (False, False)
    if has_cuts:
        reason = "a part of a record was read or written: all records that share bytes with it are given"
        session.report(file.block.path, reason, "superset")
    if gap:
        session.report(file.block.path, "some bytes that were read or written are in no record of the other side that is known", "missing")


def _report_rewritten(session: Session, file: KnownFile, writer_records: Sequence[tuple[str, str]]) -> None:
    """Report records that several captures wrote, because the capture whose record was read is unknown."""
    if len(writer_records) < 2:
        return
    union = " UNION ALL ".join(f"SELECT DISTINCT row FROM {table}" for _, table in writer_records)
    rewritten_count = session.database.execute(
        f"SELECT count(*) FROM (SELECT row FROM ({union}) GROUP BY row HAVING count(*) > 1)"
    ).fetchone()
    if rewritten_count and rewritten_count[0]:
        session.report(
            file.block.path, f"{rewritten_count[0]} of its records were written more than once; all who wrote them are given", "superset"
        )


def _may_overlap(own_shape: Shape, writer_shape: Shape) -> bool:
    """Return whether both sides count bytes or lines of a file. Offsets of streams and keys of tables cannot overlap."""
    return all(get_format(shape.format).in_files for shape in (own_shape, writer_shape))


def _has_byte_ranges(shape: Shape) -> bool:
    return get_format(shape.format).counts_bytes


def uses_byte_ranges(file: KnownFile, source: Source) -> bool:
    """Return whether a writer or the reader of a file identifies records by ranges of bytes."""
    return _has_byte_ranges(file.shape) or _has_byte_ranges(Shape.from_source(source))


def _query_read_ranges(session: Session, file: KnownFile, reader: Capture, source: Source) -> str | None:
    shape = Shape.from_source(source)
    if not _has_byte_ranges(shape):
        return _query_line_ranges(session, file, shape)
    entry = reader.files_of(source).of(file.block)
    scan = next((operator.id for operator in reader.plan.operators.values() if operator.source == source.source), None)
    extents = (boundary for boundary in reader.manifest.boundaries if boundary.kind == "extent" and boundary.operator == scan)
    boundary = next(extents, None)
    if entry is None or boundary is None:
        return None
    first = entry.ordinal << POSITION_BITS
    return (
        f"(SELECT ref - {first} AS row, ref - {first} AS begin, ref - {first} + length AS finish "
        f"FROM {session.query_rows(reader, boundary)} WHERE ref >= {first} AND ref <= {first + POSITION_MASK})"
    )


def _query_written_ranges(session: Session, file: KnownFile, writer: Capture) -> str | None:
    place, sink = writer.files.place_of(file.block), writer.plan.sink
    if place is None or sink is None or writer.manifest.sink is None:
        return None
    shape = Shape.from_sink(writer.manifest.sink)
    if not _has_byte_ranges(shape):
        lines = _query_line_ranges(session, file, shape)
        if lines is None or not sink.is_placed:
            return lines
        return f"(FROM {lines} SEMI JOIN (SELECT row FROM {session.query_rows(writer, sink)} WHERE file = {place}) USING (row))"
    if not any(column.role == "length" for column in sink.columns):
        return None
    return f"(SELECT DISTINCT row, row AS begin, row + length AS finish FROM {session.query_rows(writer, sink)} WHERE file = {place})"


def _query_line_ranges(session: Session, file: KnownFile, shape: Shape) -> str | None:
    """Return a table `row, begin, finish` of a file's lines, in bytes. None if records are not lines, or the file has changed."""
    try:
        ranges = get_format(shape.format).find_byte_ranges(session.reader, file.make_read_file_as(shape), shape)
    except (SourceChangedError, SourceUnavailableError, UnsupportedError, OSError) as error:
        session.report(file.block.path, f"where its records lie cannot be told: {error}", "missing")
        return None
    if ranges is None:
        return None
    begins, ends = ranges
    return session.keep_in_memory({"row": np.arange(len(begins), dtype=np.int64), "begin": begins, "finish": ends})
