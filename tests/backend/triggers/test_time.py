"""Instants that pass while no service runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.triggers.conditions.time import GRACE, MOST_AT_ONCE, due_instants, next_instant
from headwater.errors import InvalidInputError

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


@pytest.mark.parametrize(
    ("cron", "reason"),
    [
        ("0 6 L * *", "L in the field day of the month"),
        ("0 6 lw * *", "LW in the field day of the month"),
        ("0 6 * * 5L", "5L in the field day of the week"),
        ("0 6 * * 5#2", "5#2 in the field day of the week"),
        ("0 6 1,L * *", "L in the field day of the month"),
        ("0 6 15W * *", "15W in the field"),
        ("0 6 ? * *", "an extension"),
        ("*/99 * * * *", "the step 99 in the field minute is larger than 59"),
        ("0-30/60 * * * *", "the step 60"),
        ("0 */24 * * *", "the step 24 in the field hour is larger than 23"),
        ("0 0 * */13 *", "the step 13 in the field month is larger than 12"),
        ("0 0 * * * *", "Wrong number of fields"),
    ],
)
def test_what_cron_does_not_have_is_refused_by_name(cron: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(reason)):
        next_instant({"cron": cron, "zone": "UTC"}, 0.0, 0.0)


@pytest.mark.parametrize("cron", ["0 6 * JUL,AUG WED", "*/59 */23 */31 */12 */7", "5/15 * * * 1-5", "0 0 1-31/2 jul-sep mon"])
def test_names_lists_ranges_and_steps_are_accepted(cron: str) -> None:
    assert next_instant({"cron": cron, "zone": "Europe/Berlin"}, 0.0, 0.0) is not None


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "Factory", "posix/Europe/Berlin", "right/Europe/Berlin", "Mars", "", "/etc"])
def test_zones_that_depend_on_the_machine_are_refused(zone: str) -> None:
    with pytest.raises(InvalidInputError, match="zone") as refusal:
        next_instant({"cron": "0 6 * * *", "zone": zone}, 0.0, 0.0)
    assert refusal.value.field == "time.zone"


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
