"""Spark's notion of equality and order, and expressions over rows: each evaluates in Python and prints as SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Value = Any  # None, bool, int, float, str
Row = Sequence[Value]


def same(value: Value) -> Value:
    """A value such that equal keys are equal Python values: 0.0 = −0.0, NaN = NaN, null = null (grouping, distinct, sets)."""
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return value + 0.0 if value else 0.0
    return value


def rank(value: Value) -> tuple[int, Value]:
    """Sort key, nulls first, NaN greatest."""
    if value is None:
        return (0, 0)
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    return (1, same(value))


@dataclass(frozen=True)
class Column:
    """A column of the row, by place; `c{place}` in SQL."""

    place: int

    def of(self, row: Row) -> Value:
        return row[self.place]

    def sql(self, alias: str) -> str:
        return f"{alias}.c{self.place}"

    def reads(self) -> frozenset[int]:
        return frozenset({self.place})


@dataclass(frozen=True)
class Literal:
    """A constant of type bigint."""

    value: int

    def of(self, row: Row) -> Value:
        return self.value

    def sql(self, alias: str) -> str:
        return f"CAST({self.value} AS BIGINT)"

    def reads(self) -> frozenset[int]:
        return frozenset()


@dataclass(frozen=True)
class Plus:
    """Sum of two bigints, null if one is."""

    left: Expression
    right: Expression

    def of(self, row: Row) -> Value:
        left, right = self.left.of(row), self.right.of(row)
        return None if left is None or right is None else left + right

    def sql(self, alias: str) -> str:
        return f"({self.left.sql(alias)} + {self.right.sql(alias)})"

    def reads(self) -> frozenset[int]:
        return self.left.reads() | self.right.reads()


@dataclass(frozen=True)
class Compare:
    """`=`, `<`, `>=` or `<>` of two expressions, in three-valued logic."""

    operator: str
    left: Expression
    right: Expression

    def of(self, row: Row) -> Value:
        left, right = self.left.of(row), self.right.of(row)
        if left is None or right is None:
            return None
        a, b = rank(left), rank(right)
        return {"=": a == b, "<": a < b, ">=": a >= b, "<>": a != b}[self.operator]

    def sql(self, alias: str) -> str:
        return f"({self.left.sql(alias)} {self.operator} {self.right.sql(alias)})"

    def reads(self) -> frozenset[int]:
        return self.left.reads() | self.right.reads()


@dataclass(frozen=True)
class IsNull:
    """True where the value is null."""

    inner: Expression

    def of(self, row: Row) -> Value:
        return self.inner.of(row) is None

    def sql(self, alias: str) -> str:
        return f"({self.inner.sql(alias)} IS NULL)"

    def reads(self) -> frozenset[int]:
        return self.inner.reads()


@dataclass(frozen=True)
class Either:
    """OR, in three-valued logic."""

    left: Expression
    right: Expression

    def of(self, row: Row) -> Value:
        left, right = self.left.of(row), self.right.of(row)
        if left is True or right is True:
            return True
        return None if left is None or right is None else False

    def sql(self, alias: str) -> str:
        return f"({self.left.sql(alias)} OR {self.right.sql(alias)})"

    def reads(self) -> frozenset[int]:
        return self.left.reads() | self.right.reads()


@dataclass(frozen=True)
class Both:
    """AND, in three-valued logic."""

    left: Expression
    right: Expression

    def of(self, row: Row) -> Value:
        left, right = self.left.of(row), self.right.of(row)
        if left is False or right is False:
            return False
        return None if left is None or right is None else True

    def sql(self, alias: str) -> str:
        return f"({self.left.sql(alias)} AND {self.right.sql(alias)})"

    def reads(self) -> frozenset[int]:
        return self.left.reads() | self.right.reads()


@dataclass(frozen=True)
class Python:
    """A bigint function of the program's own, in Python or in pandas: twice the value."""

    name: str
    inner: Expression

    def of(self, row: Row) -> Value:
        value = self.inner.of(row)
        return None if value is None else 2 * value

    def sql(self, alias: str) -> str:
        return f"{self.name}({self.inner.sql(alias)})"

    def reads(self) -> frozenset[int]:
        return self.inner.reads()


Expression = Python | Column | Literal | Plus | Compare | IsNull | Either | Both
