"""Random plans in which another relation decides about rows, or gives them a value: EXISTS, IN, scalar and lateral subqueries, sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from tests.oracle.correlated import In, Lateral, OfMatches, WithCorrelated
from tests.oracle.drawn import FUNCTIONS, TYPES, UNIQUE, Typed, of_type, others, pairs, predicates, result
from tests.oracle.plans import Aggregate, Filter, Function, Plan, Scan
from tests.oracle.subqueries import Exists, SetOperation, WithScalar
from tests.oracle.values import Both, Column, Compare, Expression

_Maker = Callable[..., st.SearchStrategy[Typed]]


def exists(scans: Mapping[str, Scan]) -> _Maker:
    @st.composite
    def make(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
        other = draw(others(scans))
        if not pairs(types):
            return child, types
        a, b = draw(st.sampled_from(pairs(types)))
        predicate: Expression = Compare("=", Column(a), Column(child.width + b))
        numbers, compares = of_type(types, "bigint"), draw(st.booleans())
        if numbers and compares:
            columns = Column(draw(st.sampled_from(numbers))), Column(child.width + draw(st.sampled_from((0, UNIQUE))))
            predicate = Both(predicate, Compare(draw(st.sampled_from(["<", "<>", ">="])), *columns))
        otherwise = draw(predicates(types)) if draw(st.booleans()) else None
        return Exists(child, other, predicate, draw(st.booleans()), otherwise), types

    return make


def in_subquery(scans: Mapping[str, Scan]) -> _Maker:
    @st.composite
    def make(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
        if not pairs(types):
            return child, types
        correlated_by = draw(st.none() | st.sampled_from(pairs(types)))
        otherwise = draw(predicates(types)) if draw(st.booleans()) else None
        negated = draw(st.booleans())
        return In(child, draw(others(scans)), *draw(st.sampled_from(pairs(types))), correlated_by, negated, otherwise), types

    return make


def scalar(scans: Mapping[str, Scan]) -> _Maker:
    @st.composite
    def make(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
        other = Filter(scans[draw(st.sampled_from(sorted(scans)))], draw(predicates(TYPES)))
        value = Aggregate(other, [], [Function(draw(st.sampled_from(FUNCTIONS)), draw(st.sampled_from((0, UNIQUE))))])
        numbers, filters = of_type(types, "bigint"), draw(st.booleans())
        if numbers and filters:
            return WithScalar(child, value, draw(st.sampled_from(numbers))), types
        return WithScalar(child, value), (*types, "bigint")

    return make


@st.composite
def _of_matches(draw: st.DrawFn, scans: Mapping[str, Scan], types: tuple[str, ...]) -> OfMatches:
    function = Function(draw(st.sampled_from(FUNCTIONS)), draw(st.sampled_from((0, UNIQUE))))
    return OfMatches(draw(others(scans)), *draw(st.sampled_from(pairs(types))), function)


def correlated(scans: Mapping[str, Scan]) -> _Maker:
    @st.composite
    def make(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
        if not pairs(types):
            return child, types
        matches = draw(_of_matches(scans, types))
        numbers, filters = of_type(types, "bigint"), draw(st.booleans())
        if numbers and filters:
            return WithCorrelated(child, matches, draw(st.sampled_from(numbers))), types
        return WithCorrelated(child, matches), (*types, result(matches.function, TYPES))

    return make


def lateral(scans: Mapping[str, Scan]) -> _Maker:
    @st.composite
    def make(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
        if not pairs(types):
            return child, types
        matches, outer, grouped = draw(_of_matches(scans, types)), draw(st.booleans()), draw(st.booleans())
        kind = result(matches.function, TYPES) if grouped else TYPES[matches.function.place]
        return Lateral(child, matches, grouped, outer), (*types, kind)

    return make


def set_operation(scans: Mapping[str, Scan]) -> _Maker:
    @st.composite
    def make(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
        other = scans[draw(st.sampled_from(sorted(scans)))] if types == TYPES and draw(st.booleans()) else child
        name = draw(st.sampled_from(["INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]))
        return SetOperation(name, child, Filter(other, draw(predicates(types)))), types

    return make
