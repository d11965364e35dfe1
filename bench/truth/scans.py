"""Finds the records behind a row of an answer, scan by scan. A trace would merge the records of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bench.truth.replay import Record
from headwater.graph.trace import Semantics
from headwater.graph.trace.record_places import locate_references
from headwater.graph.trace.step.backward import Backward
from headwater.graph.trace.tracer import get_tracer

if TYPE_CHECKING:
    from headwater.graph.records import AssociationStore

Scans = Mapping[int, tuple[str, frozenset[Record]]]  # operator → the URI that it read, and records


def records_by_scan(store: AssociationStore, tenant: str, capture: str, file: str, row: int, semantics: Semantics) -> Scans:
    """Return all scans of a capture, each with the records behind a row that the capture wrote."""
    with get_tracer(store).session(tenant) as session:
        known = session.get_capture(capture)
        place = next(place for place, kept in enumerate(known.files) if kept.block.path == file)
        number = session.get_written_file(known, place).number
        begin = session.make_table(f"SELECT 0::BIGINT AS origin, {number}::BIGINT AS file, {row}::BIGINT AS row")
        scans = sorted(operator.id for operator in known.plan.operators.values() if operator.op == "Scan")
        step = Backward(session, known, witness=semantics is Semantics.WITNESS, goal_operators=known.plan.find_operators_above(scans))
        found: dict[int, set[Record]] = {scan: set() for scan in scans}
        for (scan, _), tables in step.run(begin, {number: place}).scans.items():
            source = known.source(known.plan.operators[scan].source)
            for table in tables:
                located = locate_references(session, known, source, table)
                rows = session.database.execute(f"SELECT file, row FROM {located}").fetchall()
                found[scan] |= {(session.files[number].block.path, row) for number, row in rows}
        paths = {scan: known.source(known.plan.operators[scan].source).path for scan in scans}
        return {scan: (paths[scan], frozenset(found[scan])) for scan in scans}
