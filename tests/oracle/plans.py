"""Plans: each operator gives its rows with their derivation, and prints as SQL.

A derived row knows what it came from, so that influence and witness are read off it afterwards. `influence` and `witness` follow the
semantics table; `place` orders rows as its rule on ties says (sources by path and position, joined rows left to right, derived
rows by their first source record).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import product
from typing import Any

from tests.oracle.values import Expression, Row, Value, rank, same

Record = tuple[str, int]
Columns = frozenset[int]
NOWHERE = (1, "", -1)  # the missing side of an outer join comes after every record


@dataclass(frozen=True, eq=False)
class Derived:
    """A row and how it came about. `witness_of` takes the columns that are asked for."""

    values: tuple[Value, ...]
    influence: frozenset[Record]
    witness_of: Callable[[Columns], frozenset[Record]]
    place: tuple[tuple[int, str, int], ...]


class Plan(ABC):
    """An operator with its inputs. `width` is the number of its columns, named c0, c1, …"""

    width: int

    @cached_property
    def rows(self) -> list[Derived]:
        return self._rows()

    def parts(self) -> Iterator[Plan]:
        """The plan and all below it, those of subqueries too."""
        yield self
        for part in fields(self):  # type: ignore[arg-type]  # every plan is a dataclass
            inner = getattr(self, part.name)
            if isinstance(inner, Plan):
                yield from inner.parts()

    @abstractmethod
    def _rows(self) -> list[Derived]: ...

    @abstractmethod
    def sql(self) -> str:
        """A query for this plan; its columns are c0, c1, …"""


@dataclass(eq=False)
class Scan(Plan):
    """A table; `files` are (path, rows) in order of path. A record is (path, row number)."""

    name: str
    files: Sequence[tuple[str, Sequence[Row]]]
    width: int

    def _rows(self) -> list[Derived]:
        return [self._row(path, number, values) for path, rows in sorted(self.files) for number, values in enumerate(rows)]

    @staticmethod
    def _row(path: str, number: int, values: Row) -> Derived:
        here = frozenset({(path, number)})
        return Derived(tuple(values), here, lambda _: here, ((0, path, number),))

    def sql(self) -> str:
        return f"SELECT {_list(self.width)} FROM {self.name}"


@dataclass(eq=False)
class Project(Plan):
    """Expressions over the row."""

    child: Plan
    expressions: Sequence[Expression]

    @property
    def width(self) -> int:  # type: ignore[override]  # derived here, stored in Scan
        return len(self.expressions)

    def _rows(self) -> list[Derived]:
        return [self._row(row) for row in self.child.rows]

    def _row(self, row: Derived) -> Derived:
        def witness(columns: Columns) -> frozenset[Record]:
            return row.witness_of(frozenset().union(*(self.expressions[c].reads() for c in columns)))

        return Derived(tuple(expression.of(row.values) for expression in self.expressions), row.influence, witness, row.place)

    def sql(self) -> str:
        columns = ", ".join(f"{expression.sql('t')} AS c{n}" for n, expression in enumerate(self.expressions))
        return f"SELECT {columns} FROM ({self.child.sql()}) t"


@dataclass(eq=False)
class Filter(Plan):
    """Rows for which the predicate is true. Above an aggregate it is a HAVING."""

    child: Plan
    predicate: Expression

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.child.width

    def _rows(self) -> list[Derived]:
        read = self.predicate.reads()
        return [
            Derived(row.values, row.influence, lambda c, row=row: row.witness_of(c | read), row.place)  # type: ignore[misc]  # the default binds the loop's row
            for row in self.child.rows
            if self.predicate.of(row.values) is True
        ]

    def sql(self) -> str:
        return f"SELECT {_list(self.width)} FROM ({self.child.sql()}) t WHERE {self.predicate.sql('t')}"


@dataclass(eq=False)
class Join(Plan):
    """`inner`, `left`, `right`, `full` or `cross`; the predicate reads the columns of both sides, the right ones after the left ones."""

    left: Plan
    right: Plan
    how: str
    predicate: Expression | None

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.left.width + self.right.width

    def _rows(self) -> list[Derived]:
        pairs = [(a, b) for a, b in product(self.left.rows, self.right.rows) if self._holds(a, b)]
        rows = [self._joined(a, b) for a, b in pairs]
        if self.how in ("left", "full"):
            rows += [self._joined(a, None) for a in self.left.rows if not any(a is left for left, _ in pairs)]
        if self.how in ("right", "full"):
            rows += [self._joined(None, b) for b in self.right.rows if not any(b is right for _, right in pairs)]
        return rows

    def _holds(self, left: Derived, right: Derived) -> bool:
        return self.predicate is None or self.predicate.of(left.values + right.values) is True

    def _joined(self, left: Derived | None, right: Derived | None) -> Derived:
        read = self.predicate.reads() if self.predicate else frozenset()
        values = (left.values if left else (None,) * self.left.width) + (right.values if right else (None,) * self.right.width)

        def witness(columns: Columns) -> frozenset[Record]:
            wanted = columns | read
            of_left = left.witness_of(frozenset(c for c in wanted if c < self.left.width)) if left else frozenset()
            of_right = right.witness_of(frozenset(c - self.left.width for c in wanted if c >= self.left.width)) if right else frozenset()
            return of_left | of_right

        influence = (left.influence if left else frozenset()) | (right.influence if right else frozenset())
        return Derived(values, influence, witness, (left.place if left else (NOWHERE,)) + (right.place if right else (NOWHERE,)))

    def sql(self) -> str:
        names = [f"l.c{n} AS c{n}" for n in range(self.left.width)] + [f"r.c{n} AS c{n + self.left.width}" for n in range(self.right.width)]
        on = "" if self.predicate is None else f" ON {self._condition(self.predicate)}"
        kind = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN", "cross": "CROSS JOIN"}[self.how]
        return f"SELECT {', '.join(names)} FROM ({self.left.sql()}) l {kind} ({self.right.sql()}) r{on}"

    def _condition(self, predicate: Expression) -> str:
        text = predicate.sql("x")
        for n in reversed(range(self.width)):
            text = text.replace(f"x.c{n}", f"l.c{n}" if n < self.left.width else f"r.c{n - self.left.width}")
        return text


@dataclass(eq=False)
class Union(Plan):
    """UNION ALL of two plans of one width."""

    left: Plan
    right: Plan

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.left.width

    def _rows(self) -> list[Derived]:
        return [*self.left.rows, *self.right.rows]

    def sql(self) -> str:
        return f"({self.left.sql()}) UNION ALL ({self.right.sql()})"


@dataclass(frozen=True)
class Function:
    """An aggregate: `sum`, `sum_distinct`, `count`, `min`, `max`, `count_distinct`; of a column, FILTER (WHERE …)."""

    name: str
    place: int
    where: Expression | None = None

    @property
    def reads(self) -> frozenset[int]:
        return frozenset({self.place}) | (self.where.reads() if self.where else frozenset())

    def passing(self, rows: Sequence[Derived]) -> list[Derived]:
        return [row for row in rows if self.where is None or self.where.of(row.values) is True]

    def of(self, rows: Sequence[Derived]) -> Value:
        values = [row.values[self.place] for row in self.passing(rows) if row.values[self.place] is not None]
        if self.name == "count":
            return len(values)
        if self.name == "count_distinct":
            return len({same(value) for value in values})
        if not values:
            return None
        if self.name.startswith("sum"):
            return sum(set(values) if self.name == "sum_distinct" else values)
        return (min if self.name == "min" else max)(values, key=rank)

    def chosen(self, rows: Sequence[Derived]) -> list[Derived]:
        """The rows that the witness of this aggregate takes; none where it chooses none."""
        passing = self.passing(rows)
        present = [row for row in sorted(passing, key=lambda row: row.place) if row.values[self.place] is not None]
        if self.name in ("min", "max"):
            extreme = self.of(rows)
            return [row for row in present if rank(row.values[self.place]) == rank(extreme)][:1]
        if self.name == "count_distinct":
            first: dict[Value, Derived] = {}
            for row in present:
                first.setdefault(same(row.values[self.place]), row)
            return list(first.values())
        return passing

    def sql(self, alias: str) -> str:
        argument = f"{alias}.c{self.place}"
        name, _, distinct = self.name.partition("_")
        where = f" FILTER (WHERE {self.where.sql(alias)})" if self.where else ""
        return f"{name}(DISTINCT {argument}){where}" if distinct else f"{name}({argument}){where}"


@dataclass(eq=False)
class Aggregate(Plan):
    """Group by columns; the output is the keys, then the functions. No keys: one row, even of nothing."""

    child: Plan
    keys: Sequence[int]
    functions: Sequence[Function]

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.keys) + len(self.functions)

    def _rows(self) -> list[Derived]:
        groups: dict[tuple[Value, ...], list[Derived]] = {}
        for row in self.child.rows:
            groups.setdefault(tuple(same(row.values[key]) for key in self.keys), []).append(row)
        if not self.keys and not groups:
            groups[()] = []
        return [self._group(rows) for rows in groups.values()]

    def _group(self, rows: list[Derived]) -> Derived:
        ordered = sorted(rows, key=lambda row: row.place)
        keys = tuple(ordered[0].values[key] for key in self.keys) if ordered else ()

        def witness(columns: Columns) -> frozenset[Record]:
            functions = [self.functions[c - len(self.keys)] for c in columns if c >= len(self.keys)]
            chosen = [row for function in functions for row in function.chosen(ordered)] or ordered[:1]
            below = frozenset(self.keys).union(*(function.reads for function in functions))
            return frozenset().union(*(row.witness_of(below) for row in chosen))

        influence = frozenset().union(*(row.influence for row in rows))
        values = (*keys, *(function.of(rows) for function in self.functions))
        return Derived(values, influence, witness, ordered[0].place if ordered else (NOWHERE,))

    def sql(self) -> str:
        columns = [f"t.c{key} AS c{n}" for n, key in enumerate(self.keys)]
        columns += [f"{function.sql('t')} AS c{n + len(self.keys)}" for n, function in enumerate(self.functions)]
        group = f" GROUP BY {', '.join(f't.c{key}' for key in self.keys)}" if self.keys else ""
        return f"SELECT {', '.join(columns)} FROM ({self.child.sql()}) t{group}"


@dataclass(frozen=True)
class Frame:
    """`rows` with offsets (None: unbounded), or `range` from the start to the current row and its peers, or the whole partition.

    `values`: by the value of the one column of the order, a bigint; a null's bounds are among nulls, which come first.
    """

    unit: str
    start: int | None = None
    end: int | None = 0

    def of(self, place: int, peers: Sequence[tuple[object, ...]]) -> range:
        """Places of the frame's rows in the partition; `peers` are the order keys of its rows."""
        if self.unit == "whole":
            return range(len(peers))
        if self.unit == "range":
            return range(max(n for n, key in enumerate(peers) if key == peers[place]) + 1)
        if self.unit == "values":
            within = [n for n, (key,) in enumerate(peers) if self._holds(peers[place][0], key)]
            return range(within[0], within[-1] + 1) if within else range(0)
        first = 0 if self.start is None else max(0, place + self.start)
        last = len(peers) - 1 if self.end is None else min(len(peers) - 1, place + self.end)
        return range(first, last + 1)

    def _holds(self, own: Any, other: Any) -> bool:
        """Compare two values in their order: (0, …) is null, (1, value) a value."""
        if own[0] == 0 or other[0] == 0:
            after = self.start is None or own[0] == other[0]
            return (after or own[0] == 0) and (self.end is None or own[0] == other[0] or other[0] == 0)
        return (self.start is None or other[1] >= own[1] + self.start) and (self.end is None or other[1] <= own[1] + self.end)

    def sql(self) -> str:
        if self.unit == "whole":
            return ""
        if self.unit == "range":
            return " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        unit = "ROWS" if self.unit == "rows" else "RANGE"
        return f" {unit} BETWEEN {_bound(self.start, 'PRECEDING')} AND {_bound(self.end, 'FOLLOWING')}"


