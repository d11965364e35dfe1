"""Plans in which one relation decides about the rows of another: EXISTS and its negation, scalar subqueries, INTERSECT and EXCEPT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.oracle.plans import Aggregate, Columns, Derived, Plan, Record
from tests.oracle.values import Expression, same


@dataclass(eq=False)
class Exists(Plan):
    """Rows of the left plan with a match on the right (`negated`: without one), or for which `otherwise` holds.

    The predicate reads the columns of both sides, the right ones after the left ones.

    """

    left: Plan
    right: Plan
    predicate: Expression
    negated: bool = False
    otherwise: Expression | None = None

    @property
    def width(self) -> int:  # type: ignore[override]  # derived here, stored in Scan
        return self.left.width

    def _rows(self) -> list[Derived]:
        return [self._row(row, matches) for row in self.left.rows if self._stays(row, matches := self._matches(row))]

    def _matches(self, row: Derived) -> list[Derived]:
        return [other for other in self.right.rows if self.predicate.of((*row.values, *other.values)) is True]

    def _stays(self, row: Derived, matches: Sequence[Derived]) -> bool:
        return bool(matches) is not self.negated or self._otherwise(row)

    def _otherwise(self, row: Derived) -> bool:
        return self.otherwise is not None and self.otherwise.of(row.values) is True

    def _row(self, row: Derived, matches: Sequence[Derived]) -> Derived:
        reads = self.predicate.reads()
        of_left = frozenset(c for c in reads if c < self.width) | (self.otherwise.reads() if self.otherwise else frozenset())
        of_right = frozenset(c - self.width for c in reads if c >= self.width)
        listed = [] if self.negated else matches
        first = [] if self._otherwise(row) else sorted(listed, key=lambda match: match.place)[:1]

        def witness(columns: Columns) -> frozenset[Record]:
            return row.witness_of(columns | of_left).union(*(match.witness_of(of_right) for match in first))

        return Derived(row.values, row.influence.union(*(match.influence for match in listed)), witness, row.place)

    def sql(self) -> str:
        text = self.predicate.sql("x")
        for n in reversed(range(self.width + self.right.width)):
            text = text.replace(f"x.c{n}", f"t.c{n}" if n < self.width else f"r.c{n - self.width}")
        exists = f"{'NOT ' if self.negated else ''}EXISTS (SELECT * FROM ({self.right.sql()}) r WHERE {text})"
        condition = f"{self.otherwise.sql('t')} OR {exists}" if self.otherwise else exists
        return f"SELECT {', '.join(f't.c{n} AS c{n}' for n in range(self.width))} FROM ({self.left.sql()}) t WHERE {condition}"


@dataclass(eq=False)
class WithScalar(Plan):
    """The child's columns and the one value of a global aggregate; with `least`, only the rows whose column is not below that value."""

    child: Plan
    scalar: Aggregate
    least: int | None = None

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.child.width + (self.least is None)

    def _rows(self) -> list[Derived]:
        return [self._row(row) for row in self.child.rows if self.least is None or self._passes(row)]

    def _passes(self, row: Derived) -> bool:
        value, bound = row.values[self.least or 0], self.scalar.rows[0].values[0]
        return value is not None and bound is not None and value >= bound

    def _row(self, row: Derived) -> Derived:
        (scalar,) = self.scalar.rows
        added = self.child.width

        def witness(columns: Columns) -> frozenset[Record]:
            needed = self.least is not None or added in columns
            below = frozenset(c for c in columns if c < added) | ({self.least} if self.least is not None else frozenset())
            return row.witness_of(below) | (scalar.witness_of(frozenset({0})) if needed else frozenset())

        values = row.values if self.least is not None else (*row.values, scalar.values[0])
        return Derived(values, row.influence | scalar.influence, witness, row.place)

    def sql(self) -> str:
        columns = ", ".join(f"t.c{n} AS c{n}" for n in range(self.child.width))
        scalar = f"(SELECT s.c0 FROM ({self.scalar.sql()}) s)"
        if self.least is None:
            return f"SELECT {columns}, {scalar} AS c{self.child.width} FROM ({self.child.sql()}) t"
        return f"SELECT {columns} FROM ({self.child.sql()}) t WHERE t.c{self.least} >= {scalar}"


@dataclass(eq=False)
class SetOperation(Plan):
    """`INTERSECT` or `EXCEPT` of two plans of one width, each row once; or the same `ALL`, each row as often as both sides say."""

    name: str
    left: Plan
    right: Plan

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.left.width

    def _rows(self) -> list[Derived]:
        left, right = self._groups(self.left), self._groups(self.right)
        if self.name.startswith("INTERSECT"):
            return [self._row([left[key], right[key]]) for key in left for _ in range(self._count(len(left[key]), len(right.get(key, ()))))]
        return [self._row([left[key]]) for key in left for _ in range(self._count(len(left[key]), len(right.get(key, ()))))]

    def _count(self, left: int, right: int) -> int:
        """How often a row is put out that the sides have so often."""
        if self.name.endswith(" ALL"):
            return min(left, right) if self.name.startswith("INTERSECT") else max(left - right, 0)
        return int(bool(right) is self.name.startswith("INTERSECT"))

    @staticmethod
    def _groups(plan: Plan) -> dict[tuple[object, ...], list[Derived]]:
        groups: dict[tuple[object, ...], list[Derived]] = {}
        for row in sorted(plan.rows, key=lambda row: row.place):
            groups.setdefault(tuple(same(value) for value in row.values), []).append(row)
        return groups

    def _row(self, sides: Sequence[Sequence[Derived]]) -> Derived:
        first = [side[0] for side in sides]
        everything = frozenset(range(self.width))
        influence: frozenset[Record] = frozenset().union(*(row.influence for side in sides for row in side))
        witness: frozenset[Record] = frozenset().union(*(row.witness_of(everything) for row in first))
        return Derived(first[0].values, influence, lambda _: witness, first[0].place)

    def sql(self) -> str:
        return f"({self.left.sql()}) {self.name} ({self.right.sql()})"
