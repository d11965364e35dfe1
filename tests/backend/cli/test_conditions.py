"""Conditions on the command line: as people write them, and never with another meaning."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.cli.conditions import plain_condition

_NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("spark", "people"),
    [
        ("(((a > 1) AND (b = 2)) AND (c IS NOT NULL))", "a > 1 AND b = 2 AND c IS NOT NULL"),
        ("(a > 1)", "a > 1"),
        ("((a > 1) OR (b = 2))", "(a > 1) OR (b = 2)"),
        ("(((a > 1) OR (b = 2)) AND (c = 3))", "((a > 1) OR (b = 2)) AND c = 3"),
        ("isnotnull(k) AND (k > lower(x))", "isnotnull(k) AND k > lower(x)"),
        ("(name = x) AND y)", "(name = x) AND y)"),
        (f"{'(' * 1_500}x{')' * 1_500}", f"{'(' * 1_500}x{')' * 1_500}"),  # longer than anybody reads, and slow to read
        ("x", "x"),
        ("", ""),
    ],
)
def test_a_condition_is_written_as_people_write_it(spark: str, people: str) -> None:
    assert plain_condition(spark) == people


_CONDITIONS = st.recursive(
    st.sampled_from(_NAMES),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        inner.map(lambda part: f"(NOT {part})"),
    ),
    max_leaves=8,
)


@given(_CONDITIONS)
def test_it_says_the_same(condition: str) -> None:
    shorter = plain_condition(condition)
    assert len(shorter) <= len(condition)
    for values in product([True, False], repeat=len(_NAMES)):
        known = dict(zip(_NAMES, values, strict=True))
        assert _value(shorter, known) == _value(condition, known), shorter


def _value(condition: str, known: dict[str, bool]) -> bool:
    python = re.sub(r"AND|OR|NOT", lambda word: word[0].lower(), condition)
    return bool(eval(python, {}, known))  # made of three names above
