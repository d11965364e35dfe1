"""Instants that pass while no service runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.triggers.conditions.time import GRACE, MOST_AT_ONCE, due_instants, next_instant

HOUR = 3_600.0


@pytest.mark.parametrize("parts", [{"every": HOUR}, {"cron": "0 * * * *", "zone": "Asia/Kolkata"}])
def test_what_becomes_of_missed_instants(parts: dict[str, Any]) -> None:
    due = next_instant(parts, 0.0, 1_000_000.0)
    assert due is not None
    now = due + 5 * HOUR + GRACE + 1.0  # six instants passed
    passed = [due + number * HOUR for number in range(6)]
    following = due + 6 * HOUR
    assert due_instants({**parts, "missed": "all"}, 0.0, due, now).fire == passed
    once = due_instants({**parts, "missed": "once"}, 0.0, due, now)
    assert (list(once.fire), once.skipped, once.following) == ([passed[-1]], None, following)
    skip = due_instants({**parts, "missed": "skip"}, 0.0, due, now)
    assert (list(skip.fire), skip.skipped, skip.following) == ([], passed[-1], following)
    young = due_instants({**parts, "missed": "skip"}, 0.0, due, due + 5 * HOUR + 1.0)
    assert (list(young.fire), young.skipped) == ([passed[-1]], passed[-2])


def test_a_year_of_missed_seconds_is_cut() -> None:
    found = due_instants({"every": 1.0, "missed": "all"}, 0.0, 1.0, 365 * 86_400.0)
    assert len(found.fire) == MOST_AT_ONCE
    assert found.following == 365 * 86_400.0 + 1.0


@given(
    every=st.floats(1.0, 1e6), missed=st.sampled_from(["all", "once", "skip"]),
    looks=st.lists(st.floats(0.0, 1e5), min_size=1, max_size=20),
)  # fmt: skip
def test_whoever_looks_when_fires_no_instant_twice(every: float, missed: str, looks: list[float]) -> None:
    parts = {"every": every, "missed": missed}
    due, now, fired = next_instant(parts, 0.0, 0.0), 0.0, []
    for pause in looks:
        now += pause
        if due is not None and due <= now:
            found = due_instants(parts, 0.0, due, now)
            fired += found.fire
            due = found.following
            assert due is not None
            assert due > now
    assert fired == sorted(set(fired))
    assert all(at <= now for at in fired)
