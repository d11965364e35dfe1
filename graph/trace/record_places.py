"""References to the records of a scan as places: which file, and which record of it."""

from __future__ import annotations

import numpy as np

from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.associations import Source
from headwater.graph.associations.references import POSITION_BITS, POSITION_MASK
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.model import node_id
from headwater.graph.records import block_at
from headwater.graph.records.decode import Longs
from headwater.graph.records.lists import SourceFiles
from headwater.graph.trace.session import Capture, KnownFile, Session, mapped

_FEW = 16


def placed(session: Session, capture: Capture, source: Source, references: str) -> str:
    """References to a scan's records as places: a table `origin, ref, file, row`; `row` is null where it cannot be known any more."""
    refs = session.columns(references)
    if format_of(source.format).spans_ordinals:
        return _spanning(session, capture, source, references, refs)
    found = _in_memory(session, capture, source, refs) if refs is not None else None
    if found is not None:
        return session.hold(found)
    ordinals = _ordinals(session, source, capture.files_of(source), references)
    places = [(ordinal, *place) for ordinal in ordinals if (place := _place(session, capture, source, ordinal))]
    file = mapped("(r.ref >> 40)", {ordinal: number for ordinal, number, _ in places})
    base = mapped("(r.ref >> 40)", {ordinal: first for ordinal, _, first in places})
    known = f" WHERE {file} IS NOT NULL" if len(places) < len(ordinals) else ""
    return session.table(f"SELECT r.origin, r.ref, {file} AS file, {base} + (r.ref & {POSITION_MASK}) AS row FROM {references} r{known}")


def _spanning(session: Session, capture: Capture, source: Source, references: str, refs: Columns | None) -> str:
    """The same of a source that is one file, of which a reference is the number of a record."""
    place = _place(session, capture, source, 0)
    number = -1 if place is None else place[0]
    if number >= 0 and (keys := session.files[number].keys) is not None:
        keys.met[capture.id] = None
        _say_shared(session, session.files[number], None if refs is None else refs["ref"])
    if refs is not None:
        located = {"origin": refs["origin"], "ref": refs["ref"], "file": np.full(len(refs["ref"]), number, np.int64), "row": refs["ref"]}
        return session.hold(memory_tables.taken(located, (refs["ref"] >= 0) & (located["file"] >= 0)))
    return session.table(
        f"SELECT r.origin, r.ref, {number}::BIGINT AS file, r.ref AS row FROM {references} r WHERE r.ref >= 0 AND {number} >= 0"
    )


def _say_shared(session: Session, file: KnownFile, refs: Longs | None) -> None:
    """Say where two keys of a table have one number, of the rows that are referred to (None: of any)."""
    if file.keys is not None and file.keys.has_shared(None if refs is None else set(refs[refs >= 0].tolist())):
        session.say(file.block.path, "two keys of its rows have one number: the rows of both are taken for one", "superset")


def _in_memory(session: Session, capture: Capture, source: Source, references: Columns) -> Columns | None:
    """The same, in memory; None where a row cannot be known."""
    ordinal = references["ref"] >> POSITION_BITS
    ordinals = memory_tables.values(ordinal)
    numbers, bases = np.full(len(ordinals), -1, np.int64), np.zeros(len(ordinals), np.int64)
    for number, one in enumerate(ordinals.tolist()):
        if (place := _place(session, capture, source, one)) is not None:
            numbers[number], first = place
            if first is None:
                return None
            bases[number] = first
    at = memory_tables.mapped(ordinal, {one: place for place, one in enumerate(ordinals.tolist())})
    file, row = numbers[at], bases[at] + (references["ref"] & POSITION_MASK)
    located = {"origin": references["origin"], "ref": references["ref"], "file": file, "row": row}
    return located if (numbers >= 0).all() else memory_tables.taken(located, file >= 0)


def _ordinals(session: Session, source: Source, files: SourceFiles, references: str) -> list[int]:
    """The ordinals that occur. A few files are all taken, unasked: a query costs more than they do."""
    if format_of(source.format).counts_from_file and len(files) <= _FEW and all(file.ordinals == 1 for file in files):
        return [file.ordinal for file in files]
    return [row[0] for row in session.database.execute(f"SELECT DISTINCT ref >> 40 FROM {references} ORDER BY 1").fetchall()]


def _place(session: Session, capture: Capture, source: Source, ordinal: int) -> tuple[int, int | None] | None:
    """File of an ordinal, and the number of the record with which its positions begin."""
    files = capture.files_of(source)
    entry = files.at(ordinal)
    if entry is None:
        session.say(f"capture {capture.id}", f"its source {source.path} has no file of ordinal {ordinal}", "missing")
        return None
    dataset = node_id("dataset", source.dataset.namespace, source.dataset.name)
    block = block_at(entry.path, entry.length, entry.modified)
    file = session.known(block, dataset, Shape.of_source(source), entry.partition)
    split = files.split(ordinal)
    if format_of(source.format).counts_from_file or split is None or split.start == 0:
        return file.number, 0
    return file.number, first_of_split(session, file, Shape.of_source(source), split.start)


def first_of_split(session: Session, file: KnownFile, shape: Shape, start: int) -> int | None:
    """The number of the first record of a split; None, and said, where the file no longer tells."""
    try:
        return format_of(shape.format).first_of_split(session.reader, file.readable(), shape, start)
    except (SourceChangedError, UnsupportedError, OSError) as error:
        reason = error.message if isinstance(error, SourceChangedError | UnsupportedError) else str(error)
        session.say(file.block.path, f"which record it was cannot be told any more: {reason}", "unreadable")
        return None
