"""Random plans that make rows of columns, columns of rows, or one row of several keys' rows."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from tests.oracle.drawn import FUNCTIONS, Typed, functions, of_type, result
from tests.oracle.plans import Function, Plan
from tests.oracle.rows import Explode, GroupingSets
from tests.oracle.shapes import DropDuplicates, Pivot, Unpivot
from tests.oracle.values import Column, Literal, Plus


@st.composite
def explode(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    kind = draw(st.sampled_from(sorted(set(types))))
    exploded = draw(st.lists(st.sampled_from(of_type(types, kind)), min_size=1, max_size=3))
    return Explode(child, exploded, draw(st.booleans())), (*types, kind)


@st.composite
def grouping_sets(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    keys = draw(st.lists(st.sampled_from(range(child.width)), unique=True, min_size=1, max_size=2))
    sets = draw(st.lists(st.sampled_from([(), (0,), tuple(range(len(keys))), (len(keys) - 1,)]), unique=True, min_size=1, max_size=3))
    assume(set().union(*sets) == set(range(len(keys))) or not keys)
    made = [draw(functions(types)) for _ in range(draw(st.integers(1, 2)))]
    return GroupingSets(child, keys, sets, made), (*(types[key] for key in keys), *(result(function, types) for function in made))


@st.composite
def unpivot(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    kind = draw(st.sampled_from(sorted(set(types))))
    columns = draw(st.lists(st.sampled_from(of_type(types, kind)), unique=True, min_size=1, max_size=3))
    plan = Unpivot(child, columns, draw(st.booleans()))
    return plan, (*(types[place] for place in plan.others), "string", kind)


@st.composite
def pivot(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    numbers = of_type(types, "bigint")
    if not numbers:
        return child, types
    by = draw(st.sampled_from(numbers))
    keys = draw(st.lists(st.sampled_from(range(child.width)), unique=True, min_size=1, max_size=2))
    values = draw(st.lists(st.integers(0, 3), unique=True, min_size=1, max_size=3))
    made = [Function(draw(st.sampled_from(FUNCTIONS)), draw(st.sampled_from(numbers))) for _ in range(draw(st.integers(1, 2)))]
    return Pivot(child, keys, by, values, made), (*(types[key] for key in keys), *(["bigint"] * (len(values) * len(made))))


@st.composite
def drop_duplicates(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    numbers = of_type(types, "bigint")
    if not numbers:
        return child, types
    key = draw(st.sampled_from(numbers))
    more = draw(st.lists(st.sampled_from(range(child.width)), unique=True, max_size=1))
    keys = [key, *(place for place in more if place != key)]
    told = Plus(Column(key), Literal(draw(st.integers(1, 3))))
    return DropDuplicates(child, keys, told), (*(types[place] for place in keys), "bigint")
