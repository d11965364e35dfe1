"""Finds groups that a trace may not compute within the trace budget, although the job expected so.

The job does not know the number of rows in a group before its query has run. The capture has the number of groups. The size of an average
group follows from it, if all groups have one size and no filter removes rows. The time to process these rows is missing in the estimate.
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
_ROWS_A_SECOND = 5.0e6  # of a group, in addition to the time of the search
_FAULTS = (SourceChangedError, Untranslatable, duckdb.IOException, duckdb.InvalidInputException)  # traces report these


def find_slow_boundaries(session: Session, capture: Capture) -> list[Boundary]:
    """Return the boundaries of a capture in mode `auto` that exceed the budget: the slowest, and as few as possible."""
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
    """Return the expected seconds for one group: the estimate, and the time for the rows of an average group."""
    assert boundary.recomputed is not None  # noqa: S101  # it is to be found again
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
    """Return the number of records in the scans below a boundary."""
    scans = capture.plan.scans(find_input(capture, boundary))
    files = [file.make_read_file() for scan in scans for file in make_whole_scan(session, capture, scan, {}).files]
    return sum(footer.rows for footer in read_footers(session.database, files)) if files else 0
