"""Operators that turn columns into rows and rows into columns, or keep one row of each key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.plans import Columns, Derived, Function, Plan, Record
from tests.oracle.values import Expression, Value, same


@dataclass(eq=False)
class Pivot(Plan):
    """Group by columns; the output is the keys, then for each of the values the functions of the rows that have it."""

    child: Plan
    keys: Sequence[int]
    by: int
    values: Sequence[int]
    functions: Sequence[Function]

    @property
    def width(self) -> int:  # type: ignore[override]  # derived here, stored in Scan
        return len(self.keys) + len(self.values) * len(self.functions)

    def _rows(self) -> list[Derived]:
        return [self._group(rows) for rows in groups(self.child.rows, self.keys).values()]

    def _group(self, rows: list[Derived]) -> Derived:
        ordered = sorted(rows, key=lambda row: row.place)
        having = {value: [row for row in ordered if row.values[self.by] == value] for value in self.values}
        cells = [function.of(having[value]) if having[value] else None for value in self.values for function in self.functions]

        def witness(columns: Columns) -> frozenset[Record]:
            asked = [divmod(c - len(self.keys), len(self.functions)) for c in columns if c >= len(self.keys)]
            reads = frozenset(self.keys).union({self.by}, *(self.functions[n].reads for _, n in asked))
            chosen: list[Derived] = []
            for place, value in enumerate(self.values):
                if functions := [self.functions[n] for at, n in asked if at == place]:
                    chosen += [row for function in functions for row in function.chosen(having[value])] or having[value][:1]
            return frozenset().union(*(row.witness_of(reads) for row in chosen or ordered[:1]))

        influence = frozenset[Record]().union(*(row.influence for row in rows))
        return Derived((*(ordered[0].values[key] for key in self.keys), *cells), influence, witness, ordered[0].place)

    def sql(self) -> str:
        names = [f"t.c{key} AS k{n}" for n, key in enumerate(self.keys)] + [f"t.c{self.by} AS p"]
        names += [f"t.c{function.place} AS v{n}" for n, function in enumerate(self.functions)]
        made = ", ".join(f"{self._call(n)} AS f{n}" for n in range(len(self.functions)))
        listed = ", ".join(f"{value} AS p{n}" for n, value in enumerate(self.values))
        several = len(self.functions) > 1
        cells = [f"p{n}{f'_f{m}' if several else ''}" for n in range(len(self.values)) for m in range(len(self.functions))]
        shown = [*(f"k{n}" for n in range(len(self.keys))), *cells]
        columns = ", ".join(f"{name} AS c{n}" for n, name in enumerate(shown))
        return f"SELECT {columns} FROM (SELECT {', '.join(names)} FROM ({self.child.sql()}) t) PIVOT ({made} FOR p IN ({listed}))"

    def _call(self, number: int) -> str:
        name, _, distinct = self.functions[number].name.partition("_")
        return f"{name}({'DISTINCT ' if distinct else ''}v{number})"


@dataclass(eq=False)
class Unpivot(Plan):
    """For each row a row for each of some columns: the other columns, the column's name and its value (null only with `nulls`)."""

    child: Plan
    columns: Sequence[int]
    nulls: bool

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.others) + 2

    @property
    def others(self) -> list[int]:
        return [place for place in range(self.child.width) if place not in self.columns]

    def _rows(self) -> list[Derived]:
        return [self._row(row, place) for row in self.child.rows for place in self.columns if self.nulls or row.values[place] is not None]

    def _row(self, row: Derived, place: int) -> Derived:
        others = self.others

        def witness(columns: Columns) -> frozenset[Record]:
            read = {place} if not self.nulls or len(others) + 1 in columns else set()
            return row.witness_of(frozenset(others[c] for c in columns if c < len(others)) | read)

        return Derived((*(row.values[c] for c in others), f"c{place}", row.values[place]), row.influence, witness, row.place)

    def sql(self) -> str:
        shown = [*(f"c{place}" for place in self.others), "name", "value"]
        columns = ", ".join(f"{name} AS c{n}" for n, name in enumerate(shown))
        listed = ", ".join(f"c{place}" for place in self.columns)
        nulls = "INCLUDE NULLS " if self.nulls else ""
        return f"SELECT {columns} FROM ({self.child.sql()}) t UNPIVOT {nulls}(value FOR name IN ({listed}))"


@dataclass(eq=False)
class DropDuplicates(Plan):
    """One row of each key, and a value that depends on the key alone: the choice of the row is free, and no value shows it."""

    child: Plan
    keys: Sequence[int]
    told: Expression  # over the child's columns, of keys alone

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.keys) + 1

    def _rows(self) -> list[Derived]:
        return [self._row(rows) for rows in groups(self.child.rows, self.keys).values()]

    def _row(self, rows: list[Derived]) -> Derived:
        first = min(rows, key=lambda row: row.place)
        reads = frozenset(self.keys)
        values = (*(first.values[key] for key in self.keys), self.told.of(first.values))
        influence = frozenset[Record]().union(*(row.influence for row in rows))
        return Derived(values, influence, lambda _: first.witness_of(reads), first.place)

    @property
    def _view(self) -> str:
        return f"deduplicated_{id(self)}"

    def prepare(self, spark: Any) -> None:
        """Make the view that the SQL names; what lies below is there."""
        names = [f"c{n}" for n in range(len(self.keys))]
        columns = ", ".join([*(f"t.c{key} AS c{n}" for n, key in enumerate(self.keys)), f"{self.told.sql('t')} AS c{len(self.keys)}"])
        spark.sql(f"SELECT {columns} FROM ({self.child.sql()}) t").dropDuplicates(names).createOrReplaceTempView(self._view)

    def sql(self) -> str:
        return f"SELECT * FROM {self._view}"


def groups(rows: Sequence[Derived], keys: Sequence[int]) -> dict[tuple[Value, ...], list[Derived]]:
    """Rows of equal keys."""
    found: dict[tuple[Value, ...], list[Derived]] = {}
    for row in rows:
        found.setdefault(tuple(same(row.values[key]) for key in keys), []).append(row)
    return found
