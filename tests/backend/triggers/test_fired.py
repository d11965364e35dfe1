"""Triggers of a home that fire, end to end: an event arrives, and a webhook is called."""

from __future__ import annotations

import asyncio
import hmac
from hashlib import sha256
from typing import Any

import pytest

from headwater.backend.triggers import runner
from headwater.backend.triggers.model import Outcome, instant
from headwater.backend.worker.thread import Worker
from headwater.errors import InvalidInputError, NotFoundError
from tests.backend.events import facet, run_event
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.receiver import SECRET, Receiver

OUT = "dataset:file:/out/1"
DATA = {"data": {"dataset": OUT}}


async def test_a_new_version_fires_once_and_the_webhook_is_signed(home: TriggeredHome, there: Receiver) -> None:
    await home.send(run_event(1))  # before the trigger's time
    trigger = await home.create(DATA)
    await home.send(
        run_event(8, "START"), run_event(8), run_event(8, eventTime="2013-02-12T04:00:00Z"), run_event(9), run_event(15, "FAIL")
    )
    (entry,) = await home.ended(trigger, 1)
    await home.seen()
    (headers, document) = there.requests[0]
    assert len(there.requests) == 1
    seconds, signature = (part.partition("=")[2] for part in headers["x-headwater-signature"].split(","))
    assert signature == hmac.new(SECRET, f"{seconds}.{headers[':body']}".encode(), sha256).hexdigest()
    assert headers["idempotency-key"] == document["execution"] == entry.cause.execution
    assert (document["trigger"], document["attempt"], document["depth"]) == ("t", 1, 1)
    (fact,) = document["facts"]
    assert (fact["kind"], fact["subject"], fact["id"]) == ("version", OUT, entry.cause.id)
    assert fact["id"].startswith("version:file:/out/1:")
    assert entry.execution is not None
    assert (entry.execution.state, entry.execution.result) == ("complete", "the webhook there answered 200")
    lines = [line for line in home.audit() if line["what"].startswith("trigger.")]
    assert [(line["what"], line["who"], line["decision"]) for line in lines] == [
        ("trigger.fire", "home", "allowed"), ("trigger.end", "home", "allowed")
    ]  # fmt: skip


async def test_outputs_that_only_the_start_of_a_run_names_count(home: TriggeredHome, there: Receiver) -> None:
    trigger = await home.create(DATA)
    await home.send(run_event(8, "START"))
    await home.send(run_event(8, inputs=[], outputs=[]))
    await home.ended(trigger, 1)
    assert there.requests[0][1]["facts"][0]["kind"] == "version"


