"""Window functions that go by a row's place in its partition: ranks, the rows before and after, the first of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.oracle.plans import Columns, Derived, Function, Plan, Record
from tests.oracle.values import Value, rank, same

OF_TIES = ("rank", "dense_rank", "percent_rank", "cume_dist")  # rows that are equal in the order have the same one


@dataclass(frozen=True)
class Placed(Function):
    """`first_value`, `last_value`, or `nth_value` for the second; of a frame whose order is without ties."""

    def of(self, rows: Sequence[Derived]) -> Value:
        if self.name == "nth_value":
            return rows[1].values[self.place] if len(rows) > 1 else None
        return rows[0 if self.name == "first_value" else -1].values[self.place] if rows else None

    def chosen(self, rows: Sequence[Derived]) -> list[Derived]:
        if self.name == "nth_value":
            return list(rows[:2])
        return list(rows[:1] if self.name == "first_value" else rows[-1:])

    def sql(self, alias: str) -> str:
        return f"{self.name}({alias}.c{self.place}{', 2' if self.name == 'nth_value' else ''})"


@dataclass(eq=False)
class Ranking(Plan):
    """The child's columns and a function of the row's place. `argument` is what `lag` and `lead` take, `number` how far, or `ntile`'s."""

    child: Plan
    partition: Sequence[int]
    order: Sequence[int]
    descending: bool
    name: str
    argument: int
    number: int

    @property
    def width(self) -> int:  # type: ignore[override]  # derived here, stored in Scan
        return self.child.width + 1

    def _rows(self) -> list[Derived]:
        partitions: dict[tuple[Value, ...], list[Derived]] = {}
        for row in self.child.rows:
            partitions.setdefault(tuple(same(row.values[key]) for key in self.partition), []).append(row)
        return [row for rows in partitions.values() for row in self._partition(sorted(rows, key=self._key, reverse=self.descending))]

    def _key(self, row: Derived) -> tuple[object, ...]:
        return tuple(rank(row.values[column]) for column in self.order)

    def _partition(self, ordered: list[Derived]) -> list[Derived]:
        keys = [self._key(row) for row in ordered]
        return [self._row(ordered, keys, place) for place in range(len(ordered))]

    def _row(self, ordered: list[Derived], keys: list[tuple[object, ...]], place: int) -> Derived:
        first = keys.index(keys[place])
        last = first + keys.count(keys[place]) - 1
        row, (value, needed) = ordered[place], self._result(ordered, keys, place, first, last)
        had_part = ordered if self.name not in ("lag", "lead") else [ordered[n] for n in needed]
        below = frozenset(self.partition) | frozenset(self.order) | ({self.argument} if self.name in ("lag", "lead") else frozenset())

        def witness(columns: Columns) -> frozenset[Record]:
            passed = frozenset(c for c in columns if c < self.child.width)
            if self.child.width not in columns:
                return row.witness_of(passed)
            return row.witness_of(passed | below).union(*(ordered[n].witness_of(below) for n in needed))

        return Derived((*row.values, value), row.influence.union(*(other.influence for other in had_part)), witness, row.place)

    def _result(
        self, ordered: list[Derived], keys: list[tuple[object, ...]], place: int, first: int, last: int
    ) -> tuple[Value, Sequence[int]]:
        """The value, and the places of the rows that suffice for it."""
        size, whole = len(ordered), range(len(ordered))
        if self.name in ("lag", "lead"):
            other = place + (-self.number if self.name == "lag" else self.number)
            if not 0 <= other < size:
                return None, [place]
            return ordered[other].values[self.argument], range(min(place, other), max(place, other) + 1)
        if self.name == "ntile":
            least, more = divmod(size, self.number)
            ends = [(least + 1) * (n + 1) if n < more else least * (n + 1) + more for n in range(self.number)]
            return next(n for n, end in enumerate(ends) if place < end) + 1, whole
        if self.name == "row_number":
            return place + 1, range(place + 1)
        if self.name in ("rank", "dense_rank"):
            return first + 1 if self.name == "rank" else len(set(keys[: place + 1])), range(last + 1)
        if self.name == "percent_rank":
            return first / (size - 1) if size > 1 else 0.0, whole
        return (last + 1) / size, whole

    def sql(self) -> str:
        by = f"PARTITION BY {', '.join(f't.c{c}' for c in self.partition)} " if self.partition else ""
        order = ", ".join(f"t.c{c}{' DESC' if self.descending else ''}" for c in self.order)
        arguments = {"lag": f"t.c{self.argument}, {self.number}", "lead": f"t.c{self.argument}, {self.number}", "ntile": f"{self.number}"}
        value = f"{self.name}({arguments.get(self.name, '')}) OVER ({by}ORDER BY {order})"
        if self.name in ("rank", "dense_rank", "row_number", "ntile"):
            value = f"CAST({value} AS BIGINT)"
        return f"SELECT t.*, {value} AS c{self.child.width} FROM ({self.child.sql()}) t"
