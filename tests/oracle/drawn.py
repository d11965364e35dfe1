"""Random tables, and the predicates and functions of random plans: small, with nulls, doubles, NaN, −0.0, empty files and skew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.oracle.correlated import In, WithCorrelated
from tests.oracle.plans import Filter, Function, Plan, Project, Scan, Window
from tests.oracle.ranks import Ranking
from tests.oracle.rows import Ranked, Top, Values
from tests.oracle.subqueries import Exists, WithScalar
from tests.oracle.values import Column, Compare, Either, Expression, IsNull, Literal, Value

# Every table has these columns. The last is a number of its own for each record, so that windows can be ordered without ties.
TYPES = ("bigint", "double", "string", "bigint")
UNIQUE = 3
FUNCTIONS = ("sum", "sum_distinct", "count", "min", "max", "count_distinct")

Typed = tuple[Plan, tuple[str, ...]]  # a plan and the types of its columns

_small = st.one_of(st.none(), st.integers(0, 3))
_double = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, -2.25, math.nan]))
_text = st.one_of(st.none(), st.sampled_from(["", "a", "b", "ä"]))


@dataclass(frozen=True)
class Tables:
    """Tables by name; each is a list of files, each a list of rows of `TYPES`."""

    files: Mapping[str, Sequence[Sequence[tuple[Value, ...]]]]


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    """Two tables of one or two files of up to eight rows."""
    made: dict[str, list[list[tuple[Value, ...]]]] = {}
    for name in ("left_table", "right_table"):
        unique = 0
        files: list[list[tuple[Value, ...]]] = []
        for _ in range(draw(st.integers(1, 2))):
            rows: list[tuple[Value, ...]] = []
            for _ in range(draw(st.integers(0, 8))):
                rows.append((draw(_small), draw(_double), draw(_text), unique))
                unique += 1
            files.append(rows)
        made[name] = files
    return Tables(made)


@st.composite
def values(draw: st.DrawFn) -> Plan:
    """Rows that stand in the query."""
    count = draw(st.integers(1, 6))
    return Values([(draw(_small), draw(_double), draw(_text), number) for number in range(count)], TYPES)


@st.composite
def others(draw: st.DrawFn, scans: Mapping[str, Scan]) -> Plan:
    """A second table for the plan, or some rows of it."""
    other: Plan = scans[draw(st.sampled_from(sorted(scans)))]
    return Filter(other, draw(predicates(TYPES))) if draw(st.booleans()) else other


@st.composite
def predicates(draw: st.DrawFn, types: tuple[str, ...]) -> Expression:
    place = draw(st.sampled_from(range(len(types))))
    column = Column(place)
    if types[place] != "bigint":
        return IsNull(column)
    compare = Compare(draw(st.sampled_from(["=", "<", ">=", "<>"])), column, Literal(draw(st.integers(0, 4))))
    return Either(compare, IsNull(Column(draw(st.sampled_from(range(len(types))))))) if draw(st.booleans()) else compare


@st.composite
def functions(draw: st.DrawFn, types: tuple[str, ...]) -> Function:
    place = draw(st.sampled_from(range(len(types))))
    # A sum of doubles depends on its order; sums are of integers here, so that answers compare exactly.
    names = FUNCTIONS if types[place] == "bigint" else FUNCTIONS[2:]
    where = draw(predicates(types)) if draw(st.integers(0, 3)) == 0 else None
    return Function(draw(st.sampled_from(names)), place, where)


def of_type(types: tuple[str, ...], name: str) -> list[int]:
    """The places of the columns of a type."""
    return [place for place, kind in enumerate(types) if kind == name]


def pairs(types: tuple[str, ...], other: tuple[str, ...] = TYPES) -> list[tuple[int, int]]:
    """Columns of two relations that can be compared."""
    return [(a, b) for a, kind in enumerate(types) for b, same in enumerate(other) if kind == same]


def result(function: Function, types: tuple[str, ...]) -> str:
    """The type of what a function gives."""
    return "bigint" if function.name in ("count", "count_distinct", "sum", "sum_distinct") else types[function.place]


def is_numbered(plan: Plan) -> bool:
    """Whether the column `UNIQUE` still identifies each row."""
    return isinstance(plan, (Scan, Values)) or (isinstance(plan, (Filter, Window, Ranking)) and is_numbered(plan.child))


def is_windowed(plan: Plan) -> bool:
    """Whether a window stands so close below that another one above may count as one with it."""
    if isinstance(plan, (Window, Ranking, Ranked)):
        return True
    if isinstance(plan, (Exists, In)):
        return is_windowed(plan.left)
    return isinstance(plan, (Project, Filter, Top, WithScalar, WithCorrelated)) and is_windowed(plan.child)
