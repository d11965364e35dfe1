"""Dates and instants as people write them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from zoneinfo import ZoneInfo

import pytest

from headwater.errors import InvalidQueryError
from headwater.graph.model.instants import instant_of, shown_instant


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "end", "instant"),
    [
        ("2026-03-01", True, "2026-03-01T22:59:59.999999Z"),
        ("2026-03-01", False, "2026-02-28T23:00:00.000000Z"),
        ("2026-03-29", True, "2026-03-29T21:59:59.999999Z"),  # the clock is put forward on this day
        ("2026-03-01T12:00", True, "2026-03-01T11:00:00.000000Z"),
        ("2026-03-01T12:00:00Z", True, "2026-03-01T12:00:00.000000Z"),
    ],
)
def test_a_text_without_a_zone_is_in_that_of_the_machine(in_berlin: None, text: str, end: bool, instant: str) -> None:
    assert instant_of(text, "as_of", end=end, zone=None) == instant


def test_a_zone_may_be_named_and_is_otherwise_utc() -> None:
    assert instant_of("2026-03-01", "as_of", end=True) == "2026-03-01T23:59:59.999999Z"
    assert instant_of("2026-03-01", "as_of", end=True, zone=ZoneInfo("America/New_York")) == "2026-03-02T04:59:59.999999Z"


@pytest.mark.parametrize("text", ["soon", "2026-02-30", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", ""])
@pytest.mark.parametrize("end", [True, False])
def test_what_is_no_instant_is_refused(text: str, end: bool) -> None:
    with pytest.raises(InvalidQueryError, match="is not an instant") as raised:
        instant_of(text, "as_of", end=end)
    assert raised.value.field == "as_of"


def test_a_whole_second_is_shown_as_such() -> None:
    assert shown_instant("2026-03-01T12:00:00.000000Z") == "2026-03-01T12:00:00Z"
    assert shown_instant("2026-03-01T12:00:00.123456Z") == "2026-03-01T12:00:00.123456Z"
