"""Conditions on one column, and the column values that they are tested on.

A column is stored as the sorted list of its distinct values and one code for each record. A range of values is then a range of codes, for
numbers, dates and texts alike.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NULL = -1  # the code of a null
_NUMBERS = (int, float, decimal.Decimal)
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?([eE][+-]?\d{1,2})?")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of some records. `values` are its distinct values in ascending order; `codes` has the index of each record's value.

    `is_ordered`: ranges of values make sense, as for numbers and instants. `expression` is what a predicate compares.
    """

    name: str
    values: Sequence[Any]
    codes: Codes
    is_ordered: bool
    expression: str

    @classmethod
    def of(cls, name: str, cells: Sequence[Any]) -> Column | None:
        """Return a column, or None if its values are of several types or cannot be compared.

        Texts that are all numbers are compared as numbers, and texts that are all dates or instants by their order.
        """
        expression = '"' + name.replace('"', '""') + '"'
        present = [cell for cell in cells if not _is_null(cell)]
        kinds = {_kind(cell) for cell in present}
        if len(kinds) != 1 or None in kinds:
            return None
        if kinds == {"text"} and all(_NUMBER.fullmatch(cell) for cell in present):
            cells = [None if cell is None else float(cell) for cell in cells]
            present = [cell for cell in cells if cell is not None]
            kinds, expression = {"number"}, f"TRY_CAST({expression} AS DOUBLE)"
        if kinds == {"text"} and all(_INSTANT.fullmatch(cell) for cell in present):
            kinds = {"instant text"}
        values = sorted(set(present))
        index = {value: code for code, value in enumerate(values)}
        codes = np.fromiter((NULL if _is_null(cell) else index[cell] for cell in cells), dtype=np.int64, count=len(cells))
        return cls(name, values, codes, kinds.isdisjoint({"text", "bool"}), expression)


@dataclass(frozen=True, slots=True)
class Condition:
    """A column has a value between two codes, both included. `NULL` for both means that the column is null.

    `text` is the condition as a predicate of DuckDB SQL.
    """

    column: str
    low: int
    high: int
    text: str

    def select(self, column: Column) -> Flags:
        return (column.codes >= self.low) & (column.codes <= self.high)


def make_condition(column: Column, low: int, high: int) -> Condition:
    """Return the condition that a column has a value between two codes. A bound that excludes no value is left out."""
    return Condition(column.name, low, high, _render(column, low, high))


def _render(column: Column, low: int, high: int) -> str:
    name = column.expression
    if low == NULL:
        return f"{name} IS NULL"
    if low == high:
        return f"{name} = {_literal(column.values[low])}"
    lower = f"{name} >= {_literal(column.values[low])}" if low > 0 else ""
    upper = f"{name} <= {_literal(column.values[high])}" if high < len(column.values) - 1 else ""
    return " AND ".join(bound for bound in (lower, upper) if bound) or f"{name} IS NOT NULL"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, _NUMBERS):
        return str(value)
    kind = {dt.datetime: "TIMESTAMP ", dt.date: "DATE ", dt.time: "TIME "}.get(type(value), "")
    return f"{kind}'" + str(value).replace("'", "''") + "'"


def _is_null(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _kind(cell: Any) -> str | None:
    """Return the name of a group of types whose values can be compared with each other, or None."""
    if isinstance(cell, bool):
        return "bool"
    if isinstance(cell, _NUMBERS):
        return "number"
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, dt.datetime):
        return "instant" if cell.tzinfo is not None else "local instant"
    return "date" if isinstance(cell, dt.date) else "time" if isinstance(cell, dt.time) else None
