"""Subqueries that read the row around them: a value of the matching rows, LATERAL, and IN and its negation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.oracle.plans import NOWHERE, Aggregate, Columns, Derived, Function, Plan, Record
from tests.oracle.values import Column, Compare, Expression, Value


@dataclass(eq=False)
class Matches(Plan):
    """Given rows of another plan: what a subquery sees for one row of the query around it."""

    child: Plan
    given: Sequence[Derived]

    @property
    def width(self) -> int:  # type: ignore[override]  # derived here, stored in Scan
        return self.child.width

    def _rows(self) -> list[Derived]:
        return list(self.given)

    def sql(self) -> str:
        raise NotImplementedError("it stands in no query of its own")


@dataclass(eq=False)
class OfMatches:
    """A function of the rows of another plan whose column `inner` equals the column `outer` of the row around."""

    other: Plan
    outer: int
    inner: int
    function: Function

    def rows(self, row: Derived) -> list[Derived]:
        """The rows that match one."""
        equal = Compare("=", Column(0), Column(1))
        return [other for other in self.other.rows if equal.of((row.values[self.outer], other.values[self.inner])) is True]

    def value(self, row: Derived) -> Derived:
        """The one row that the function makes of them; the match was made by a column, which is read."""
        known = self.rows(row)
        (made,) = Aggregate(Matches(self.other, known), [], [self.function]).rows

        def witness(columns: Columns) -> frozenset[Record]:
            ordered = sorted(known, key=lambda other: other.place)
            chosen = (self.function.chosen(ordered) if columns else []) or ordered[:1]
            reads = frozenset({self.inner}) | (self.function.reads if columns else frozenset())
            return frozenset().union(*(other.witness_of(reads) for other in chosen))

        return Derived(made.values, made.influence, witness, made.place)

    def sql(self, around: str, shown: str) -> str:
        """`shown` is what the subquery gives, over its alias s."""
        return f"SELECT {shown} FROM ({self.other.sql()}) s WHERE s.c{self.inner} = {around}.c{self.outer}"


@dataclass(eq=False)
class WithCorrelated(Plan):
    """The child's columns and a value of the matching rows; with `least`, only the rows whose column is not below that value."""

    child: Plan
    matches: OfMatches
    least: int | None = None

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.child.width + (self.least is None)

    def parts(self) -> Iterator[Plan]:
        yield from super().parts()
        yield from self.matches.other.parts()

    def _rows(self) -> list[Derived]:
        return [self._row(row, value) for row in self.child.rows if self._passes(row, value := self.matches.value(row))]

    def _passes(self, row: Derived, value: Derived) -> bool:
        if self.least is None:
            return True
        return Compare(">=", Column(0), Column(1)).of((row.values[self.least], value.values[0])) is True

    def _row(self, row: Derived, value: Derived) -> Derived:
        added = self.child.width

        def witness(columns: Columns) -> frozenset[Record]:
            if self.least is None and added not in columns:
                return row.witness_of(columns)
            reads = {self.matches.outer} | ({self.least} if self.least is not None else set())
            return row.witness_of(frozenset(c for c in columns if c < added) | reads) | value.witness_of(frozenset({0}))

        values = row.values if self.least is not None else (*row.values, value.values[0])
        return Derived(values, row.influence | value.influence, witness, row.place)

    def sql(self) -> str:
        columns = ", ".join(f"t.c{n} AS c{n}" for n in range(self.child.width))
        value = f"({self.matches.sql('t', self.matches.function.sql('s'))})"
        if self.least is None:
            return f"SELECT {columns}, {value} AS c{self.child.width} FROM ({self.child.sql()}) t"
        return f"SELECT {columns} FROM ({self.child.sql()}) t WHERE t.c{self.least} >= {value}"


