"""Decimals are computed where neither Spark nor DuckDB rounds, and nowhere else."""

from __future__ import annotations

from decimal import Decimal, localcontext

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from headwater.graph.duck.decimals import computed, shape_of, widens

SHAPES = st.integers(1, 18).flatmap(lambda width: st.tuples(st.just(width), st.integers(0, width)))


@st.composite
def decimals(draw: st.DrawFn) -> tuple[str, Decimal]:
    width, scale = draw(SHAPES)
    unscaled = draw(st.integers(-(10**width) + 1, 10**width - 1))
    return f"DECIMAL({width},{scale})", Decimal(unscaled).scaleb(-scale)


def sparks(fn: str, left: str, right: str) -> str:
    """The type that Spark gives to an operation on two decimals, where no digits have to go (its class BinaryArithmetic)."""
    (whole, scale), (other, others) = shape_of(left) or (0, 0), shape_of(right) or (0, 0)
    if fn == "*":
        return f"DECIMAL({whole + scale + other + others + 1},{scale + others})"
    return f"DECIMAL({max(whole, other) + max(scale, others) + 1},{max(scale, others)})"


@settings(deadline=None)
@given(fn=st.sampled_from(["+", "-", "*"]), left=decimals(), right=decimals())
def test_what_is_computed_is_exact(fn: str, left: tuple[str, Decimal], right: tuple[str, Decimal]) -> None:
    kinds: list[str | None] = [left[0], right[0]]
    sql = computed(fn, [f"CAST('{value:f}' AS {kind})" for kind, value in (left, right)], kinds, sparks(fn, left[0], right[0]))
    assert sql
    with localcontext(prec=80):
        expected = {"+": left[1] + right[1], "-": left[1] - right[1], "*": left[1] * right[1]}[fn]
    assert duckdb.execute(f"SELECT {sql}").fetchone() == (expected,)


@settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])  # few pairs of shapes widen; drawing them costs nothing
@given(left=decimals(), wanted=SHAPES)
def test_what_widens_keeps_its_value(left: tuple[str, Decimal], wanted: tuple[int, int]) -> None:
    kind = f"DECIMAL({wanted[0]},{wanted[1]})"
    assume(widens(left[0], kind))
    assert duckdb.execute(f"SELECT CAST(CAST('{left[1]:f}' AS {left[0]}) AS {kind})").fetchone() == (left[1],)


@pytest.mark.parametrize(
    ("given", "wanted", "expected"),
    [("BIGINT", "DECIMAL(20,0)", True), ("BIGINT", "DECIMAL(20,2)", False), ("INTEGER", "DECIMAL(12,2)", True),
     ("DOUBLE", "DECIMAL(38,2)", False), ("DECIMAL(5,2)", "DECIMAL(5,3)", False),
     ("DECIMAL(5,2)", "DECIMAL(6,3)", True), ("DECIMAL(5,2)", "BIGINT", False)],
)  # fmt: skip
def test_only_what_loses_no_digit_widens(given: str, wanted: str, expected: bool) -> None:
    assert widens(given, wanted) is expected


def test_what_spark_rounds_is_not_computed() -> None:
    assert computed("*", ["a", "b"], ["DECIMAL(38,10)", "DECIMAL(38,10)"], "DECIMAL(38,6)") is None
    assert computed("+", ["a", "b"], ["DECIMAL(38,10)", "DECIMAL(38,2)"], "DECIMAL(38,9)") is None
    assert computed("+", ["a", "b"], ["DECIMAL(5,2)", "BIGINT"], "DECIMAL(22,2)") is None
