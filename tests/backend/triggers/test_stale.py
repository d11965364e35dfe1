"""The condition `stale`: a dataset without a new version for some time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.backend.triggers.silence import Silence
from headwater.errors import InvalidInputError
from tests.backend.events import run_event
from tests.backend.triggers.conftest import TriggeredHome

_DATASET = "dataset:file:/out/report"
_HOUR = 3_600.0


def _written(number: int, at: float, kind: str = "COMPLETE") -> dict[str, Any]:
    event = run_event(number, inputs=[], outputs=[{"namespace": "file", "name": "/out/report"}])
    return {**event, "eventType": kind, "eventTime": datetime.fromtimestamp(at, UTC).isoformat()}


class _Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def test_silence_fires_once_for_each_last_version(home: TriggeredHome) -> None:
    trigger = await home.create({"stale": {"dataset": _DATASET, "after": "1h"}}, {"webhook": {"target": "there"}})
    clock = _Clock(trigger.created)
    silence = Silence(home.store, home.workspace.log, home.workspace.graph, clock)

    async def causes_after(seconds: float) -> list[str]:
        clock.now += seconds
        await silence.look("default")
        return [entry.cause.id for entry in await home.triggers.history(trigger)]

    assert await causes_after(_HOUR - 1) == []
    first = [f"stale {_DATASET} {trigger.created}"]
    assert await causes_after(2) == first, "no version yet: the silence began with the trigger"
    assert await causes_after(_HOUR) == first
    clock.now = at = float(round(trigger.created)) + 23 * _HOUR  # less than a day, and after all looks of the home's own worker
    await home.send(_written(1, at), _written(2, at + 60, "FAIL"))
    assert await causes_after(_HOUR - 1) == first
    again = await causes_after(2)
    assert again[0] == f"stale {_DATASET} {at}"
    assert sorted(again) == sorted([*first, f"stale {_DATASET} {at}"]), "a run that failed wrote no version"
    other = Silence(home.store, home.workspace.log, home.workspace.graph, clock)  # another process looks, too
    assert await other.look("default") == 0


async def test_many_failed_runs_after_the_last_version_fire_nothing_more(home: TriggeredHome) -> None:
    trigger = await home.create({"stale": {"dataset": _DATASET, "after": "1h"}}, {"webhook": {"target": "there"}})
    at = float(round(trigger.created)) - 100 * _HOUR
    await home.send(_written(1, at))
    clock = _Clock(trigger.created)
    silence = Silence(home.store, home.workspace.log, home.workspace.graph, clock)
    await silence.look("default")
    await home.send(*(_written(number, at + number, "FAIL") for number in range(2, 42)))
    for each in (silence, Silence(home.store, home.workspace.log, home.workspace.graph, clock)):  # a new process knows nothing yet
        clock.now += _HOUR
        await each.look("default")
    assert [entry.cause.id for entry in await home.triggers.history(trigger)] == [f"stale {_DATASET} {at}"]


async def test_a_look_reads_only_the_triggers_that_are_due(home: TriggeredHome, monkeypatch: pytest.MonkeyPatch) -> None:
    trigger = await home.create({"stale": {"dataset": _DATASET, "after": "1h"}}, {"webhook": {"target": "there"}})
    definitions = home.store.definitions
    await Silence(home.store, home.workspace.log, home.workspace.graph, _Clock(trigger.created)).look("default")
    assert definitions.due_looks("default", trigger.created + _HOUR - 1) == []
    assert [(due.id, place) for due, place in definitions.due_looks("default", trigger.created + _HOUR)] == [(trigger.id, 0)]
    monkeypatch.setattr(type(definitions), "all", None)
    assert await Silence(home.store, home.workspace.log, home.workspace.graph, _Clock(trigger.created + 2 * _HOUR)).look("default") == 1


async def test_triggers_of_an_earlier_version_get_their_looks(home: TriggeredHome) -> None:
    trigger = await home.create({"stale": {"dataset": _DATASET, "after": "1h"}}, {"webhook": {"target": "there"}})
    with home.store.database.transaction() as connection:
        connection.run("UPDATE trigger_look SET member = -1, due = 0")
    definitions = home.store.definitions
    definitions.due_looks("default", trigger.created)
    assert [(due.id, place) for due, place in definitions.due_looks("default", trigger.created + _HOUR)] == [(trigger.id, 0)]


async def test_a_stale_dataset_is_notified_by_the_service(home: TriggeredHome) -> None:
    trigger = await home.create({"stale": {"dataset": _DATASET, "after": "1s"}})
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert (entry.execution.state, entry.cause.facts[0].kind) == ("complete", "stale")


async def test_a_paused_trigger_stays_silent(home: TriggeredHome) -> None:
    trigger = await home.create({"stale": {"dataset": _DATASET, "after": "1h"}})
    await home.triggers.pause("default", "t")
    clock = _Clock(trigger.created + 10 * _HOUR)
    assert await Silence(home.store, home.workspace.log, home.workspace.graph, clock).look("default") == 0


@pytest.mark.parametrize(
    ("stated", "field"),
    [
        ({}, "stale.after"), ({"dataset": _DATASET}, "stale.after"), ({"after": "1h"}, "stale.dataset"),
        ({"dataset": _DATASET, "after": "0.5s"}, "stale.after"), ({"dataset": _DATASET, "after": "soon"}, "stale.after"),
        ({"dataset": _DATASET, "after": "1h", "where": "true"}, "stale.where"),
    ],
)  # fmt: skip
async def test_an_incomplete_condition_is_refused(home: TriggeredHome, stated: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await home.create({"stale": stated})
    assert str(refused.value.field).endswith(field)


async def test_a_rehearsal_says_that_silence_is_not_tested(home: TriggeredHome) -> None:
    document = {"name": "x", "when": {"stale": {"dataset": _DATASET, "after": "1h"}}, "do": {"webhook": {"target": "there"}}}
    found = await home.triggers.test("default", since=0.0, until=1.0, document=document)
    assert "not tested" in found.notes[0]
