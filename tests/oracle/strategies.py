"""Random plans, by Hypothesis: operators put on one another, a few deep."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from tests.oracle.drawn import TYPES, UNIQUE, Typed, functions, is_numbered, of_type, pairs, predicates, result, values
from tests.oracle.drawn_joins import grouped_joins
from tests.oracle.drawn_shapes import drop_duplicates, explode, grouping_sets, pivot, unpivot
from tests.oracle.drawn_subqueries import correlated, exists, in_subquery, lateral, scalar, set_operation
from tests.oracle.drawn_windows import chosen_by_place, ranked, ranking, window
from tests.oracle.plans import Aggregate, Filter, Join, Plan, Project, Scan, Union
from tests.oracle.rows import Top
from tests.oracle.values import Column, Compare, Expression, Literal, Plus, Python


@st.composite
def plans(draw: st.DrawFn, scans: Mapping[str, Scan], *, depth: int = 3) -> Plan:
    """A plan over the scans. Types are tracked, so that every expression is well typed."""
    plan: Plan = draw(_typed(scans, depth))[0]
    return plan


@st.composite
def _typed(draw: st.DrawFn, scans: Mapping[str, Scan], depth: int) -> Typed:
    if depth == 0:
        leaf = draw(st.sampled_from(("table", "table", "table", "values", "group", "group")))
        if leaf == "values":
            return draw(values()), TYPES
        if leaf == "group":
            joined: Typed = draw(grouped_joins(scans))
            return joined
        return scans[draw(st.sampled_from(sorted(scans)))], TYPES
    child, types = draw(_typed(scans, depth - 1))
    makers: list[Callable[..., st.SearchStrategy[Typed]]] = [_filter, _project, _aggregate, _join(scans), _union]
    makers += [exists(scans), scalar(scans), set_operation(scans), in_subquery(scans), correlated(scans), lateral(scans)]
    makers += [grouping_sets, explode, unpivot, pivot, drop_duplicates, ranking]
    if is_numbered(child):
        makers += [window, window, _top, ranked, chosen_by_place]
    made: Typed = draw(draw(st.sampled_from(makers))(child, types))
    return made


@st.composite
def _filter(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    return Filter(child, draw(predicates(types))), types


@st.composite
def _project(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    expressions: list[Expression] = [Column(place) for place in draw(st.permutations(range(child.width)))]
    shown = [types[column.place] for column in expressions if isinstance(column, Column)]
    if numbers := of_type(types, "bigint"):
        number: Expression = Plus(Column(draw(st.sampled_from(numbers))), Literal(draw(st.integers(-2, 2))))
        if draw(st.integers(0, 3)) == 0:
            number = Python(draw(st.sampled_from(("twice", "twice_in_pandas"))), number)
        expressions.append(number)
        shown.append("bigint")
    return Project(child, expressions), tuple(shown)


@st.composite
def _aggregate(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    keys = draw(st.lists(st.sampled_from(range(child.width)), unique=True, max_size=2))
    chosen = [draw(functions(types)) for _ in range(draw(st.integers(0 if keys else 1, 2)))]  # of none: DISTINCT
    plan = Aggregate(child, keys, chosen)
    return plan, (*(types[key] for key in keys), *(result(function, types) for function in chosen))


def _join(scans: Mapping[str, Scan]) -> Callable[..., st.SearchStrategy[Typed]]:
    @st.composite
    def join(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
        other = scans[draw(st.sampled_from(sorted(scans)))]
        both = (*types, *TYPES)
        if not pairs(types):
            return Join(child, other, "cross", None), both
        a, b = draw(st.sampled_from(pairs(types)))
        how = draw(st.sampled_from(["inner", "left", "right", "full"]))
        return Join(child, other, how, Compare("=", Column(a), Column(child.width + b))), both

    return join


@st.composite
def _union(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    return Union(child, Filter(child, draw(predicates(types)))), types


@st.composite
def _top(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    return Top(child, UNIQUE, draw(st.none() | st.integers(1, 6)), draw(st.integers(0, 3))), types
