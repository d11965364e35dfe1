"""Operators that make several rows of one, keep some of them, or begin without a file. See `plans`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.oracle.plans import Aggregate, Columns, Derived, Function, Plan, Record
from tests.oracle.values import Row, Value, rank, same

LOCAL = "local:"  # stands for the file of a relation of the program's own rows


@dataclass(eq=False)
class Values(Plan):
    """Rows that stand in the query; `types` are those of its columns. A record is the ordinal of its row."""

    records: Sequence[Row]
    types: Sequence[str]

    @property
    def width(self) -> int:  # type: ignore[override]  # derived here, stored in Scan
        return len(self.types)

    def _rows(self) -> list[Derived]:
        return [self._row(number, values) for number, values in enumerate(self.records)]

    @staticmethod
    def _row(number: int, values: Row) -> Derived:
        here = frozenset({(LOCAL, number)})
        return Derived(tuple(values), here, lambda _: here, ((0, LOCAL, number),))

    def sql(self) -> str:
        rows = ", ".join(f"({', '.join(map(_literal, row, self.types))})" for row in self.records)
        return f"SELECT * FROM VALUES {rows} AS t({', '.join(f'c{n}' for n in range(self.width))})"


@dataclass(eq=False)
class Top(Plan):
    """The rows from `offset` on, `count` of them (None: all), in the order of a column without ties."""

    child: Plan
    order: int
    count: int | None
    offset: int

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.child.width

    def _rows(self) -> list[Derived]:
        ordered = sorted(self.child.rows, key=lambda row: rank(row.values[self.order]))
        return ordered[self.offset :][: self.count]

    def sql(self) -> str:
        limit = "" if self.count is None else f" LIMIT {self.count}"
        return f"SELECT * FROM ({self.child.sql()}) t ORDER BY t.c{self.order}{limit} OFFSET {self.offset}"


@dataclass(eq=False)
class Explode(Plan):
    """The child's columns and one more: for each row as many rows as there are columns in `exploded`, with their values."""

    child: Plan
    exploded: Sequence[int]
    stacked: bool = False  # by stack(…) rather than explode(array(…))

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.child.width + 1

    def _rows(self) -> list[Derived]:
        return [self._row(row, place) for row in self.child.rows for place in self.exploded]

    def _row(self, row: Derived, place: int) -> Derived:
        def witness(columns: Columns) -> frozenset[Record]:
            return row.witness_of(frozenset(c for c in columns if c < self.child.width) | frozenset(self.exploded))

        return Derived((*row.values, row.values[place]), row.influence, witness, row.place)

    def sql(self) -> str:
        listed = ", ".join(f"t.c{place}" for place in self.exploded)
        rows = f"stack({len(self.exploded)}, {listed})" if self.stacked else f"explode(array({listed}))"
        return f"SELECT t.*, x AS c{self.child.width} FROM ({self.child.sql()}) t LATERAL VIEW {rows} AS x"


@dataclass(eq=False)
class Ranked(Plan):
    """The first rows of each partition by a column without ties, with their row numbers."""

    child: Plan
    partition: Sequence[int]
    order: int
    most: int

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.child.width + 1

    def _rows(self) -> list[Derived]:
        partitions: dict[tuple[Value, ...], list[Derived]] = {}
        for row in self.child.rows:
            partitions.setdefault(tuple(same(row.values[key]) for key in self.partition), []).append(row)
        return [row for rows in partitions.values() for row in self._first(sorted(rows, key=lambda r: rank(r.values[self.order])))]

    def _first(self, ordered: list[Derived]) -> list[Derived]:
        whole = frozenset[Record]().union(*(row.influence for row in ordered))
        below = frozenset(self.partition) | {self.order}

        def numbered(place: int) -> Derived:
            row, before = ordered[place], ordered[: place + 1]

            def witness(columns: Columns) -> frozenset[Record]:
                passed = frozenset(c for c in columns if c < self.child.width)
                return row.witness_of(passed | below).union(*(other.witness_of(below) for other in before))

            return Derived((*row.values, place + 1), whole, witness, row.place)

        return [numbered(place) for place in range(min(self.most, len(ordered)))]

    def sql(self) -> str:
        by = f"PARTITION BY {', '.join(f't.c{c}' for c in self.partition)} " if self.partition else ""
        number = f"CAST(row_number() OVER ({by}ORDER BY t.c{self.order}) AS BIGINT) AS c{self.child.width}"
        return f"SELECT * FROM (SELECT t.*, {number} FROM ({self.child.sql()}) t) WHERE c{self.child.width} <= {self.most}"


@dataclass(eq=False)
class GroupingSets(Plan):
    """Group by each of several sets of the keys; the output is the keys (null where the set lacks them), then the functions."""

    child: Plan
    keys: Sequence[int]
    sets: Sequence[Sequence[int]]  # of places among the keys
    functions: Sequence[Function]

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.keys) + len(self.functions)

    def _rows(self) -> list[Derived]:
        return [self._placed(row, chosen) for chosen in self.sets for row in self._grouped(chosen).rows if chosen or self.child.rows]

    def _grouped(self, chosen: Sequence[int]) -> Aggregate:
        return Aggregate(self.child, [self.keys[place] for place in chosen], self.functions)

    def _placed(self, row: Derived, chosen: Sequence[int]) -> Derived:
        """The row of one grouping set with its columns where they belong."""
        width = len(self.keys)
        place = {key: at for at, key in enumerate(chosen)} | {width + n: len(chosen) + n for n in range(len(self.functions))}
        values = tuple(row.values[place[n]] if n in place else None for n in range(self.width))
        return Derived(values, row.influence, lambda c: row.witness_of(frozenset(place[n] for n in c if n in place)), row.place)

    def sql(self) -> str:
        columns = [f"t.c{key} AS c{n}" for n, key in enumerate(self.keys)]
        columns += [f"{function.sql('t')} AS c{n + len(self.keys)}" for n, function in enumerate(self.functions)]
        sets = ", ".join(f"({', '.join(f't.c{self.keys[place]}' for place in chosen)})" for chosen in self.sets)
        names = ", ".join(f"t.c{key}" for key in self.keys)
        return f"SELECT {', '.join(columns)} FROM ({self.child.sql()}) t GROUP BY {names} GROUPING SETS ({sets})"


def _literal(value: Value, kind: str) -> str:
    if value is None:
        return f"CAST(NULL AS {kind})"
    text = f"'{value}'" if isinstance(value, (str, float)) else str(value)
    return f"CAST({text} AS {kind})"
