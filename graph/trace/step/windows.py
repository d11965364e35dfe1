"""Finds the frames of window rows in a backward step, and the rows that a function takes of a frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headwater.graph.associations import Boundary, Definition, Expression, Operator
from headwater.graph.trace.plan import Needed, find_window_reads, format_columns, list_branches, list_references
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.frames import LAST, UNREAD, FrameReach, find_influence, find_witness
from headwater.graph.trace.step.witness_rows import Chooser


class WindowRows:
    """Rows of one window: a table `origin, …` with the columns of the window's kept table."""

    def __init__(self, session: Session, capture: Capture, operator: Operator, boundary: Boundary, rows: str) -> None:
        self._session = session
        self._capture = capture
        self._operator = operator
        self._boundary = boundary
        self._rows = rows
        self._kept_table = session.query_rows(capture, boundary)
        self._frame_columns = {f"{c.role.removeprefix('frame_')}{c.frame}" for c in boundary.columns if c.role.startswith("frame_")}
        self._frame_columns |= {"peers" for c in boundary.columns if c.role == "rank"}

    def list_influences(self) -> Iterator[tuple[Needed, Sequence[FrameReach]]]:
        """Yield the frames of all functions of the window together, and None for the columns that they need (all columns)."""
        reaches = dict.fromkeys(find_influence(self._operator, definition, self._frame_columns) for definition in self._operator.defines)
        yield None, self._report_reason(list(reaches))

    def list_witnesses(self, definitions: Iterable[Definition]) -> Iterator[tuple[Needed, Sequence[FrameReach]]]:
        """Yield the frame of each of these results, and the columns that its function reads there."""
        for definition in definitions:
            yield (
                find_window_reads(self._operator, [definition]),
                self._report_reason([find_witness(self._operator, definition, self._frame_columns)]),
            )

    def _report_reason(self, reaches: Sequence[FrameReach]) -> Sequence[FrameReach]:
        for reach in reaches:
            if reach.reason:
                self._session.report(self._operator.label, reach.reason, "superset")
        return reaches

    def report_unread(self, reaches: Iterable[FrameReach]) -> None:
        """Report frames with unread rows. A join above the window may have stopped reading within a partition."""
        if not any(column.role == "total" for column in self._boundary.columns):
            return
        outside_condition = " OR ".join(f"({reach.unread})" for reach in reaches) or "false"
        if self._session.count_rows(f"(SELECT 1 FROM {self._rows} w WHERE w.size < w.total AND ({outside_condition}) LIMIT 1)"):
            self._session.report(self._operator.label, UNREAD, "missing")

    def query_frames(self, reaches: Iterable[FrameReach]) -> str:
        """Return a query of all rows in the ranges. Overlapping ranges are merged first, so sliding frames stay cheap."""
        ranges = " UNION ".join(
            f"SELECT origin, {reach.lo} AS lo, least({reach.hi}, {LAST}) AS hi FROM {self._rows} w WHERE {reach.lo} <= {reach.hi}"
            for reach in reaches
        )
        merged_rows = self._session.make_table(
            f"WITH r AS ({ranges}), "
            "m AS (SELECT *, max(hi) OVER (PARTITION BY origin ORDER BY lo, hi ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before "
            "FROM r), "
            "n AS (SELECT *, count(CASE WHEN before IS NULL OR lo > before + 1 THEN 1 END) OVER (PARTITION BY origin ORDER BY lo, hi) "
            "AS island FROM m) "
            "SELECT origin, min(lo) AS lo, max(hi) AS hi FROM n GROUP BY origin, island"
        )
        columns = [*list_references(self._boundary), *list_branches(self._boundary)]
        return (
            f"(SELECT m.origin{format_columns('w', columns)} FROM {merged_rows} m JOIN {self._kept_table} w ON w.ref BETWEEN m.lo AND m.hi)"
        )

    def choose_rows(self, reach: FrameReach, function: Expression) -> str:
        """Return a table of the rows that one function takes of its frame."""
        columns = list_references(self._boundary)
        columns_with_branches = [*columns, *list_branches(self._boundary)]
        ranges = self._session.make_table(
            f"SELECT DISTINCT w.ref AS grp, {reach.lo} AS lo, least({reach.hi}, {LAST}) AS hi FROM {self._rows} w "
            f"WHERE {reach.lo} <= {reach.hi}"
        )
        candidates = self._session.make_table(
            f"SELECT r.grp{format_columns('w', columns_with_branches)} FROM {ranges} r "
            f"JOIN {self._kept_table} w ON w.ref BETWEEN r.lo AND r.hi"
        )
        chosen_rows = Chooser(self._session, self._capture, self._operator, columns).choose(candidates, [function], first_at_least=False)
        return self._session.make_table(
            f"SELECT b.origin{format_columns('c', columns_with_branches)} FROM {self._rows} b JOIN {chosen_rows} c ON c.grp = b.ref"
        )
