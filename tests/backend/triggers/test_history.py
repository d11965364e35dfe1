"""When triggers would have fired: the test against history."""

from __future__ import annotations

import time

import pytest

from headwater.backend.triggers.callers import parse_time
from headwater.backend.triggers.history import MOST_INSTANTS
from headwater.backend.triggers.model import instant
from headwater.errors import HeadwaterError, InvalidQueryError
from tests.backend.events import run_event
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.receiver import Receiver

HOOK = {"webhook": {"target": "there"}}


async def test_the_events_of_a_period_fire_in_a_test_and_nothing_is_called(home: TriggeredHome, there: Receiver) -> None:
    began = time.time()
    await home.send(run_event(1), run_event(2), run_event(8), run_event(15, "FAIL"))
    stated = {"name": "t", "when": {"data": {"dataset": "/out/1"}}, "do": HOOK}
    found = await home.triggers.test("default", since=began, until=time.time() + 1, document=stated)
    assert len(found.causes) == 2
    assert found.entries == 4
    assert await home.triggers.all("default") == []
    later = await home.triggers.test("default", since=time.time(), until=time.time() + 1, document=stated)
    assert later.causes == []
    limited = {**stated, "limits": {"cool_down": "1d"}}
    found = await home.triggers.test("default", since=began, until=time.time() + 1, document=limited)
    assert [str(cause.outcome) for cause in found.causes] == ["fired", "skipped"]
    assert there.requests == []


async def test_members_and_other_triggers_are_part_of_a_test(home: TriggeredHome) -> None:
    began = time.time()
    await home.create({"data": {"dataset": "dataset:file:/out/1"}}, name="one")
    await home.triggers.pause("default", "one")
    await home.send(run_event(1), run_event(2))
    both = {"name": "both", "when": {"all_of": {"of": ["one", {"cascade": {"job": "job-2"}}]}}, "do": HOOK}
    found = await home.triggers.test("default", since=began, until=time.time() + 1, document=both)
    assert [[str(fact.kind) for fact in cause.facts] for cause in found.causes] == [["fired", "run"]]
    assert await home.triggers.history(await home.triggers.get("default", "one")) == []


@pytest.mark.parametrize(
    ("time_", "since", "until", "expected"),
    [
        # A clock change leaves 02:30 out, and repeats it.
        ({"cron": "30 2 * * *", "zone": "Europe/Berlin"}, "2026-03-28", "2026-03-31",
         ["2026-03-28T01:30:00.000+00:00", "2026-03-29T01:00:00.000+00:00", "2026-03-30T00:30:00.000+00:00"]),
        ({"cron": "30 2 * * *", "zone": "Europe/Berlin"}, "2026-10-24", "2026-10-27",
         ["2026-10-24T00:30:00.000+00:00", "2026-10-25T00:30:00.000+00:00", "2026-10-26T01:30:00.000+00:00"]),
        ({"cron": "0 0 29 2 *"}, "2026-01-01", "2030-01-01", ["2028-02-29T00:00:00.000+00:00"]),
        ({"cron": "0 12 * * 7"}, "2026-02-01", "2026-02-08T13:00", ["2026-02-01T12:00:00.000+00:00", "2026-02-08T12:00:00.000+00:00"]),
        ({"every": "8h"}, "2026-02-01", "2026-02-02", ["2026-02-01T08:00:00.000+00:00", "2026-02-01T16:00:00.000+00:00"]),
    ],
)  # fmt: skip
async def test_instants_of_a_period(home: TriggeredHome, time_: dict[str, str], since: str, until: str, expected: list[str]) -> None:
    stated = {"name": "t", "when": {"time": time_}, "do": HOOK}
    found = await home.triggers.test("default", since=parse_time(since, "since"), until=parse_time(until, "until"), document=stated)
    assert [cause.id for cause in found.causes] == expected


async def test_a_period_that_ends_before_it_begins_is_refused(home: TriggeredHome) -> None:
    with pytest.raises(InvalidQueryError, match="ends before it begins"):
        await home.triggers.test("default", since=2.0, until=1.0, document={"name": "t", "when": {"manual": {}}, "do": HOOK})
    with pytest.raises(HeadwaterError, match="no trigger 'u'"):
        await home.triggers.test("default", since=1.0, until=2.0, name="u")


async def test_instants_beyond_the_limit_are_named(home: TriggeredHome) -> None:
    stated = {"name": "t", "when": {"time": {"every": "1h", "missed": "all"}}, "do": HOOK}
    begin = parse_time("2020-01-01", "since")
    end = begin + (MOST_INSTANTS + 10) * 3600
    found = await home.triggers.test("default", since=begin, until=end, document=stated)
    assert len(found.causes) == MOST_INSTANTS
    (note,) = found.notes
    assert "10,000" in note
    assert instant(begin + (MOST_INSTANTS + 1) * 3600)[:19] in note
    whole = await home.triggers.test("default", since=begin, until=begin + 100 * 3600, document=stated)
    assert whole.notes == []
