"""The step forward: from records of a capture's scans to the records that it wrote. It is the inverse of a backward step for influence.

The step goes from the scans up, boundary by boundary. The rows that are reached through a window depend on whether its frame counts for
them (see `backward`), so each operator is computed once for every `skip` set that a window above uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.graph.associations import NONE, Boundary, Operator
from headwater.graph.trace.plan import WINDOWED, Column, list_partitions, list_references
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.backward import Skip
from headwater.graph.trace.step.collisions import report_collisions
from headwater.graph.trace.step.frames import UNREAD, FrameReach, find_influence
from headwater.graph.trace.step.row_matches import MATCH, ROW, find_matches
from headwater.graph.trace.step.set_operations import is_set_operation, split_sides


class Forward:
    """A step through one capture, from `scans`: scan operator → table `origin, ref`."""

    def __init__(self, session: Session, capture: Capture, scans: Mapping[int, str]) -> None:
        self._session = session
        self._capture = capture
        self._plan = capture.plan
        self._reached_tables: dict[tuple[int, Skip], str | None] = {(scan, frozenset()): table for scan, table in scans.items()}

    def run(self) -> str | None:
        """Return a table `origin, file, row` of written records; `file` is an index into the capture's files.

        None if no record was reached.
        """
        sink = self._plan.sink
        return self._query_boundary(sink, ["file", "row"], frozenset()) if sink else None

    def _reach_operator(self, operator: Operator, skip: Skip) -> str | None:
        kept_skip = skip & self._plan.skippable(operator) if operator.behaviour in WINDOWED else frozenset()
        key = (operator.id, kept_skip)
        if key not in self._reached_tables:
            boundary = self._plan.boundary(operator)
            if match := self._plan.match(operator):
                self._reached_tables[key] = self._reach_match(operator, match, boundary)
            elif boundary is None:
                self._reached_tables[key] = None
            elif boundary.kind == "group":
                self._reached_tables[key] = self._report_collisions(operator, self._query_boundary(boundary, ["key AS ref"], kept_skip))
            elif boundary.kind == "rows":
                self._reached_tables[key] = self._query_boundary(boundary, ["ref"], kept_skip)
            else:
                self._reached_tables[key] = self._reach_window(operator, boundary, kept_skip)
        return self._reached_tables[key]

    def _reach_window(self, operator: Operator, boundary: Boundary, skip: Skip) -> str | None:
        own_rows = self._query_boundary(boundary, ["ref"], skip)
        if operator.id in skip:
            return own_rows
        has_totals = any(column.role == "total" for column in boundary.columns)
        if has_totals and self._session.count_rows(
            f"(SELECT 1 FROM {self._session.query_rows(self._capture, boundary)} WHERE size < total LIMIT 1)"
        ):
            self._session.report(operator.label, UNREAD, "missing")
        all_skipped = skip | self._plan.find_unread_windows(operator)
        framed = self._query_boundary(boundary, ["ref", "begin"], all_skipped)
        dropped_rows = self._query_boundary(boundary, ["ref"], all_skipped, list_partitions(boundary))
        parts = [f"SELECT origin, ref FROM {table}" for table in (own_rows, dropped_rows) if table]
        if framed:
            reach_by_skip = {
                f"{column.role.removeprefix('frame_')}{column.frame}" for column in boundary.columns if column.role.startswith("frame_")
            }
            reaches = dict.fromkeys(find_influence(operator, definition, reach_by_skip) for definition in operator.defines)
            for reach in reaches:
                if reach.reason:
                    self._session.report(operator.label, reach.reason, "superset")
                parts.append(self._query_window_rows(boundary, framed, reach))
        return self._session.make_table(" UNION ".join(parts)) if parts else None

    def _reach_match(self, operator: Operator, match: Boundary, rows: Boundary | None) -> str | None:
        """Return the references to reached matches. For a semi-join with a condition, return references to its rows."""
        if rows is None:
            reached_keys = self._report_collisions(operator, self._query_boundary(match, ["key AS ref"], frozenset()))
            return self._session.make_table(f"FROM {reached_keys} WHERE ref <> {NONE}") if reached_keys else None
        own_rows = self._query_boundary(rows, ["ref"], frozenset())
        parts = [f"SELECT origin, ref FROM {own_rows}"] if own_rows else []
        if matches := self._query_boundary(match, ["*"], frozenset()):
            self._report_collisions(operator, f"(SELECT key AS ref FROM {matches})")
            left_rows = BoundaryRows(self._session, self._capture, rows).find_by_keys(matches)
            query = f"SELECT {MATCH}.origin, {ROW}.ref FROM {matches} {MATCH} JOIN {left_rows} {ROW} ON "
            matching_rows = find_matches(
                self._session, self._capture, operator, lambda condition: self._session.make_table(query + condition)
            )
            parts.append(f"SELECT origin, ref FROM {matching_rows}")
        return self._session.make_table(" UNION ".join(parts)) if parts else None

    def _report_collisions(self, operator: Operator, rows: str | None) -> str | None:
        if rows:
            report_collisions(self._session, self._capture, operator, rows)
        return rows

    def _query_window_rows(self, boundary: Boundary, framed: str, reach: FrameReach) -> str:
        frame_condition = f"q.ref BETWEEN {reach.lo} AND {reach.hi}"
        rows = self._session.query_rows(self._capture, boundary)
        return f"SELECT q.origin, w.ref FROM {framed} q JOIN {rows} w ON w.begin = q.begin WHERE {frame_condition}"

    def _query_boundary(
        self, boundary: Boundary, selected_columns: list[str], skip: Skip, by: Iterable[Column] | None = None
    ) -> str | None:
        columns = ", ".join(f"b.{name}" for name in selected_columns)
        parts = []
        operator = self._plan.operators[boundary.operator]
        reference_columns = list_references(boundary)
        if is_set_operation(operator):
            reference_columns = [column for side in split_sides(self._plan, operator, boundary) for column in side]
        for column in reference_columns if by is None else by:
            table = self._reach_operator(self._plan.operators[column.operator], skip)
            if table is not None:
                boundary_rows = BoundaryRows(self._session, self._capture, boundary).find_by_records(column, table)
                parts.append(f"SELECT t.origin, {columns} FROM {boundary_rows} b JOIN {table} t ON t.ref = b.{column.name}")
        return self._session.make_table(" UNION ".join(parts)) if parts else None
