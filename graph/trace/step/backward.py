"""The step backward: from records that a capture wrote to the records of its scans.

The state of a step is a set of (origin, reference) at an operator. A boundary of the operator replaces these references by references to
operators below. `origin` is the record that a trace began with, for traces that return pairs.

For a witness, each state also has C, the chosen columns. The rows of a window's frame only need the columns that its function reads.

For influence, adjacent windows that do not read each other's results count as one (docs: semantics). Rows of a frame therefore have a
`skip` set: windows below whose frames are not followed for these rows. For a witness, C has this effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.graph.associations import NONE, Behaviour, Boundary, Operator
from headwater.graph.duck.memory_tables import distinct, taken
from headwater.graph.records.tables import schema_of
from headwater.graph.trace.plan import (
    WINDOWED,
    Branches,
    Column,
    Needed,
    find_needs,
    format_columns,
    list_branches,
    list_names,
    list_partitions,
    list_references,
    select_definitions,
)
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.collisions import report_collisions
from headwater.graph.trace.step.lookup import Lookup, select_group_rows
from headwater.graph.trace.step.row_matches import MATCH, ROW, find_matches, is_branch
from headwater.graph.trace.step.set_operations import is_set_operation, select_side, split_sides
from headwater.graph.trace.step.windows import WindowRows
from headwater.graph.trace.step.witness_rows import Chooser, list_aggregates

Skip = frozenset[int]

_BY_PLACE = frozenset({Behaviour.SOURCE, Behaviour.WINDOW})  # references to their rows are places; a negative reference names no row


@dataclass(frozen=True, slots=True)
class BackwardResult:
    """The result of a step: queries `origin, ref` by scan and needed columns, and the number of start records in the capture.

    A query may have no rows.
    """

    scans: dict[tuple[int, Needed], list[str]]
    records: int


@dataclass(frozen=True, slots=True)
class _Carry:
    """The values that go down with a reference: C of a witness, as the inputs of its operator, or the windows to skip."""

    inputs: Needed = None
    skip: Skip = frozenset()
    branches: Branches = ()


@dataclass(frozen=True, slots=True)
class _State:
    """The position of a set of references: an operator, the columns that it must provide, and the windows to skip."""

    operator: int
    columns: Needed
    skip: Skip


class Backward:
    """A step through one capture. `columns` is C of a witness, as attributes; the step follows `goal_operators` only."""

    def __init__(
        self, session: Session, capture: Capture, *, witness: bool, columns: Needed = None, goal_operators: frozenset[int]
    ) -> None:
        self._session = session
        self._capture = capture
        self._plan = capture.plan
        self._lookup = Lookup(session, capture)
        self._witness = witness
        self._goal_operators = goal_operators
        root = self._plan.operators[capture.manifest.operators[0].id] if capture.manifest.operators else None
        is_whole = witness and columns is None and root is not None and root.written
        # Without requested columns, C is all columns that the query wrote.
        self._columns = frozenset(root.written) if is_whole and root is not None else columns
        opaque_operators = [operator for operator in self._plan.operators.values() if find_needs(operator, frozenset()) is None]
        if witness and opaque_operators and (columns is not None or any(map(self._plan.between_windows, opaque_operators))):
            session.report(opaque_operators[0].op, "which columns it needs is not known; those of the whole row are traced", "superset")
        self._states: dict[_State, list[str]] = {}

    def run(self, begin: str, places: Mapping[int, int]) -> BackwardResult:
        """Follow a table `origin, file, row` backward.

        `places` maps a file number of the session to its index among the capture's files.
        """
        sink = self._plan.sink
        if sink is None:
            return BackwardResult({}, 0)
        columns = list_references(sink)
        rows = self._lookup.find_at_places(sink, begin, places, list_names([*columns, *list_branches(sink)]))
        row_count, start_count = self._session.count_rows(rows), self._session.count_rows(begin)
        if row_count < start_count:
            self._session.report(
                f"capture {self._capture.id}",
                f"it says nothing about {start_count - row_count} of the {start_count} records asked for",
                "missing",
            )
        root = self._plan.operators[self._capture.manifest.operators[0].id]
        self._pass_down_by_branch(rows, sink, root, _Carry(find_needs(root, self._columns)))
        scans: dict[tuple[int, Needed], list[str]] = {}
        while self._states:
            position = min(
                self._states,
                key=lambda position: (self._plan.order[position.operator], sorted(position.skip), sorted(position.columns or ())),
            )
            operator, parts = self._plan.operators[position.operator], self._states.pop(position)
            if operator.behaviour is Behaviour.SOURCE:
                scans.setdefault((operator.id, position.columns), []).extend(parts)
                continue
            state = parts[0] if len(parts) == 1 else self._session.unite_columns(parts, ["origin", "ref"])
            if self._plan.match(operator) is not None:
                self._step_match(operator, state, position)
            elif operator.behaviour is Behaviour.WINDOW:
                self._step_window(operator, state, position)
            elif operator.behaviour is Behaviour.KEPT:
                self._step_cached(operator, state, position)
            else:
                self._step_group(operator, state, position)
        return BackwardResult(scans, row_count)

    def _step_group(self, operator: Operator, state: str, position: _State) -> None:
        boundary = self._get_boundary(operator)
        if boundary is None:
            return
        has_collisions = report_collisions(self._session, self._capture, operator, state)
        if is_set_operation(operator):
            for side in split_sides(self._plan, operator, boundary):
                self._step_side(operator, boundary, state, side, has_collisions=has_collisions)
            return
        columns, columns_with_branches = list_references(boundary), [*list_references(boundary), *list_branches(boundary)]
        if not self._witness or operator.behaviour is not Behaviour.GROUP:
            rows = self._lookup.find_rows(boundary, state, list_names(columns), by="key")
            self._report_lost_groups(operator, rows)
            self._pass_down(rows, columns, operator, _Carry(None, position.skip))
            return
        outputs = select_definitions(operator, position.columns)
        functions = list_aggregates([definition.expr for definition in outputs])
        candidates = self._lookup.find_groups(boundary, state, list_names(columns_with_branches))
        self._report_lost_groups(operator, candidates)
        if not has_collisions and not operator.whole:
            chooser = Chooser(self._session, self._capture, operator, columns)
            candidates = chooser.choose(candidates, functions, first_at_least=True, outputs=outputs)
            if chooser.unchosen is not None:
                firsts = select_group_rows(self._session, state, chooser.unchosen, list_names(columns_with_branches))
                self._pass_down_by_branch(firsts, boundary, operator, _Carry(find_needs(operator, frozenset())))
        rows = select_group_rows(self._session, state, candidates, list_names(columns_with_branches))
        self._pass_down_by_branch(rows, boundary, operator, _Carry(find_needs(operator, position.columns)))

    def _report_lost_groups(self, operator: Operator, rows: str) -> None:
        """Report groups and window rows that the capture lacks. Only a global aggregate may have an empty group."""
        if not self._session.count_rows(rows) and (operator.keys or operator.behaviour is Behaviour.WINDOW):
            self._session.report(operator.label, "the rows that are referred to were not recorded", "missing")

    def _step_side(self, operator: Operator, boundary: Boundary, state: str, columns: list[Column], *, has_collisions: bool) -> None:
        """Follow one side of INTERSECT ALL or EXCEPT ALL: all equal rows, or for a witness the first equal row."""
        candidates = self._session.make_table(
            f"SELECT g.key AS grp{format_columns('g', columns)} FROM (SELECT DISTINCT ref FROM {state}) s "
            f"JOIN {self._session.query_rows(self._capture, boundary)} g ON g.key = s.ref WHERE {select_side('g', columns)}"
        )
        if self._witness and not has_collisions:
            candidates = Chooser(self._session, self._capture, operator, columns).choose(candidates, [], first_at_least=True)
        rows = select_group_rows(self._session, state, candidates, list_names(columns))
        self._pass_down(rows, columns, operator, _Carry(find_needs(operator, frozenset())))

    def _step_window(self, operator: Operator, state: str, position: _State) -> None:
        boundary = self._get_boundary(operator)
        if boundary is None:
            return
        rows = self._query_named_rows(state, boundary)
        self._report_lost_groups(operator, rows)
        self._pass_down_by_branch(rows, boundary, operator, _Carry(find_needs(operator, position.columns), position.skip))
        if operator.id in position.skip:
            return
        skip = position.skip | self._plan.find_unread_windows(operator)
        if not self._witness:
            self._pass_down(rows, list_partitions(boundary), operator, _Carry(None, skip))
        window_rows = WindowRows(self._session, self._capture, operator, boundary, rows)
        for needed_columns, reaches in (
            window_rows.list_witnesses(select_definitions(operator, position.columns)) if self._witness else window_rows.list_influences()
        ):
            carry = _Carry(needed_columns) if self._witness else _Carry(None, skip)
            window_rows.report_unread(reaches)
            if self._witness and any(reach.reason for reach in reaches):
                self._pass_down(
                    rows, list_partitions(boundary), operator, carry
                )  # all rows of the partition, also rows that a limit dropped
            if whole_frames := [reach for reach in reaches if reach.choice is None]:
                self._pass_down_by_branch(window_rows.query_frames(whole_frames), boundary, operator, carry)
            for reach in reaches:
                if reach.choice is not None:
                    self._pass_down_by_branch(window_rows.choose_rows(reach, reach.choice), boundary, operator, carry)

    def _query_named_rows(self, state: str, boundary: Boundary) -> str:
        return self._lookup.find_rows(boundary, state, schema_of(boundary).names, by="ref")

    def _step_cached(self, operator: Operator, state: str, position: _State) -> None:
        boundary = self._get_boundary(operator)
        if boundary is not None:
            rows = self._query_named_rows(state, boundary)
            if self._session.count_rows(rows) < self._session.count_rows(state):
                self._session.report(operator.label, "some of the cached rows that are referred to were not recorded", "missing")
            self._pass_down_by_branch(rows, boundary, operator, _Carry(find_needs(operator, position.columns), position.skip))

    def _step_match(self, operator: Operator, state: str, position: _State) -> None:
        """Follow the rows that a semi-join matched (for a witness the first), or the row of a subquery."""
        boundary, rows = self._plan.match(operator), self._plan.boundary(operator)
        if boundary is None:
            self._session.report(operator.label, "its boundary is not in the capture", "missing")
            return
        own_rows = self._query_named_rows(state, rows) if rows else state
        if rows:
            self._pass_down_by_branch(own_rows, rows, operator, _Carry(find_needs(operator, position.columns)))
        columns, columns_with_branches = list_references(boundary), [*list_references(boundary), *list_branches(boundary)]
        if not columns or (
            self._witness
            and position.columns is not None
            and self._list_found_columns(operator)
            and not position.columns & self._list_found_columns(operator)
        ):
            return
        candidates = self._query_candidates(operator, boundary, own_rows, filtered=rows is not None)
        keys = f"(SELECT key AS ref FROM {own_rows})" if rows else own_rows
        if not report_collisions(self._session, self._capture, operator, keys) and self._witness:
            candidates = Chooser(self._session, self._capture, operator, columns).choose(candidates, [], first_at_least=True)
            if self._session.count_rows(candidates) and is_branch(self._plan, operator) and not self._plan.knows_branches(operator):
                reason = "whether another branch of the condition held was not recorded; the first match is given"
                self._session.report(operator.label, reason, "superset")
        matching_rows = select_group_rows(self._session, state, candidates, list_names(columns_with_branches))
        self._pass_down_by_branch(matching_rows, boundary, operator, _Carry(_find_read_columns(operator, position.columns)))

    def _query_candidates(self, operator: Operator, boundary: Boundary, rows: str, *, filtered: bool) -> str:
        columns = [*list_references(boundary), *list_branches(boundary)]
        if not filtered:
            return self._lookup.find_groups(boundary, rows, list_names(columns))
        matches = f"{BoundaryRows(self._session, self._capture, boundary).find_by_references(f'(SELECT key AS ref FROM {rows})')} {MATCH}"
        unique = self._session.make_table(f"SELECT DISTINCT ON (ref) * FROM {rows}")
        query = f"SELECT {ROW}.ref AS grp{format_columns(MATCH, columns)} FROM {unique} {ROW} JOIN {matches} ON "
        return find_matches(self._session, self._capture, operator, lambda condition: self._session.make_table(query + condition))

    @staticmethod
    def _list_found_columns(operator: Operator) -> frozenset[int]:
        """Return the columns with the result of a subquery or an existence join. A semi-join has no such column."""
        return frozenset(column.attr for column in operator.attributes)

    def _pass_down_by_branch(self, rows: str, boundary: Boundary, upper_operator: Operator, carry: _Carry) -> None:
        """Pass references to the operators below.

        For a witness, each branch goes down separately, because branches need different columns.
        """
        columns, ways = list_references(boundary), list_branches(boundary)
        expands = all(self._plan.operators[way.operator].behaviour is Behaviour.BRANCHES for way in ways)
        if not self._witness or not ways or (carry.inputs is None and expands):
            self._pass_down(rows, columns, upper_operator, carry)
            return
        rows = self._session.make_table(f"FROM {rows}") if rows.startswith("(") else rows
        for numbers in self._session.database.execute(f"SELECT DISTINCT {', '.join(way.name for way in ways)} FROM {rows}").fetchall():
            condition = " AND ".join(f"{way.name} = {number}" for way, number in zip(ways, numbers, strict=True))
            row_branches = tuple((way.operator, number) for way, number in zip(ways, numbers, strict=True) if number >= 0)
            self._pass_down(f"(FROM {rows} WHERE {condition})", columns, upper_operator, _Carry(carry.inputs, carry.skip, row_branches))

    def _pass_down(self, rows: str, columns: Iterable[Column], upper_operator: Operator, carry: _Carry) -> None:
        carried = self._plan.list_carried_columns(upper_operator, carry.inputs, carry.branches) if self._witness else {}
        followed_columns = [column for column in columns if column.operator in self._goal_operators]
        if len(followed_columns) > 1 and rows.startswith("("):
            rows = self._session.make_table(f"FROM {rows}")
        for column in followed_columns:
            operator, operator_needs = self._plan.operators[column.operator], carried.get(column.operator)
            if operator.behaviour is Behaviour.MATCH and (operator.id, 1) in carry.branches:
                if self._plan.boundary(operator) is None:
                    continue  # the row needs none of its matches
                operator_needs = self._remove_match(operator, operator_needs)
            table = self._query_references(rows, column.name, operator)
            if operator.behaviour is Behaviour.SOURCE or self._session.count_rows(table):
                skip = carry.skip & self._plan.skippable(operator) if operator.behaviour in WINDOWED else frozenset()
                self._states.setdefault(_State(operator.id, self._keep_relevant(operator, operator_needs), skip), []).append(table)

    def _query_references(self, rows: str, column: str, operator: Operator) -> str:
        in_memory = self._session.get_columns(rows)
        if in_memory is not None:
            refs = in_memory[column]
            is_present = refs >= 0 if operator.behaviour in _BY_PLACE else refs != NONE
            return self._session.keep_in_memory(distinct(taken({"origin": in_memory["origin"], "ref": refs}, is_present)))
        condition = f"{column} >= 0" if operator.behaviour in _BY_PLACE else f"{column} <> {NONE}"
        select = f"SELECT DISTINCT origin, {column} AS ref FROM {rows} WHERE {condition}"
        # References that end here are read only once more, so they need no table.
        return f"({select})" if operator.behaviour is Behaviour.SOURCE else self._session.make_table(select)

    def _remove_match(self, join: Operator, columns: Needed) -> Needed:
        """Remove the result column of an existence join (whether there is a match) from C."""
        if columns is None:
            left_operators = list(self._plan.upstream(self._plan.children(join)[0]))
            left_attributes = frozenset(definition.attr for left_operator in left_operators for definition in left_operator.defines)
            columns = left_attributes | {column.attr for left_operator in left_operators for column in left_operator.attributes}
        return columns - self._list_found_columns(join)

    def _keep_relevant(self, operator: Operator, columns: Needed) -> Needed:
        """Restrict C to attributes of the operator, so that states with the same needs are equal."""
        matched = operator.behaviour is Behaviour.MATCH and self._plan.boundary(operator) is not None
        if columns is None or operator.behaviour is Behaviour.WINDOW or matched:
            return columns
        return columns & {column.attr for column in operator.attributes} | columns & {definition.attr for definition in operator.defines}

    def _get_boundary(self, operator: Operator) -> Boundary | None:
        boundary = self._plan.boundary(operator)
        if boundary is None:
            self._session.report(operator.label, "its boundary is not in the capture", "missing")
        return boundary


def _find_read_columns(operator: Operator, columns: Needed) -> Needed:
    return find_needs(operator, frozenset() if operator.behaviour is Behaviour.MATCH else columns)
