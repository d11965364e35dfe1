"""Translates references to a scan into files and rows."""

from __future__ import annotations

import numpy as np

from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.associations import Source
from headwater.graph.associations.references import POSITION_BITS, POSITION_MASK
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.model import node_id
from headwater.graph.records import block_at
from headwater.graph.records.decode import Longs
from headwater.graph.records.lists import SourceFiles
from headwater.graph.trace.session import Capture, KnownFile, Session, format_mapping

_FEW = 16


def locate_references(session: Session, capture: Capture, source: Source, references: str) -> str:
    """Return the records of references as a table `origin, ref, file, row`. `row` is null if it can no longer be determined."""
    refs = session.get_columns(references)
    if get_format(source.format).spans_ordinals:
        return _locate_in_one_file(session, capture, source, references, refs)
    located = _locate_in_memory(session, capture, source, refs) if refs is not None else None
    if located is not None:
        return session.keep_in_memory(located)
    ordinals = _list_ordinals(session, source, capture.files_of(source), references)
    places = [(ordinal, *place) for ordinal in ordinals if (place := _map_ordinal(session, capture, source, ordinal))]
    file = format_mapping("(r.ref >> 40)", {ordinal: number for ordinal, number, _ in places})
    base = format_mapping("(r.ref >> 40)", {ordinal: first for ordinal, _, first in places})
    place_condition = f" WHERE {file} IS NOT NULL" if len(places) < len(ordinals) else ""
    return session.make_table(
        f"SELECT r.origin, r.ref, {file} AS file, {base} + (r.ref & {POSITION_MASK}) AS row FROM {references} r{place_condition}"
    )


def _locate_in_one_file(session: Session, capture: Capture, source: Source, references: str, refs: Columns | None) -> str:
    """Locate references to a source that is one file. Such a reference is the row number."""
    place = _map_ordinal(session, capture, source, 0)
    number = -1 if place is None else place[0]
    if number >= 0 and (keys := session.files[number].keys) is not None:
        keys.captures[capture.id] = None
        _report_shared_numbers(session, session.files[number], None if refs is None else refs["ref"])
    if refs is not None:
        places = {"origin": refs["origin"], "ref": refs["ref"], "file": np.full(len(refs["ref"]), number, np.int64), "row": refs["ref"]}
        return session.keep_in_memory(memory_tables.taken(places, (refs["ref"] >= 0) & (places["file"] >= 0)))
    return session.make_table(
        f"SELECT r.origin, r.ref, {number}::BIGINT AS file, r.ref AS row FROM {references} r WHERE r.ref >= 0 AND {number} >= 0"
    )


def _report_shared_numbers(session: Session, file: KnownFile, refs: Longs | None) -> None:
    """Report two keys of a table that share a number, among the rows in `refs` (None: among all rows)."""
    if file.keys is not None and file.keys.has_shared_numbers(None if refs is None else set(refs[refs >= 0].tolist())):
        session.report(file.block.path, "two keys of its rows have one number: the rows of both are taken for one", "superset")


def _locate_in_memory(session: Session, capture: Capture, source: Source, references: Columns) -> Columns | None:
    ordinal = references["ref"] >> POSITION_BITS
    ordinals = memory_tables.values(ordinal)
    numbers, bases = np.full(len(ordinals), -1, np.int64), np.zeros(len(ordinals), np.int64)
    for number, file_ordinal in enumerate(ordinals.tolist()):
        if (place := _map_ordinal(session, capture, source, file_ordinal)) is not None:
            numbers[number], first = place
            if first is None:
                return None
            bases[number] = first
    ordinal_indexes = memory_tables.mapped(ordinal, {file_ordinal: place for place, file_ordinal in enumerate(ordinals.tolist())})
    file, row = numbers[ordinal_indexes], bases[ordinal_indexes] + (references["ref"] & POSITION_MASK)
    places = {"origin": references["origin"], "ref": references["ref"], "file": file, "row": row}
    return places if (numbers >= 0).all() else memory_tables.taken(places, file >= 0)


def _list_ordinals(session: Session, source: Source, files: SourceFiles, references: str) -> list[int]:
    """Return the ordinals that occur in references. For few files, return all ordinals, because a query costs more."""
    if get_format(source.format).counts_from_file and len(files) <= _FEW and all(file.ordinals == 1 for file in files):
        return [file.ordinal for file in files]
    return [row[0] for row in session.database.execute(f"SELECT DISTINCT ref >> 40 FROM {references} ORDER BY 1").fetchall()]


def _map_ordinal(session: Session, capture: Capture, source: Source, ordinal: int) -> tuple[int, int | None] | None:
    files = capture.files_of(source)
    entry = files.at(ordinal)
    if entry is None:
        session.report(f"capture {capture.id}", f"its source {source.path} has no file of ordinal {ordinal}", "missing")
        return None
    dataset = node_id("dataset", source.dataset.namespace, source.dataset.name)
    block = block_at(entry.path, entry.length, entry.modified)
    file = session.add_file(block, dataset, Shape.from_source(source), entry.partition)
    split = files.split(ordinal)
    if get_format(source.format).counts_from_file or split is None or split.start == 0:
        return file.number, 0
    return file.number, find_first_of_split(session, file, Shape.from_source(source), split.start)


def find_first_of_split(session: Session, file: KnownFile, shape: Shape, start: int) -> int | None:
    """Return the row number of the first record of a split. If the file has changed, report that and return None."""
    try:
        return get_format(shape.format).find_first_of_split(session.reader, file.make_read_file(), shape, start)
    except (SourceChangedError, UnsupportedError, OSError) as error:
        reason = error.message if isinstance(error, SourceChangedError | UnsupportedError) else str(error)
        session.report(file.block.path, f"which record it was cannot be told any more: {reason}", "unreadable")
        return None