@pytest.mark.parametrize(("state", "kind"), [("started", "START"), ("completed", "COMPLETE"), ("failed", "FAIL"), ("aborted", "ABORT")])
async def test_a_state_of_a_run_fires(home: TriggeredHome, there: Receiver, state: str, kind: str) -> None:
    await home.send(run_event(8))
    trigger = await home.create({"cascade": {"job": "job-1", "state": state}})
    await home.send(*(run_event(1, every) for every in ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT") if every != kind))
    await home.send(run_event(15, kind), run_event(16, kind))
    await home.ended(trigger, 1)
    await home.seen()
    assert [document["facts"][0]["state"] for _, document in there.requests] == [state]


async def test_a_failed_check_fires(home: TriggeredHome, there: Receiver) -> None:
    every = await home.create({"data": {"dataset": OUT, "failed_check": True}}, name="every")
    one = await home.create({"data": {"dataset": OUT, "failed_check": "unique"}}, name="one")

    def checked(number: int, **results: bool) -> Any:
        assertions = [{"assertion": name, "column": "id", "success": success} for name, success in results.items()]
        return run_event(
            number, outputs=[{"namespace": "file", "name": "/out/1", "facets": {"dataQualityAssertions": facet(assertions=assertions)}}]
        )

    await home.send(checked(1, unique=True), checked(8, not_null=False, unique=True), checked(15, unique=False))
    assert len(await home.ended(every, 2)) == 2
    assert len(await home.ended(one, 1)) == 1
    await home.seen()
    assert sorted(document["trigger"] for _, document in there.requests) == ["every", "every", "one"]


async def test_a_trigger_fires_by_hand_and_a_key_fires_it_once(home: TriggeredHome, there: Receiver) -> None:
    trigger = await home.create({"manual": {}})
    first = await home.triggers.fire("default", "t", key="monday", by="home")
    assert await home.triggers.fire("default", "t", key="monday", by="home") == first
    await home.triggers.fire("default", "t")
    assert len(await home.ended(trigger, 2)) == 2
    assert len(there.requests) == 2
    with pytest.raises(NotFoundError, match="no trigger 'u'"):
        await home.triggers.fire("default", "u")


async def test_an_interval_fires(home: TriggeredHome, there: Receiver) -> None:
    trigger = await home.create({"time": {"every": "1s"}})
    there.wait(lambda now: len(now.requests) >= 2)
    await home.triggers.pause("default", "t")
    causes = [entry.cause for entry in await home.triggers.history(trigger)]
    numbers = [round(cause.at - trigger.created) for cause in causes]
    assert [cause.at for cause in causes] == [trigger.created + number for number in numbers]
    assert numbers == sorted(set(numbers), reverse=True)
    assert [cause.id for cause in causes] == [instant(cause.at) for cause in causes]


async def test_a_receiver_that_is_away_is_called_again_with_the_same_key(home: TriggeredHome, there: Receiver) -> None:
    there.answers = [503, 429]
    trigger = await home.create({"manual": {}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert len({headers["idempotency-key"] for headers, _ in there.requests}) == 1
    assert [document["attempt"] for _, document in there.requests] == [1, 2, 3]
    assert entry.execution is not None
    assert (entry.execution.state, entry.execution.attempt) == ("complete", 3)


async def test_a_delivery_is_repeated_for_the_hours_of_its_target_also_by_another_service(
    home: TriggeredHome, there: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_FIRST_PAUSE", 0.001)
    there.answers = [503] * 12
    trigger = await home.create({"manual": {}})
    await home.triggers.fire("default", "t")
    await asyncio.to_thread(there.wait, lambda now: len(now.requests) >= 7)
    await asyncio.to_thread(home.worker.stop)
    another = Worker(home.workspace)
    another.start()
    try:
        (entry,) = await home.ended(trigger, 1)
    finally:
        await asyncio.to_thread(another.stop)
    assert entry.execution is not None
    assert (entry.execution.state, entry.execution.error) == ("complete", None)
    assert len(there.requests) == 13
    assert len({headers["idempotency-key"] for headers, _ in there.requests}) == 1


async def test_without_hours_a_delivery_is_given_up_after_five_attempts(
    home: TriggeredHome, there: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_FIRST_PAUSE", 0.001)
    with home.workspace.home.targets.open("a") as file:
        file.write("retry_hours = 0\n")
    there.answers = [503] * 20
    trigger = await home.create({"manual": {}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert (entry.execution.state, entry.execution.attempt, len(there.requests)) == ("failed", 5, 5)
    assert "given up after 5 attempts" in str(entry.execution.error)


@pytest.mark.parametrize("status", [302, 307, 404])
async def test_a_refusal_ends_an_execution_and_a_redirect_is_not_followed(home: TriggeredHome, there: Receiver, status: int) -> None:
    there.answers = [status]
    trigger = await home.create({"manual": {}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert entry.execution.state == "failed"
    assert str(status) in str(entry.execution.error)
    assert [headers[":path"] for headers, _ in there.requests] == ["/hook?a=1"]


async def test_a_host_of_a_private_network_is_called_only_if_the_operator_says_so(home: TriggeredHome, there: Receiver) -> None:
    trigger = await home.create({"manual": {}})
    there.list_in(home.workspace.home.path, private=False)
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert "not public" in str(entry.execution.error)
    assert there.requests == []


async def test_what_happens_during_a_pause_does_not_fire(home: TriggeredHome, there: Receiver) -> None:
    trigger = await home.create(DATA)
    await home.triggers.pause("default", "t")
    await home.send(run_event(1))
    await home.triggers.resume("default", "t", {"kind": "home", "name": "home"})
    await home.send(run_event(8))
    await home.ended(trigger, 1)
    await home.seen()
    assert len(there.requests) == 1
    await home.triggers.pause("default", "t")
    with pytest.raises(InvalidInputError, match="paused"):
        await home.triggers.fire("default", "t")


async def test_all_of_and_the_name_of_a_trigger(home: TriggeredHome, there: Receiver) -> None:
    await home.create({"data": {"dataset": "dataset:file:/out/1"}}, name="one")
    both = await home.create({"all_of": {"of": ["one", {"cascade": {"job": "job:tests:job-2"}}], "within": "1h"}}, name="both")
    await home.send(run_event(1), run_event(2))
    (entry,) = await home.ended(both, 1)
    there.wait(lambda now: len(now.requests) == 2)
    assert sorted((document["trigger"], document["depth"]) for _, document in there.requests) == [("both", 2), ("one", 1)]
    assert [str(fact.kind) for fact in entry.cause.facts] == ["fired", "run"]
    with pytest.raises(InvalidInputError, match="both waits for one"):
        await home.triggers.remove("default", "one")


async def test_the_chain_of_causes_goes_on_through_runs_that_name_the_execution(home: TriggeredHome, there: Receiver) -> None:
    trigger = await home.create(DATA, chain=2)
    await home.send(run_event(1))
    for count, number in ((1, 8), (2, 15)):
        there.wait(lambda now, count=count: len(now.requests) >= count)
        parent = there.requests[-1][1]["parent"]
        stated = facet(run={"runId": parent["runId"]}, job={"namespace": parent["namespace"], "name": parent["name"]})
        run = run_event(number)
        run["run"]["facets"] = {"parent": stated}
        await home.send(run)
    entries = await home.ended(trigger, 3)
    assert [(entry.cause.depth, entry.cause.outcome) for entry in entries] == [
        (1, Outcome.FIRED), (2, Outcome.FIRED), (3, Outcome.SKIPPED)
    ]  # fmt: skip
    assert "chain" in str(entries[2].cause.reason)
    assert len(there.requests) == 2
