"""Random groups over joins: what traces find again by themselves, where nothing else is between the tables and the group."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from tests.oracle.drawn import TYPES, UNIQUE, Typed, functions, of_type, others, pairs, predicates, result
from tests.oracle.plans import Aggregate, Filter, Join, Plan, Scan
from tests.oracle.subqueries import Exists
from tests.oracle.values import Both, Column, Compare, Expression

_KINDS = ("inner", "inner", "left", "left", "semi", "anti")


@st.composite
def grouped_joins(draw: st.DrawFn, scans: Mapping[str, Scan]) -> Typed:
    """A group over one to three joins of tables; its keys and those of the joins are of the types that traces can compare."""
    plan: Plan = draw(others(scans))
    types = TYPES
    for _ in range(draw(st.integers(1, 3))):
        plan, types = draw(_joined(scans, plan, types))
    if draw(st.booleans()):
        plan = Filter(plan, draw(predicates(types)))
    told = sorted(of_type(types, "bigint") + of_type(types, "string"))
    keys = draw(st.lists(st.sampled_from(told), unique=True, max_size=3))
    made = [draw(functions(types)) for _ in range(draw(st.integers(0 if keys else 1, 2)))]
    return Aggregate(plan, keys, made), (*(types[key] for key in keys), *(result(function, types) for function in made))


@st.composite
def _joined(draw: st.DrawFn, scans: Mapping[str, Scan], left: Plan, types: tuple[str, ...]) -> Typed:
    right, how = draw(others(scans)), draw(st.sampled_from(_KINDS))
    a, b = draw(st.sampled_from([pair for pair in pairs(types) if types[pair[0]] != "double"]))
    predicate: Expression = Compare("=", Column(a), Column(left.width + b))
    if draw(st.booleans()):
        columns = Column(draw(st.sampled_from(of_type(types, "bigint")))), Column(left.width + draw(st.sampled_from((0, UNIQUE))))
        predicate = Both(predicate, Compare(draw(st.sampled_from(["<", "<>", ">="])), *columns))
    if how in ("semi", "anti"):
        return Exists(left, right, predicate, how == "anti"), types
    return Join(left, right, how, predicate), (*types, *TYPES)
