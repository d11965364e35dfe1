"""One step forward: from records of a capture's scans to the records that it wrote. The inverse of an influence step back.

Boundaries are passed from the scans up. For a window, the rows reached depend on whether its frame may be opened for them (see
`backward`), so each is worked out once for every `skip` set that a window above asks with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.graph.associations import NONE, Boundary, Operator
from headwater.graph.trace.plan import WINDOWED, Column, limited, references
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.backward import Skip
from headwater.graph.trace.step.collisions import say_collided
from headwater.graph.trace.step.frames import UNREAD, Reach, influence
from headwater.graph.trace.step.row_matches import MATCH, ROW, matched
from headwater.graph.trace.step.set_operations import is_set, sides


class Forward:
    """A step through one capture, from `scans`: scan operator → table `origin, ref`."""

    def __init__(self, session: Session, capture: Capture, scans: Mapping[int, str]) -> None:
        self._session = session
        self._capture = capture
        self._plan = capture.plan
        self._reached: dict[tuple[int, Skip], str | None] = {(scan, frozenset()): table for scan, table in scans.items()}

    def run(self) -> str | None:
        """A table `origin, file, row` of what was written, `file` being an index into the capture's files; None: nothing was."""
        sink = self._plan.sink
        return self._through(sink, ["file", "row"], frozenset()) if sink else None

    def _at(self, operator: Operator, skip: Skip) -> str | None:
        """The references to an operator's rows that are reached: a table `origin, ref`."""
        kept = skip & self._plan.skippable(operator) if operator.behaviour in WINDOWED else frozenset()
        key = (operator.id, kept)
        if key not in self._reached:
            boundary = self._plan.boundary(operator)
            if match := self._plan.match(operator):
                self._reached[key] = self._matching(operator, match, boundary)
            elif boundary is None:
                self._reached[key] = None
            elif boundary.kind == "group":
                self._reached[key] = self._say_collided(operator, self._through(boundary, ["key AS ref"], kept))
            elif boundary.kind == "rows":
                self._reached[key] = self._through(boundary, ["ref"], kept)
            else:
                self._reached[key] = self._window(operator, boundary, kept)
        return self._reached[key]

    def _window(self, operator: Operator, boundary: Boundary, skip: Skip) -> str | None:
        own = self._through(boundary, ["ref"], skip)
        if operator.id in skip:
            return own
        unread = any(column.role == "total" for column in boundary.columns)
        if unread and self._session.count(f"(SELECT 1 FROM {self._session.rows(self._capture, boundary)} WHERE size < total LIMIT 1)"):
            self._session.say(operator.label, UNREAD, "missing")
        skipped = skip | self._plan.unread(operator)
        framed = self._through(boundary, ["ref", "begin"], skipped)
        dropped = self._through(boundary, ["ref"], skipped, limited(boundary))
        parts = [f"SELECT origin, ref FROM {table}" for table in (own, dropped) if table]
        if framed:
            kept = {
                f"{column.role.removeprefix('frame_')}{column.frame}" for column in boundary.columns if column.role.startswith("frame_")
            }
            reaches = dict.fromkeys(influence(operator, definition, kept) for definition in operator.defines)
            for reach in reaches:
                if reach.reason:
                    self._session.say(operator.label, reach.reason, "superset")
                parts.append(self._reaching(boundary, framed, reach))
        return self._session.table(" UNION ".join(parts)) if parts else None

    def _matching(self, operator: Operator, match: Boundary, rows: Boundary | None) -> str | None:
        """What refers to a match that is reached; of a semi-join with a condition, its rows, on either side."""
        if rows is None:
            reached = self._say_collided(operator, self._through(match, ["key AS ref"], frozenset()))
            return self._session.table(f"FROM {reached} WHERE ref <> {NONE}") if reached else None
        own = self._through(rows, ["ref"], frozenset())
        parts = [f"SELECT origin, ref FROM {own}"] if own else []
        if matches := self._through(match, ["*"], frozenset()):
            self._say_collided(operator, f"(SELECT key AS ref FROM {matches})")
            left = BoundaryRows(self._session, self._capture, rows).of_keys(matches)
            query = f"SELECT {MATCH}.origin, {ROW}.ref FROM {matches} {MATCH} JOIN {left} {ROW} ON "
            found = matched(self._session, self._capture, operator, lambda condition: self._session.table(query + condition))
            parts.append(f"SELECT origin, ref FROM {found}")
        return self._session.table(" UNION ".join(parts)) if parts else None

    def _say_collided(self, operator: Operator, rows: str | None) -> str | None:
        """Return the same rows; say so if a hash among their references is that of two keys."""
        if rows:
            say_collided(self._session, self._capture, operator, rows)
        return rows

    def _reaching(self, boundary: Boundary, framed: str, reach: Reach) -> str:
        """The rows of the same partition whose range holds one of the rows reached."""
        within = f"q.ref BETWEEN {reach.lo} AND {reach.hi}"
        rows = self._session.rows(self._capture, boundary)
        return f"SELECT q.origin, w.ref FROM {framed} q JOIN {rows} w ON w.begin = q.begin WHERE {within}"

    def _through(self, boundary: Boundary, wanted: list[str], skip: Skip, by: Iterable[Column] | None = None) -> str | None:
        """The rows of a boundary that refer to something reached, `by` some of its columns."""
        columns = ", ".join(f"b.{name}" for name in wanted)
        parts = []
        operator = self._plan.operators[boundary.operator]
        counted = references(boundary)
        if is_set(operator):
            counted = [column for side in sides(self._plan, operator, boundary) for column in side]
        for column in counted if by is None else by:
            table = self._at(self._plan.operators[column.operator], skip)
            if table is not None:
                kept = BoundaryRows(self._session, self._capture, boundary).of_records(column, table)
                parts.append(f"SELECT t.origin, {columns} FROM {kept} b JOIN {table} t ON t.ref = b.{column.name}")
        return self._session.table(" UNION ".join(parts)) if parts else None
