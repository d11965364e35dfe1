"""Finds the groups that a trace may need longer to compute again than the trace budget allows, which the job could not estimate.

How many rows a group has nobody knows before the query has run. When its capture arrives, the number of groups is known, and so how
many rows a group has if those of the files are shared among them alike and no filter leaves any out: handing these on is what the
estimate lacks.
"""

from __future__ import annotations

import duckdb

from headwater.errors import SourceChangedError
from headwater.graph.associations import Boundary
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.files.footers import footers
from headwater.graph.trace.plan import references
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.recompute.spec import input_of
from headwater.graph.trace.recompute.whole_scan import whole_scan
from headwater.graph.trace.session import Capture, Session

_BUDGET = 1.0  # seconds: the trace budget unless a program states another
_ROWS_A_SECOND = 5.0e6  # of a group, beyond finding them
_FAULTS = (SourceChangedError, Untranslatable, duckdb.IOException, duckdb.InvalidInputException)  # then traces say so


def beyond_budget(session: Session, capture: Capture) -> list[Boundary]:
    """The groups of a capture in mode `auto` without which its traces are within the budget: those that take longest, as few as will do."""
    if capture.manifest.mode != "auto":
        return []  # in `lazy` the first question pays, by the program's own choice
    left = [
        boundary
        for boundary in capture.manifest.boundaries
        if boundary.kind == "group" and BoundaryRows(session, capture, boundary).recomputed
    ]
    seconds = {boundary.boundary: _seconds(session, capture, boundary) for boundary in left}
    left.sort(key=lambda boundary: seconds[boundary.boundary])
    found: list[Boundary] = []
    while left and sum(seconds[boundary.boundary] for boundary in left) > _BUDGET:
        found.append(left.pop())
    return found


def _seconds(session: Session, capture: Capture, boundary: Boundary) -> float:
    """The expected seconds for one group: the estimate, and the time for the rows of an average group."""
    assert boundary.recomputed is not None  # noqa: S101  # it is to be found again
    estimated = boundary.recomputed.estimate_ms / 1000
    others = [other for other in capture.manifest.boundaries for column in references(other) if column.operator == boundary.operator]
    if any(BoundaryRows(session, capture, other).recomputed for other in others):
        return estimated  # how many groups there are would have to be found again first
    try:
        groups = session.count(f"({BoundaryRows(session, capture, boundary).referred()})")
        return estimated + _rows(session, capture, boundary) / max(groups, 1) / _ROWS_A_SECOND
    except _FAULTS:
        return estimated


def _rows(session: Session, capture: Capture, boundary: Boundary) -> int:
    """The number of records in the scans below a boundary."""
    scans = capture.plan.scans(input_of(capture, boundary))
    files = [file.readable() for scan in scans for file in whole_scan(session, capture, scan, {}).files]
    return sum(footer.rows for footer in footers(session.database, files)) if files else 0