@dataclass(eq=False)
class Window(Plan):
    """The child's columns and one aggregate over a frame. `order` must order each partition uniquely where the frame counts rows."""

    child: Plan
    partition: Sequence[int]
    order: Sequence[int]
    frame: Frame
    function: Function

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.child.width + 1

    def _rows(self) -> list[Derived]:
        partitions: dict[tuple[Value, ...], list[Derived]] = {}
        for row in self.child.rows:
            partitions.setdefault(tuple(same(row.values[key]) for key in self.partition), []).append(row)
        return [row for rows in partitions.values() for row in self._partition(rows)]

    def _partition(self, rows: list[Derived]) -> list[Derived]:
        def key(row: Derived) -> tuple[object, ...]:
            return tuple(rank(row.values[column]) for column in self.order)

        ordered = sorted(rows, key=key)
        peers = [key(row) for row in ordered]
        return [self._row(row, [ordered[n] for n in self.frame.of(place, peers)]) for place, row in enumerate(ordered)]

    def _row(self, row: Derived, frame: list[Derived]) -> Derived:
        below = frozenset(self.partition) | frozenset(self.order) | {self.function.place}

        def witness(columns: Columns) -> frozenset[Record]:
            passed = frozenset(c for c in columns if c < self.child.width)
            if self.child.width not in columns:
                return row.witness_of(passed)
            chosen = self.function.chosen(frame)
            return row.witness_of(passed | below).union(*(other.witness_of(below) for other in chosen))

        influence = row.influence.union(*(other.influence for other in frame))
        return Derived((*row.values, self.function.of(frame)), influence, witness, row.place)

    def sql(self) -> str:
        partition = f"PARTITION BY {', '.join(f't.c{c}' for c in self.partition)}" if self.partition else ""
        order = f" ORDER BY {', '.join(f't.c{c}' for c in self.order)}" if self.order and self.frame.unit != "whole" else ""
        over = f"{self.function.sql('t')} OVER ({partition}{order}{self.frame.sql()})"
        return f"SELECT {_list(self.child.width, 't')}, {over} AS c{self.child.width} FROM ({self.child.sql()}) t"


def _bound(offset: int | None, unbounded: str) -> str:
    if offset is None:
        return f"UNBOUNDED {unbounded}"
    if offset == 0:
        return "CURRENT ROW"
    return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"


def _list(width: int, alias: str | None = None) -> str:
    return ", ".join(f"{alias}.c{n} AS c{n}" if alias else f"c{n}" for n in range(width))