@dataclass(eq=False)
class Lateral(Plan):
    """A LATERAL join with the matching rows, or (`grouped`) with the one row that a function makes of them; `outer`: LEFT JOIN."""

    child: Plan
    matches: OfMatches
    grouped: bool
    outer: bool

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.child.width + 1

    def parts(self) -> Iterator[Plan]:
        yield from super().parts()
        yield from self.matches.other.parts()

    def _rows(self) -> list[Derived]:
        return [self._row(row, other) for row in self.child.rows for other in self._others(row)]

    def _others(self, row: Derived) -> Sequence[Derived | None]:
        if self.grouped:
            return [self.matches.value(row)]
        found = self.matches.rows(row)
        return found or ([None] if self.outer else [])

    def _row(self, row: Derived, other: Derived | None) -> Derived:
        added, place = self.child.width, self.matches.function.place

        def witness(columns: Columns) -> frozenset[Record]:
            asked = frozenset({0} if self.grouped else {place}) if added in columns else frozenset()
            of_other = other.witness_of(asked if self.grouped else asked | {self.matches.inner}) if other else frozenset()
            return row.witness_of(frozenset(c for c in columns if c < added) | {self.matches.outer}) | of_other

        value: Value = None if other is None else other.values[0 if self.grouped else place]
        influence = row.influence | (other.influence if other else frozenset())
        return Derived((*row.values, value), influence, witness, row.place + (other.place if other else (NOWHERE,)))

    def sql(self) -> str:
        columns = ", ".join(f"t.c{n} AS c{n}" for n in range(self.child.width))
        shown = self.matches.function.sql("s") if self.grouped else f"s.c{self.matches.function.place}"
        join = "LEFT JOIN LATERAL" if self.outer else "JOIN LATERAL"
        around = f"SELECT {columns}, l.x AS c{self.child.width} FROM ({self.child.sql()}) t"
        return f"{around} {join} ({self.matches.sql('t', f'{shown} AS x')}) l ON TRUE"


@dataclass(eq=False)
class In(Plan):
    """Rows whose column is (`negated`: is not) among the values of another plan, or for which `otherwise` holds.

    `correlated` are columns of both sides that must be equal too, for a row of the other plan to be looked at.
    """

    left: Plan
    right: Plan
    column: int
    among: int
    correlated: tuple[int, int] | None = None
    negated: bool = False
    otherwise: Expression | None = None

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.left.width

    def _rows(self) -> list[Derived]:
        return [self._row(row) for row in self.left.rows if self._holds(row) or self._otherwise(row)]

    def _compared(self, row: Derived) -> list[tuple[Derived, Value]]:
        """The rows that are looked at, and whether they are equal: true, false or unknown."""
        equal, correlated = Compare("=", Column(0), Column(1)), self.correlated
        seen = [
            other
            for other in self.right.rows
            if correlated is None or equal.of((row.values[correlated[0]], other.values[correlated[1]])) is True
        ]
        return [(other, equal.of((row.values[self.column], other.values[self.among]))) for other in seen]

    def _holds(self, row: Derived) -> bool:
        compared = [equal for _, equal in self._compared(row)]
        return all(equal is False for equal in compared) if self.negated else any(equal is True for equal in compared)

    def _otherwise(self, row: Derived) -> bool:
        return self.otherwise is not None and self.otherwise.of(row.values) is True

    def _row(self, row: Derived) -> Derived:
        listed = [] if self.negated else [other for other, equal in self._compared(row) if equal is True]
        first = [] if self._otherwise(row) else sorted(listed, key=lambda match: match.place)[:1]
        outer, inner = self.correlated or (self.column, self.among)
        of_left = frozenset({self.column, outer}) | (self.otherwise.reads() if self.otherwise else frozenset())
        of_right = frozenset({self.among, inner})

        def witness(columns: Columns) -> frozenset[Record]:
            return row.witness_of(columns | of_left).union(*(match.witness_of(of_right) for match in first))

        return Derived(row.values, row.influence.union(*(match.influence for match in listed)), witness, row.place)

    def sql(self) -> str:
        where = f" WHERE r.c{self.correlated[1]} = t.c{self.correlated[0]}" if self.correlated else ""
        among = f"t.c{self.column} {'NOT ' if self.negated else ''}IN (SELECT r.c{self.among} FROM ({self.right.sql()}) r{where})"
        condition = f"{self.otherwise.sql('t')} OR {among}" if self.otherwise else among
        return f"SELECT {', '.join(f't.c{n} AS c{n}' for n in range(self.width))} FROM ({self.left.sql()}) t WHERE {condition}"
