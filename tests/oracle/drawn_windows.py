"""Random windows: aggregates over frames, ranks with and without ties, the row before and after, the first of a frame."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.oracle.drawn import UNIQUE, Typed, is_numbered, is_windowed, result
from tests.oracle.plans import Filter, Frame, Function, Plan, Window
from tests.oracle.ranks import OF_TIES, Placed, Ranking
from tests.oracle.rows import Ranked
from tests.oracle.values import Column, Compare, Literal

_ROWS = [Frame("rows", None, 0), Frame("rows", -1, 1), Frame("rows", 0, None), Frame("rows", -2, -1), Frame("rows", 1, 2)]
_FRAMES = [*_ROWS, Frame("whole"), Frame("range"), Frame("values", -1, 1), Frame("values", None, 1), Frame("values", 0, None)]
_partitions = st.lists(st.sampled_from((0, 1, 2)), unique=True, max_size=2)


@st.composite
def window(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    """An aggregate over a frame; of a window below the result, so that they do not count as one."""
    if is_windowed(child) and (not isinstance(child, (Window, Ranking)) or types[-1] != "bigint"):
        return child, types
    frame = draw(st.sampled_from(_FRAMES))
    read = child.width - 1 if isinstance(child, (Window, Ranking)) else draw(st.sampled_from((0, UNIQUE)))
    function = Function(draw(st.sampled_from(("sum", "count", "min", "max"))), read)
    order = [draw(st.sampled_from((0, UNIQUE)))] if frame.unit in ("range", "values") else [UNIQUE]
    return Window(child, draw(_partitions), order, frame, function), (*types, result(function, types))


@st.composite
def chosen_by_place(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    """The first, last or second value of a frame."""
    if is_windowed(child):
        return child, types
    function = Placed(draw(st.sampled_from(("first_value", "last_value", "nth_value"))), draw(st.sampled_from(range(child.width))))
    return Window(child, draw(_partitions), [UNIQUE], draw(st.sampled_from(_ROWS)), function), (*types, types[function.place])


@st.composite
def ranking(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    """A rank, which may have ties, or what needs an order without. Often the first ranks alone stay."""
    below = isinstance(child, (Window, Ranking))
    if is_windowed(child) and not below:
        return child, types
    numbered = is_numbered(child)
    names = [*OF_TIES, "row_number", "ntile", "lag", "lead"] if numbered else [*OF_TIES]
    name = draw(st.sampled_from(names))
    partition = draw(st.lists(st.sampled_from(range(child.width)), unique=True, max_size=2))
    order = draw(st.lists(st.sampled_from(range(child.width)), unique=True, min_size=1, max_size=2))
    if below and child.width - 1 not in order:
        order.insert(0, child.width - 1)
    if name not in OF_TIES and UNIQUE not in order:
        order.append(UNIQUE)
    shifts = name in ("lag", "lead")
    argument = draw(st.sampled_from(range(child.width))) if shifts else 0
    plan = Ranking(child, partition, order, draw(st.booleans()), name, argument, draw(st.integers(1, 3)))
    kind = types[argument] if shifts else "double" if name in ("percent_rank", "cume_dist") else "bigint"
    known = (*types, kind)
    if name in ("rank", "dense_rank", "row_number") and draw(st.booleans()):
        return Filter(plan, Compare("<", Column(child.width), Literal(draw(st.integers(2, 4))))), known
    return plan, known


@st.composite
def ranked(draw: st.DrawFn, child: Plan, types: tuple[str, ...]) -> Typed:
    if is_windowed(child):
        return child, types
    return Ranked(child, draw(_partitions), UNIQUE, draw(st.integers(1, 3))), (*types, "bigint")
