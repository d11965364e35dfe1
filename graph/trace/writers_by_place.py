"""Which records of a file its writers and readers share, where they name places in it themselves.

For the walks, at files of which several captures may have written records that they number in different ways, and at files in which one
side counts ranges of bytes: there records are the same as far as their bytes overlap (*ghost* associations). An answer is exact where every
record that was read consists of whole records that were written; else it says that it is a superset, or what is missing. Lengths and
offsets come from strangers: they are compared and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwater.errors import SourceChangedError, SourceUnavailableError, UnsupportedError
from headwater.graph.associations import Source
from headwater.graph.associations.references import POSITION_BITS, POSITION_MASK
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.session import Capture, KnownFile, Session


@dataclass(frozen=True, slots=True)
class Parts:
    """The records of one file that each writer wrote: tables `origin, file, row`; and those that none of them did."""

    by_writer: Sequence[tuple[str, str]]
    rest: str


def by_writers(session: Session, table: str, file: KnownFile, reader: Capture | None, source: Source | None) -> Parts:
    """The records of a file in a table `origin, file, row`, as those who wrote them number them."""
    own = session.table(f"SELECT DISTINCT origin, row FROM {table} WHERE file = {file.number} AND row IS NOT NULL")
    shape = Shape.of_source(source) if source else file.shape
    found: list[tuple[str, str]] = []
    matched: list[str] = []
    everyone = session.store.catalog.all_writers(session.tenant, [file.block]).get(file.block, [])
    pruned = session.pruned(everyone)
    writers = [name for name in everyone if name not in pruned]
    for name in writers:
        writer = session.capture(name)
        sink = writer.manifest.sink
        if sink is None:
            continue
        theirs = Shape.of_sink(sink)
        counted = {_counts_bytes(shape), _counts_bytes(theirs)}
        by_number = counted == {False} or (reader is None and counted == {True})  # who asks names ranges as they were written
        pairs = _equal(session, own, file, writer, shape, theirs) if by_number else None
        if pairs is None and _may_overlap(shape, theirs):
            ours = _read_ranges(session, file, reader, source) if reader and source else _line_ranges(session, file, shape)
            written = _written_ranges(session, file, writer)
            pairs = _overlapping(session, own, ours, written) if ours and written else None
        if pairs is None:
            session.say(file.block.path, f"capture {name} wrote it, and numbers its records in another way", "missing")
        elif session.count(pairs):
            found.append((name, session.table(f"SELECT DISTINCT origin, {file.number}::BIGINT AS file, theirs AS row FROM {pairs}")))
            matched.append(pairs)
    if len(writers) > 1:
        _say_rewritten(session, file, found)
    covered = " UNION ".join(f"SELECT origin, row FROM {pairs}" for pairs in matched)
    rest = session.table(
        f"SELECT origin, {file.number}::BIGINT AS file, row FROM {own} {f'ANTI JOIN ({covered}) USING (origin, row)' if covered else ''}"
    )
    if writers and not pruned and session.count(rest):
        session.say(file.block.path, f"{session.count(rest)} of its records were written by no run that is known", "missing")
    _say_cut(session, file, matched)
    return Parts(found, rest)


def as_read(session: Session, table: str, file: KnownFile, reader: Capture, source: Source) -> str | None:
    """The records of a file in a table `origin, file, row`, as a reader numbers them: the same; None where that cannot be told."""
    own = session.table(f"SELECT DISTINCT origin, row FROM {table} WHERE file = {file.number}")
    read = _read_ranges(session, file, reader, source)
    if _counts_bytes(file.shape):
        names = session.store.catalog.all_writers(session.tenant, [file.block]).get(file.block, [])
        writers = [session.capture(name) for name in names if name not in session.pruned(names)]
        written = [query for writer in writers if (query := _written_ranges(session, file, writer))]
        ours = f"({' UNION '.join(f'FROM {query}' for query in written)})" if written else None
        if ours is None and _counts_bytes(Shape.of_source(source)):
            ours = read  # nobody wrote it: who asks names a range as its readers do
    else:
        ours = _line_ranges(session, file, file.shape)
    if not ours or not read:
        return None
    pairs = _overlapping(session, own, ours, read)
    _say_cut(session, file, [pairs])
    return session.table(f"SELECT DISTINCT origin, {file.number}::BIGINT AS file, theirs AS row FROM {pairs}")


def _equal(session: Session, own: str, file: KnownFile, writer: Capture, ours: Shape, theirs: Shape) -> str | None:
    """Pairs of the same number: of records that the writer says it wrote."""
    try:
        alike = format_of(ours.format).numbering(dict(ours.options)) == format_of(theirs.format).numbering(dict(theirs.options))
    except UnsupportedError:
        alike = False
    place = writer.files.place_of(file.block)
    sink = writer.plan.sink
    if not alike or place is None or sink is None:
        return None
    rows = session.rows(writer, sink)
    return session.table(
        f"SELECT o.origin, o.row, o.row AS theirs, false AS cut, 0 AS low, 0 AS high, 0 AS begin, 0 AS finish FROM {own} o "
        f"SEMI JOIN (SELECT row FROM {rows} WHERE file = {place}) s ON s.row = o.row"
    )


def _overlapping(session: Session, own: str, ours: str, theirs: str) -> str:
    """Pairs of records whose bytes overlap; `cut` where one reaches beyond ours, which is `low` to `high`."""
    mine = session.table(
        f"SELECT o.origin, o.row, min(r.begin) AS low, max(r.finish) AS high FROM {own} o JOIN {ours} r ON r.row = o.row GROUP BY ALL"
    )
    return session.table(
        f"SELECT o.origin, o.row, t.row AS theirs, t.begin < o.low OR t.finish > o.high AS cut, o.low, o.high, t.begin, t.finish "
        f"FROM {mine} o JOIN {theirs} t ON t.begin < o.high AND t.finish > o.low"
    )


def _say_cut(session: Session, file: KnownFile, pairs: Sequence[str]) -> None:
    """Say where records overlap in parts, and where bytes of a record are in none of the others."""
    if not pairs:
        return
    every = session.table(" UNION ALL ".join(f"FROM {table}" for table in pairs))
    gaps = (
        f"SELECT cut, begin > coalesce(max(finish) OVER (PARTITION BY origin, row ORDER BY begin, finish "
        f"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), low) OR max(finish) OVER (PARTITION BY origin, row) < high AS gap FROM {every}"
    )
    found = session.database.execute(f"SELECT coalesce(bool_or(cut), false), coalesce(bool_or(gap), false) FROM ({gaps})").fetchone()
    cut, gap = found or (False, False)
    if cut:
        reason = "a part of a record was read or written: all records that share bytes with it are given"
        session.say(file.block.path, reason, "superset")
    if gap:
        session.say(file.block.path, "some bytes that were read or written are in no record of the other side that is known", "missing")


def _say_rewritten(session: Session, file: KnownFile, found: Sequence[tuple[str, str]]) -> None:
    """Say where several captures wrote one record: which of them was read is not known."""
    if len(found) < 2:
        return
    union = " UNION ALL ".join(f"SELECT DISTINCT row FROM {table}" for _, table in found)
    twice = session.database.execute(f"SELECT count(*) FROM (SELECT row FROM ({union}) GROUP BY row HAVING count(*) > 1)").fetchone()
    if twice and twice[0]:
        session.say(file.block.path, f"{twice[0]} of its records were written more than once; all who wrote them are given", "superset")


def _may_overlap(ours: Shape, theirs: Shape) -> bool:
    """Whether both name places in a file: ranges of its bytes, or lines. Positions of a stream and keys of a table are none."""
    return all(format_of(shape.format).in_files for shape in (ours, theirs))


def _counts_bytes(shape: Shape) -> bool:
    return format_of(shape.format).counts_bytes


def counts_bytes(file: KnownFile, source: Source) -> bool:
    """Whether one of those who wrote a file and read it counts ranges of its bytes."""
    return _counts_bytes(file.shape) or _counts_bytes(Shape.of_source(source))


def _read_ranges(session: Session, file: KnownFile, reader: Capture, source: Source) -> str | None:
    """A table or query `row, begin, finish` of the records of a file as a capture read it."""
    shape = Shape.of_source(source)
    if not _counts_bytes(shape):
        return _line_ranges(session, file, shape)
    entry = reader.files_of(source).of(file.block)
    scan = next((operator.id for operator in reader.plan.operators.values() if operator.source == source.source), None)
    extents = (boundary for boundary in reader.manifest.boundaries if boundary.kind == "extent" and boundary.operator == scan)
    boundary = next(extents, None)
    if entry is None or boundary is None:
        return None
    first = entry.ordinal << POSITION_BITS
    return (
        f"(SELECT ref - {first} AS row, ref - {first} AS begin, ref - {first} + length AS finish "
        f"FROM {session.rows(reader, boundary)} WHERE ref >= {first} AND ref <= {first + POSITION_MASK})"
    )


def _written_ranges(session: Session, file: KnownFile, writer: Capture) -> str | None:
    """The same of the records as a capture wrote them."""
    place, sink = writer.files.place_of(file.block), writer.plan.sink
    if place is None or sink is None or writer.manifest.sink is None:
        return None
    shape = Shape.of_sink(writer.manifest.sink)
    if not _counts_bytes(shape):
        lines = _line_ranges(session, file, shape)
        if lines is None or not sink.is_placed:
            return lines
        return f"(FROM {lines} SEMI JOIN (SELECT row FROM {session.rows(writer, sink)} WHERE file = {place}) USING (row))"
    if not any(column.role == "length" for column in sink.columns):
        return None
    return f"(SELECT DISTINCT row, row AS begin, row + length AS finish FROM {session.rows(writer, sink)} WHERE file = {place})"


def _line_ranges(session: Session, file: KnownFile, shape: Shape) -> str | None:
    """The same of a file's lines, with their ends; None where records are no lines, or the file has changed."""
    try:
        found = format_of(shape.format).byte_ranges(session.reader, file.readable_as(shape), shape)
    except (SourceChangedError, SourceUnavailableError, UnsupportedError, OSError) as error:
        session.say(file.block.path, f"where its records lie cannot be told: {error}", "missing")
        return None
    if found is None:
        return None
    begins, ends = found
    return session.hold({"row": np.arange(len(begins), dtype=np.int64), "begin": begins, "finish": ends})
