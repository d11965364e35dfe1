"""One step back: from records that a capture wrote to the records of its scans.

The states of a step are sets of (origin, reference) at an operator; a boundary turns those of its operator into those of the
operators below. `origin` is the record that a trace began with, carried along where pairs are asked for.

A witness carries C with each state. The rows of a window's frame carry what its function reads, and no more.

For influence, windows that stand next to each other and do not read each other's results count as one (docs: semantics). So the rows
of a frame are followed with a `skip` set: the windows below whose frames must not be opened for them. (In a witness C does that.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.graph.associations import NONE, Behaviour, Boundary, Operator
from headwater.graph.duck.memory_tables import distinct, taken
from headwater.graph.records.tables import schema_of
from headwater.graph.trace.plan import (
    WINDOWED,
    Column,
    Made,
    Needed,
    branches,
    limited,
    listed,
    names,
    needs_of,
    picked,
    references,
)
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.collisions import say_collided
from headwater.graph.trace.step.lookup import Lookup, of_groups
from headwater.graph.trace.step.row_matches import MATCH, ROW, is_branch, matched
from headwater.graph.trace.step.set_operations import is_set, on_side, sides
from headwater.graph.trace.step.windows import WindowRows
from headwater.graph.trace.step.witness_rows import Chooser, aggregates

Skip = frozenset[int]

_BY_PLACE = frozenset({Behaviour.SOURCE, Behaviour.WINDOW})  # a reference to a row of these is a place; a negative one is none


@dataclass(frozen=True, slots=True)
class Step:
    """What a step reached: for each scan, and what is needed of it, queries `origin, ref` (of no rows, maybe); how many rows it knows."""

    scans: dict[tuple[int, Needed], list[str]]
    records: int


@dataclass(frozen=True, slots=True)
class _Carry:
    """What goes down with references: C of a witness, as the inputs of the operator that they come from; or the windows to skip."""

    inputs: Needed = None
    skip: Skip = frozenset()
    made: Made = ()


@dataclass(frozen=True, slots=True)
class _At:
    """Where a set of references stands: at an operator, with what it must give, and the windows to skip."""

    operator: int
    given: Needed
    skip: Skip


class Backward:
    """A step through one capture. `columns` is C of a witness, as attributes; `towards` are the only operators to be followed."""

    def __init__(self, session: Session, capture: Capture, *, witness: bool, columns: Needed = None, towards: frozenset[int]) -> None:
        self._session = session
        self._capture = capture
        self._plan = capture.plan
        self._lookup = Lookup(session, capture)
        self._witness = witness
        self._towards = towards
        root = self._plan.operators[capture.manifest.operators[0].id] if capture.manifest.operators else None
        whole = witness and columns is None and root is not None and root.written
        # Without a choice C is what the query wrote, which may need less than all that it read.
        self._columns = frozenset(root.written) if whole and root is not None else columns
        unknown = [operator for operator in self._plan.operators.values() if needs_of(operator, frozenset()) is None]
        if witness and unknown and (columns is not None or any(map(self._plan.between_windows, unknown))):
            session.say(unknown[0].op, "which columns it needs is not known; those of the whole row are traced", "superset")
        self._states: dict[_At, list[str]] = {}

    def run(self, begin: str, places: Mapping[int, int]) -> Step:
        """From a table `origin, file, row`; `places` maps a file of the session to its place among the capture's files."""
        sink = self._plan.sink
        if sink is None:
            return Step({}, 0)
        columns = references(sink)
        rows = self._lookup.at_places(sink, begin, places, names([*columns, *branches(sink)]))
        known, asked = self._session.count(rows), self._session.count(begin)
        if known < asked:
            self._session.say(
                f"capture {self._capture.id}", f"it says nothing about {asked - known} of the {asked} records asked for", "missing"
            )
        root = self._plan.operators[self._capture.manifest.operators[0].id]
        self._spread_by_branch(rows, sink, root, _Carry(needs_of(root, self._columns)))
        scans: dict[tuple[int, Needed], list[str]] = {}
        while self._states:
            at = min(self._states, key=lambda at: (self._plan.order[at.operator], sorted(at.skip), sorted(at.given or ())))
            operator, parts = self._plan.operators[at.operator], self._states.pop(at)
            if operator.behaviour is Behaviour.SOURCE:
                scans.setdefault((operator.id, at.given), []).extend(parts)
                continue
            state = parts[0] if len(parts) == 1 else self._session.united(parts, ["origin", "ref"])
            if self._plan.match(operator) is not None:
                self._match(operator, state, at)
            elif operator.behaviour is Behaviour.WINDOW:
                self._window(operator, state, at)
            elif operator.behaviour is Behaviour.KEPT:
                self._cached(operator, state, at)
            else:
                self._group(operator, state, at)
        return Step(scans, known)

    def _group(self, operator: Operator, state: str, at: _At) -> None:
        boundary = self._boundary(operator)
        if boundary is None:
            return
        mixed = say_collided(self._session, self._capture, operator, state)
        if is_set(operator):
            for side in sides(self._plan, operator, boundary):
                self._side(operator, boundary, state, side, mixed=mixed)
            return
        columns, known = references(boundary), [*references(boundary), *branches(boundary)]
        if not self._witness or operator.behaviour is not Behaviour.GROUP:
            rows = self._lookup.named(boundary, state, names(columns), by="key")
            self._say_lost(operator, rows)
            self._spread(rows, columns, operator, _Carry(None, at.skip))
            return
        outputs = picked(operator, at.given)
        functions = aggregates([definition.expr for definition in outputs])
        candidates = self._lookup.grouped(boundary, state, names(known))
        self._say_lost(operator, candidates)
        if not mixed and not operator.whole:
            chooser = Chooser(self._session, self._capture, operator, columns)
            candidates = chooser.choose(candidates, functions, first_at_least=True, outputs=outputs)
            if chooser.unchosen is not None:
                firsts = of_groups(self._session, state, chooser.unchosen, names(known))
                self._spread_by_branch(firsts, boundary, operator, _Carry(needs_of(operator, frozenset())))
        rows = of_groups(self._session, state, candidates, names(known))
        self._spread_by_branch(rows, boundary, operator, _Carry(needs_of(operator, at.given)))

    def _say_lost(self, operator: Operator, rows: str) -> None:
        """A group has rows, unless all rows are one group; a window's row is there."""
        if not self._session.count(rows) and (operator.keys or operator.behaviour is Behaviour.WINDOW):
            self._session.say(operator.label, "the rows that are referred to were not recorded", "missing")

    def _side(self, operator: Operator, boundary: Boundary, state: str, columns: list[Column], *, mixed: bool) -> None:
        """One side of INTERSECT ALL or EXCEPT ALL: all equal rows, in a witness the first."""
        candidates = self._session.table(
            f"SELECT g.key AS grp{listed('g', columns)} FROM (SELECT DISTINCT ref FROM {state}) s "
            f"JOIN {self._session.rows(self._capture, boundary)} g ON g.key = s.ref WHERE {on_side('g', columns)}"
        )
        if self._witness and not mixed:
            candidates = Chooser(self._session, self._capture, operator, columns).choose(candidates, [], first_at_least=True)
        rows = of_groups(self._session, state, candidates, names(columns))
        self._spread(rows, columns, operator, _Carry(needs_of(operator, frozenset())))

    def _window(self, operator: Operator, state: str, at: _At) -> None:
        boundary = self._boundary(operator)
        if boundary is None:
            return
        rows = self._named(state, boundary)
        self._say_lost(operator, rows)
        self._spread_by_branch(rows, boundary, operator, _Carry(needs_of(operator, at.given), at.skip))
        if operator.id in at.skip:
            return
        skip = at.skip | self._plan.unread(operator)
        if not self._witness:
            self._spread(rows, limited(boundary), operator, _Carry(None, skip))
        opened = WindowRows(self._session, self._capture, operator, boundary, rows)
        for needed, reaches in opened.witness(picked(operator, at.given)) if self._witness else opened.influence():
            carry = _Carry(needed) if self._witness else _Carry(None, skip)
            opened.say_unread(reaches)
            if self._witness and any(reach.reason for reach in reaches):
                self._spread(rows, limited(boundary), operator, carry)  # all rows of the partition, those too that a limit dropped
            if whole := [reach for reach in reaches if reach.choose is None]:
                self._spread_by_branch(opened.frames(whole), boundary, operator, carry)
            for reach in reaches:
                if reach.choose is not None:
                    self._spread_by_branch(opened.chosen(reach, reach.choose), boundary, operator, carry)

    def _named(self, state: str, boundary: Boundary) -> str:
        """A table `origin, …` of the rows of a boundary that the references of a state name."""
        return self._lookup.named(boundary, state, schema_of(boundary).names, by="ref")

    def _cached(self, operator: Operator, state: str, at: _At) -> None:
        """What a cached row was made of."""
        boundary = self._boundary(operator)
        if boundary is not None:
            rows = self._named(state, boundary)
            if self._session.count(rows) < self._session.count(state):
                self._session.say(operator.label, "some of the cached rows that are referred to were not recorded", "missing")
            self._spread_by_branch(rows, boundary, operator, _Carry(needs_of(operator, at.given), at.skip))

    def _match(self, operator: Operator, state: str, at: _At) -> None:
        """The rows that a semi-join found for a row (in a witness the first), or the row of a subquery."""
        boundary, rows = self._plan.match(operator), self._plan.boundary(operator)
        if boundary is None:
            self._session.say(operator.label, "its boundary is not in the capture", "missing")
            return
        own = self._named(state, rows) if rows else state
        if rows:
            self._spread_by_branch(own, rows, operator, _Carry(needs_of(operator, at.given)))
        columns, known = references(boundary), [*references(boundary), *branches(boundary)]
        if not columns or (
            self._witness and at.given is not None and self._found_columns(operator) and not at.given & self._found_columns(operator)
        ):
            return
        candidates = self._candidates(operator, boundary, own, filtered=rows is not None)
        keys = f"(SELECT key AS ref FROM {own})" if rows else own
        if not say_collided(self._session, self._capture, operator, keys) and self._witness:
            candidates = Chooser(self._session, self._capture, operator, columns).choose(candidates, [], first_at_least=True)
            if self._session.count(candidates) and is_branch(self._plan, operator) and not self._plan.knows_branches(operator):
                reason = "whether another branch of the condition held was not recorded; the first match is given"
                self._session.say(operator.label, reason, "superset")
        found = of_groups(self._session, state, candidates, names(known))
        self._spread_by_branch(found, boundary, operator, _Carry(_read(operator, at.given)))

    def _candidates(self, operator: Operator, boundary: Boundary, rows: str, *, filtered: bool) -> str:
        """A table `grp, <ref columns>` of the rows that match those of a table with references `ref`."""
        columns = [*references(boundary), *branches(boundary)]
        if not filtered:
            return self._lookup.grouped(boundary, rows, names(columns))
        matches = f"{BoundaryRows(self._session, self._capture, boundary).of_references(f'(SELECT key AS ref FROM {rows})')} {MATCH}"
        unique = self._session.table(f"SELECT DISTINCT ON (ref) * FROM {rows}")
        query = f"SELECT {ROW}.ref AS grp{listed(MATCH, columns)} FROM {unique} {ROW} JOIN {matches} ON "
        return matched(self._session, self._capture, operator, lambda condition: self._session.table(query + condition))

    @staticmethod
    def _found_columns(operator: Operator) -> frozenset[int]:
        """The columns that hold what a subquery or an existence join found; a semi-join has none, and is always needed."""
        return frozenset(column.attr for column in operator.attributes)

    def _spread_by_branch(self, rows: str, boundary: Boundary, above: Operator, carry: _Carry) -> None:
        """Hand references on; of a witness, apart for each way in which rows were made, since each reads other columns or matches."""
        columns, ways = references(boundary), branches(boundary)
        expands = all(self._plan.operators[way.operator].behaviour is Behaviour.BRANCHES for way in ways)
        if not self._witness or not ways or (carry.inputs is None and expands):
            self._spread(rows, columns, above, carry)
            return
        rows = self._session.table(f"FROM {rows}") if rows.startswith("(") else rows
        for numbers in self._session.database.execute(f"SELECT DISTINCT {', '.join(way.name for way in ways)} FROM {rows}").fetchall():
            same = " AND ".join(f"{way.name} = {number}" for way, number in zip(ways, numbers, strict=True))
            made = tuple((way.operator, number) for way, number in zip(ways, numbers, strict=True) if number >= 0)
            self._spread(f"(FROM {rows} WHERE {same})", columns, above, _Carry(carry.inputs, carry.skip, made))

    def _spread(self, rows: str, columns: Iterable[Column], above: Operator, carry: _Carry) -> None:
        """Hand the references in rows (a table or a query) on to the operators that they name."""
        given = self._plan.carried(above, carry.inputs, carry.made) if self._witness else {}
        followed = [column for column in columns if column.operator in self._towards]
        if len(followed) > 1 and rows.startswith("("):
            rows = self._session.table(f"FROM {rows}")
        for column in followed:
            operator, needed = self._plan.operators[column.operator], given.get(column.operator)
            if operator.behaviour is Behaviour.MATCH and (operator.id, 1) in carry.made:
                if self._plan.boundary(operator) is None:
                    continue  # the row needs none of its matches
                needed = self._without_match(operator, needed)
            table = self._referred(rows, column.name, operator)
            if operator.behaviour is Behaviour.SOURCE or self._session.count(table):
                skip = carry.skip & self._plan.skippable(operator) if operator.behaviour in WINDOWED else frozenset()
                self._states.setdefault(_At(operator.id, self._relevant(operator, needed), skip), []).append(table)

    def _referred(self, rows: str, column: str, operator: Operator) -> str:
        """A table (or query) `origin, ref` of the references to an operator that a column of rows holds, each once."""
        in_memory = self._session.columns(rows)
        if in_memory is not None:
            refs = in_memory[column]
            present = refs >= 0 if operator.behaviour in _BY_PLACE else refs != NONE
            return self._session.hold(distinct(taken({"origin": in_memory["origin"], "ref": refs}, present)))
        kept = f"{column} >= 0" if operator.behaviour in _BY_PLACE else f"{column} <> {NONE}"
        select = f"SELECT DISTINCT origin, {column} AS ref FROM {rows} WHERE {kept}"
        # What goes no further in this step is read once more only, so it needs no table of its own.
        return f"({select})" if operator.behaviour is Behaviour.SOURCE else self._session.table(select)

    def _without_match(self, join: Operator, given: Needed) -> Needed:
        """C of an existence join without the column that tells whether there is a match."""
        if given is None:
            left = list(self._plan.upstream(self._plan.children(join)[0]))
            made = frozenset(definition.attr for one in left for definition in one.defines)
            given = made | {column.attr for one in left for column in one.attributes}
        return given - self._found_columns(join)

    def _relevant(self, operator: Operator, given: Needed) -> Needed:
        """C without the attributes of other operators, so that equal states are one."""
        matched = operator.behaviour is Behaviour.MATCH and self._plan.boundary(operator) is not None
        if given is None or operator.behaviour is Behaviour.WINDOW or matched:
            return given
        return given & {column.attr for column in operator.attributes} | given & {made.attr for made in operator.defines}

    def _boundary(self, operator: Operator) -> Boundary | None:
        boundary = self._plan.boundary(operator)
        if boundary is None:
            self._session.say(operator.label, "its boundary is not in the capture", "missing")
        return boundary


def _read(operator: Operator, given: Needed) -> Needed:
    """What a semi-join reads of its right side; of a subquery, what is asked for."""
    return needs_of(operator, frozenset() if operator.behaviour is Behaviour.MATCH else given)
