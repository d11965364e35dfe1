"""The law of merging: a join of a semilattice."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidInputError
from headwater.graph.model import Stamp
from headwater.graph.model.merge import NAME, Facts, canonical, merged

VALUES = st.one_of(st.none(), st.sampled_from([0, 0.0, -0.0, False, 1, True, 1.0, "1", "", [], {}, [1], {"a": None}]))
PRECEDENCE = st.tuples(st.integers(-1, 1), st.sampled_from(["t1", "t2"]), st.sampled_from(["k", "l"]))


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    made = Facts()
    for name, value, precedence in draw(st.lists(st.tuples(st.sampled_from(["a", "b"]), VALUES, PRECEDENCE), max_size=6)):
        made.state(name, value, precedence)
    return made


def joined(*parts: Facts) -> tuple[str, str]:
    whole = Facts()
    for part in parts:
        whole.absorb(part)
    return whole.dump()


@given(facts(), facts(), facts())
def test_merging_has_no_order_no_grouping_and_no_count(a: Facts, b: Facts, c: Facts) -> None:
    grouped = Facts()
    grouped.absorb(b)
    grouped.absorb(c)
    assert joined(a, b) == joined(b, a)
    assert joined(a, grouped) == joined(a, b, c)
    assert joined(a, b, a, b) == joined(a, b)


@given(facts())
def test_facts_survive_being_kept(stated: Facts) -> None:
    stated.state(NAME, "the name", (0, "t", "k"))
    kept = Facts.load("the name", *stated.dump())
    assert (kept.precedence, canonical(kept.values)) == (stated.precedence, canonical(stated.values))


@given(facts(), facts())
def test_a_store_is_told_when_nothing_changes(a: Facts, b: Facts) -> None:
    properties, stamps = a.dump()
    after = merged("n", properties, stamps, b)
    assert (after or ("n", properties, stamps))[1:] == joined(a, b)
    assert merged("n", properties, stamps, a) is None


@given(*[st.tuples(st.sampled_from([{"a": 1}, {"a": 2}, {"a": 1, "b": None}]), st.sampled_from(["m", "n"]), PRECEDENCE)] * 2)
def test_a_repeated_statement_replaces_an_earlier_one_with_its_name(
    one: tuple[dict[str, int], str, tuple[int, str, str]], other: tuple[dict[str, int], str, tuple[int, str, str]]
) -> None:
    stated = []
    for properties, name, precedence in (one, other):
        stated.append(Facts())
        for fact, value in ({NAME: name} | properties).items():
            stated[-1].state(fact, value, precedence)
    whole = Facts()
    for each in stated:
        whole.absorb(each)
    before = (one[1], *stated[0].dump())
    assert (merged(*before, stated[1]) or before) == (whole.values[NAME], *whole.dump())


def test_properties_are_kept_as_one_text_for_equal_values() -> None:
    one, other = Facts(), Facts()
    for made, names in ((one, ["a", "b"]), (other, ["b", "a"])):
        for name in names:
            made.state(name, {"y": "ü", "x": [1]}, (0, "t", "k"))
    assert one.dump() == other.dump()
    assert json.loads(one.dump()[0]) == {"a": {"y": "ü", "x": [1]}, "b": {"y": "ü", "x": [1]}}


@pytest.mark.parametrize(
    ("instant", "time"),
    [
        ("2026-01-31T23:59:59Z", "2026-01-31T23:59:59.000000Z"),
        ("2026-01-31T23:59:59.123456789+02:00", "2026-01-31T21:59:59.123456Z"),
        ("2026-01-31T23:59:59", "2026-01-31T23:59:59.000000Z"),
        (datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-1))), "2026-01-01T01:00:00.000000Z"),
    ],
)
def test_a_stamp_writes_every_instant_in_one_form(instant: str | datetime, time: str) -> None:
    assert Stamp.at(instant, "k") == Stamp(time, "k")


INSTANTS = st.datetimes(timezones=st.timezones(), allow_imaginary=False).filter(lambda instant: 2 < instant.year < 9_998)


@given(INSTANTS, INSTANTS)
def test_stamps_compare_as_their_instants(first: datetime, second: datetime) -> None:
    assert (Stamp.at(first, "k") < Stamp.at(second.isoformat(), "k")) == (first.astimezone(UTC) < second.astimezone(UTC))


def test_what_is_no_instant_is_named() -> None:
    with pytest.raises(InvalidInputError, match="yesterday"):
        Stamp.at("yesterday", "k")
