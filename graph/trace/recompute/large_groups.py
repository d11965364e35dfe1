"""Finds groups that a trace cannot compute within the trace budget, although the job's estimate said so.

The job does not know the size of a group before its query runs. The capture has the number of groups, and so the average size of a group.
The job's estimate lacks the time to process these rows, so this module adds it.
"""

from __future__ import annotations

import duckdb

from headwater.errors import SourceChangedError
from headwater.graph.associations import Boundary
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.files.footers import read_footers
from headwater.graph.trace.plan import list_references
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.recompute.spec import find_input
from headwater.graph.trace.recompute.whole_scan import make_whole_scan
from headwater.graph.trace.session import Capture, Session

_BUDGET = 1.0  # seconds: the trace budget unless a program states another
_ROWS_A_SECOND = 5.0e6  # rows of a group that a trace processes in a second, once they are found
_FAULTS = (SourceChangedError, Untranslatable, duckdb.IOException, duckdb.InvalidInputException)  # traces report these


def find_slow_boundaries(session: Session, capture: Capture) -> list[Boundary]:
    """Return the boundaries of a capture that must be kept to meet the trace budget: the slowest first, and as few as possible.

    Only captures in mode `auto` have a budget.
    """
    if capture.manifest.mode != "auto":
        return []  # in mode `lazy` the program accepts a slow first trace
    derived_boundaries = [
        boundary
        for boundary in capture.manifest.boundaries
        if boundary.kind == "group" and BoundaryRows(session, capture, boundary).recomputed
    ]
    seconds = {boundary.boundary: _estimate_seconds(session, capture, boundary) for boundary in derived_boundaries}
    derived_boundaries.sort(key=lambda boundary: seconds[boundary.boundary])
    slow_boundaries: list[Boundary] = []
    while derived_boundaries and sum(seconds[boundary.boundary] for boundary in derived_boundaries) > _BUDGET:
        slow_boundaries.append(derived_boundaries.pop())
    return slow_boundaries


def _estimate_seconds(session: Session, capture: Capture, boundary: Boundary) -> float:
    """Return the expected seconds to compute one group: the job's estimate, and the time for the rows of an average group."""
    assert boundary.recomputed is not None  # noqa: S101  # callers pass recomputed boundaries only
    estimated = boundary.recomputed.estimate_ms / 1000
    referring_boundaries = [
        other_boundary
        for other_boundary in capture.manifest.boundaries
        for column in list_references(other_boundary)
        if column.operator == boundary.operator
    ]
    if any(BoundaryRows(session, capture, other_boundary).recomputed for other_boundary in referring_boundaries):
        return estimated  # the number of groups is not known
    try:
        groups = session.count_rows(f"({BoundaryRows(session, capture, boundary).query_references()})")
        return estimated + _count_rows(session, capture, boundary) / max(groups, 1) / _ROWS_A_SECOND
    except _FAULTS:
        return estimated


def _count_rows(session: Session, capture: Capture, boundary: Boundary) -> int:
    scans = capture.plan.scans(find_input(capture, boundary))
    files = [file.make_read_file() for scan in scans for file in make_whole_scan(session, capture, scan, {}).files]
    return sum(footer.rows for footer in read_footers(session.database, files)) if files else 0
