"""Random tables and random plans, by Hypothesis: small, with nulls, doubles, NaN, −0.0, empty files and skew."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

from tests.oracle.plans import Aggregate, Filter, Frame, Function, Join, Plan, Project, Scan, Union, Window
from tests.oracle.rows import Explode, GroupingSets, Ranked, Top, Values
from tests.oracle.subqueries import Exists, SetOperation, WithScalar
from tests.oracle.values import Both, Column, Compare, Either, Expression, IsNull, Literal, Plus, Value

# Every table has these columns. The last is a number of its own for each record, so that windows can be ordered without ties.
TYPES = ("bigint", "double", "string", "bigint")
UNIQUE = 3
FUNCTIONS = ("sum", "sum_distinct", "count", "min", "max", "count_distinct")

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
def plans(draw: st.DrawFn, scans: Mapping[str, Scan], *, depth: int = 3) -> Plan:
    """A plan over the scans. Types are tracked, so that every expression is well typed."""
    plan: Plan = draw(_typed(scans, depth))[0]
    return plan


_Typed = tuple[Plan, tuple[str, ...]]


@st.composite
def _typed(draw: st.DrawFn, scans: Mapping[str, Scan], depth: int) -> _Typed:
    if depth == 0:
        if draw(st.integers(0, 5)) == 0:
            return draw(_values()), TYPES
        return scans[draw(st.sampled_from(sorted(scans)))], TYPES
    child, types = draw(_typed(scans, depth - 1))
    makers = [_filter, _project, _aggregate, _join(scans), _union, _exists(scans), _scalar(scans), _set_operation(scans)]
    makers += [_grouping_sets, _explode]
    if child.width == len(TYPES) and isinstance(child, (Scan, Filter, Values)):
        makers += [_window, _top, _ranked]
    return draw(draw(st.sampled_from(makers))(child, types))


@st.composite
def _filter(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    return Filter(child, draw(_predicates(types))), types


@st.composite
def _project(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    expressions: list[Expression] = [Column(place) for place in draw(st.permutations(range(child.width)))]
    shown = [types[column.place] for column in expressions if isinstance(column, Column)]
    if numbers := _of_type(types, "bigint"):
        expressions.append(Plus(Column(draw(st.sampled_from(numbers))), Literal(draw(st.integers(-2, 2)))))
        shown.append("bigint")
    return Project(child, expressions), tuple(shown)


@st.composite
def _aggregate(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    keys = draw(st.lists(st.sampled_from(range(child.width)), unique=True, max_size=2))
    functions = [draw(_functions(types)) for _ in range(draw(st.integers(0 if keys else 1, 2)))]  # of none: DISTINCT
    plan = Aggregate(child, keys, functions)
    return plan, (*(types[key] for key in keys), *(_result(function, types) for function in functions))


def _join(scans: Mapping[str, Scan]) -> Callable[..., st.SearchStrategy[_Typed]]:
    @st.composite
    def join(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
        other = scans[draw(st.sampled_from(sorted(scans)))]
        both = (*types, *TYPES)
        pairs = [(a, b) for a in range(child.width) for b in range(len(TYPES)) if types[a] == TYPES[b]]
        if not pairs:
            return Join(child, other, "cross", None), both
        a, b = draw(st.sampled_from(pairs))
        how = draw(st.sampled_from(["inner", "left", "right", "full"]))
        return Join(child, other, how, Compare("=", Column(a), Column(child.width + b))), both

    return join


@st.composite
def _union(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    return Union(child, Filter(child, draw(_predicates(types)))), types


def _exists(scans: Mapping[str, Scan]) -> Callable[..., st.SearchStrategy[_Typed]]:
    @st.composite
    def exists(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
        other: Plan = scans[draw(st.sampled_from(sorted(scans)))]
        if draw(st.booleans()):
            other = Filter(other, draw(_predicates(TYPES)))
        pairs = [(a, b) for a in range(child.width) for b in range(len(TYPES)) if types[a] == TYPES[b]]
        if not pairs:
            return child, types
        a, b = draw(st.sampled_from(pairs))
        predicate: Expression = Compare("=", Column(a), Column(child.width + b))
        numbers, compares = _of_type(types, "bigint"), draw(st.booleans())
        if numbers and compares:
            columns = Column(draw(st.sampled_from(numbers))), Column(child.width + draw(st.sampled_from((0, UNIQUE))))
            predicate = Both(predicate, Compare(draw(st.sampled_from(["<", "<>", ">="])), *columns))
        otherwise = draw(_predicates(types)) if draw(st.booleans()) else None
        return Exists(child, other, predicate, draw(st.booleans()), otherwise), types

    return exists


def _scalar(scans: Mapping[str, Scan]) -> Callable[..., st.SearchStrategy[_Typed]]:
    @st.composite
    def scalar(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
        other = Filter(scans[draw(st.sampled_from(sorted(scans)))], draw(_predicates(TYPES)))
        value = Aggregate(other, [], [Function(draw(st.sampled_from(FUNCTIONS)), draw(st.sampled_from((0, UNIQUE))))])
        numbers, filters = _of_type(types, "bigint"), draw(st.booleans())
        if numbers and filters:
            return WithScalar(child, value, draw(st.sampled_from(numbers))), types
        return WithScalar(child, value), (*types, "bigint")

    return scalar


def _set_operation(scans: Mapping[str, Scan]) -> Callable[..., st.SearchStrategy[_Typed]]:
    @st.composite
    def set_operation(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
        other = scans[draw(st.sampled_from(sorted(scans)))] if types == TYPES and draw(st.booleans()) else child
        name = draw(st.sampled_from(["INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]))
        return SetOperation(name, child, Filter(other, draw(_predicates(types)))), types

    return set_operation


@st.composite
def _window(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    frame = draw(
        st.sampled_from(
            [Frame("whole"), Frame("range"), Frame("rows", None, 0), Frame("rows", -1, 1), Frame("rows", 0, None), Frame("rows", -2, -1)]
        )
    )
    function = Function(draw(st.sampled_from(("sum", "count", "min", "max"))), draw(st.sampled_from((0, UNIQUE))))
    partition = draw(st.lists(st.sampled_from((0, 1, 2)), unique=True, max_size=2))
    order = [draw(st.sampled_from((0, UNIQUE)))] if frame.unit == "range" else [UNIQUE]
    return Window(child, partition, order, frame, function), (*types, _result(function, types))


@st.composite
def _values(draw: st.DrawFn) -> Plan:
    count = draw(st.integers(1, 6))
    return Values([(draw(_small), draw(_double), draw(_text), number) for number in range(count)], TYPES)


@st.composite
def _top(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    return Top(child, UNIQUE, draw(st.integers(1, 6)), draw(st.integers(0, 3))), types


@st.composite
def _ranked(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    partition = draw(st.lists(st.sampled_from((0, 1, 2)), unique=True, max_size=2))
    return Ranked(child, partition, UNIQUE, draw(st.integers(1, 3))), (*types, "bigint")


@st.composite
def _explode(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    kind = draw(st.sampled_from(sorted(set(types))))
    return Explode(child, draw(st.lists(st.sampled_from(_of_type(types, kind)), min_size=1, max_size=3))), (*types, kind)


@st.composite
def _grouping_sets(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> _Typed:
    keys = draw(st.lists(st.sampled_from(range(child.width)), unique=True, min_size=1, max_size=2))
    sets = draw(st.lists(st.sampled_from([(), (0,), tuple(range(len(keys))), (len(keys) - 1,)]), unique=True, min_size=1, max_size=3))
    assume(set().union(*sets) == set(range(len(keys))) or not keys)
    functions = [draw(_functions(types)) for _ in range(draw(st.integers(1, 2)))]
    plan = GroupingSets(child, keys, sets, functions)
    return plan, (*(types[key] for key in keys), *(_result(function, types) for function in functions))


@st.composite
def _predicates(draw: st.DrawFn, types: tuple[str, ...]) -> Expression:
    place = draw(st.sampled_from(range(len(types))))
    column = Column(place)
    if types[place] != "bigint":
        return IsNull(column)
    compare = Compare(draw(st.sampled_from(["=", "<", ">=", "<>"])), column, Literal(draw(st.integers(0, 4))))
    return Either(compare, IsNull(Column(draw(st.sampled_from(range(len(types))))))) if draw(st.booleans()) else compare


@st.composite
def _functions(draw: st.DrawFn, types: tuple[str, ...]) -> Function:
    place = draw(st.sampled_from(range(len(types))))
    # A sum of doubles depends on its order; sums are of integers here, so that answers compare exactly.
    names = FUNCTIONS if types[place] == "bigint" else FUNCTIONS[2:]
    where = draw(_predicates(types)) if draw(st.integers(0, 3)) == 0 else None
    return Function(draw(st.sampled_from(names)), place, where)


def _of_type(types: tuple[str, ...], name: str) -> list[int]:
    return [place for place, kind in enumerate(types) if kind == name]


def _result(function: Function, types: tuple[str, ...]) -> str:
    return "bigint" if function.name in ("count", "count_distinct", "sum", "sum_distinct") else types[function.place]
