"""The frames of window rows that a step back stands on: which rows they hold, and which of them a function takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headwater.graph.associations import Boundary, Definition, Expression, Operator
from headwater.graph.trace.plan import Needed, branches, listed, references, window_reads
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.frames import LAST, UNREAD, Reach, influence, witness
from headwater.graph.trace.step.witness_rows import Chooser


class WindowRows:
    """Rows of one window: a table `origin, …` with the columns of the window's kept table."""

    def __init__(self, session: Session, capture: Capture, operator: Operator, boundary: Boundary, rows: str) -> None:
        self._session = session
        self._capture = capture
        self._operator = operator
        self._boundary = boundary
        self._rows = rows
        self._kept = session.rows(capture, boundary)
        self._counted = {f"{c.role.removeprefix('frame_')}{c.frame}" for c in boundary.columns if c.role.startswith("frame_")}
        self._counted |= {"peers" for c in boundary.columns if c.role == "rank"}

    def influence(self) -> Iterator[tuple[Needed, Sequence[Reach]]]:
        """What all functions of the window reach together, whichever columns they read."""
        reaches = dict.fromkeys(influence(self._operator, definition, self._counted) for definition in self._operator.defines)
        yield None, self._reported(list(reaches))

    def witness(self, definitions: Iterable[Definition]) -> Iterator[tuple[Needed, Sequence[Reach]]]:
        """What each of these results reaches, and the columns that its function reads there."""
        for definition in definitions:
            yield window_reads(self._operator, [definition]), self._reported([witness(self._operator, definition, self._counted)])

    def _reported(self, reaches: Sequence[Reach]) -> Sequence[Reach]:
        """Return the reaches; report those that are too wide."""
        for reach in reaches:
            if reach.reason:
                self._session.say(self._operator.label, reach.reason, "superset")
        return reaches

    def say_unread(self, reaches: Iterable[Reach]) -> None:
        """A join above may have stopped reading within a partition: a frame that goes beyond is not whole."""
        if not any(column.role == "total" for column in self._boundary.columns):
            return
        beyond = " OR ".join(f"({reach.unread})" for reach in reaches) or "false"
        if self._session.count(f"(SELECT 1 FROM {self._rows} w WHERE w.size < w.total AND ({beyond}) LIMIT 1)"):
            self._session.say(self._operator.label, UNREAD, "missing")

    def frames(self, reaches: Iterable[Reach]) -> str:
        """A query of all rows in the ranges; overlapping ranges are merged first, so that sliding frames cost no more than whole ones."""
        ranges = " UNION ".join(
            f"SELECT origin, {reach.lo} AS lo, least({reach.hi}, {LAST}) AS hi FROM {self._rows} w WHERE {reach.lo} <= {reach.hi}"
            for reach in reaches
        )
        merged = self._session.table(
            f"WITH r AS ({ranges}), "
            "m AS (SELECT *, max(hi) OVER (PARTITION BY origin ORDER BY lo, hi ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before "
            "FROM r), "
            "n AS (SELECT *, count(CASE WHEN before IS NULL OR lo > before + 1 THEN 1 END) OVER (PARTITION BY origin ORDER BY lo, hi) "
            "AS island FROM m) "
            "SELECT origin, min(lo) AS lo, max(hi) AS hi FROM n GROUP BY origin, island"
        )
        columns = [*references(self._boundary), *branches(self._boundary)]
        return f"(SELECT m.origin{listed('w', columns)} FROM {merged} m JOIN {self._kept} w ON w.ref BETWEEN m.lo AND m.hi)"

    def chosen(self, reach: Reach, function: Expression) -> str:
        """A table of the rows that one function takes of its frame."""
        columns = references(self._boundary)
        known = [*columns, *branches(self._boundary)]
        ranges = self._session.table(
            f"SELECT DISTINCT w.ref AS grp, {reach.lo} AS lo, least({reach.hi}, {LAST}) AS hi FROM {self._rows} w "
            f"WHERE {reach.lo} <= {reach.hi}"
        )
        candidates = self._session.table(
            f"SELECT r.grp{listed('w', known)} FROM {ranges} r JOIN {self._kept} w ON w.ref BETWEEN r.lo AND r.hi"
        )
        chosen = Chooser(self._session, self._capture, self._operator, columns).choose(candidates, [function], first_at_least=False)
        return self._session.table(f"SELECT b.origin{listed('c', known)} FROM {self._rows} b JOIN {chosen} c ON c.grp = b.ref")
