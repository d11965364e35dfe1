"""Events from a real Kafka: at least once from the topic, once in the log; what is bad stops nothing."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from headwater.backend.intakes import kafka as kafka_intake
from tests.backend.events import run_event
from tests.backend.intakes.fetched import Fetching
from tests.kafka_server import Kafka

pytestmark = pytest.mark.lake


def stated(broker: Kafka, topic: str, **more: str) -> str:
    options = "".join(f'{name} = "{value}"\n' for name, value in more.items())
    return f'[[intake]]\nkind = "kafka"\nname = "bus"\nservers = "{broker.servers}"\ntopics = ["{topic}"]\n{options}'


def sent(broker: Kafka, topic: str, partition: int, *numbers: int) -> list[str]:
    broker.send(topic, partition, [(None, json.dumps(run_event(number))) for number in numbers])
    return [run_event(number)["run"]["runId"] for number in numbers]


def test_messages_are_taken_and_bad_ones_are_dead_letters(broker: Kafka, tmp_path: Path) -> None:
    broker.topic("bad", 2)
    runs = sent(broker, "bad", 0, 1, 2)
    broker.send("bad", 0, [("k", "no JSON"), ("k", None), ("k", '{"eventType": 1}'), ("k", json.dumps([run_event(3), {}]))])
    runs += [run_event(3)["run"]["runId"], *sent(broker, "bad", 0, 4), *sent(broker, "bad", 1, 5)]
    with Fetching(tmp_path / "home", stated(broker, "bad", tenant="sales")) as fetching:
        fetching.await_runs(runs, "sales")
        fetching.until(lambda: fetching.workspace.log.counts("sales")["dead_letters"] == 3)
        assert fetching.workspace.log.counts("default")["event"] == 0
        fetching.until(lambda: fetching.measured('headwater_intake_lag{intake="bus"}') == 0)
        assert fetching.intakes.state == "ok"


def test_a_group_goes_on_where_it_was_and_shares_partitions(broker: Kafka, tmp_path: Path) -> None:
    broker.topic("shared", 4)
    runs = [run for partition in range(4) for run in sent(broker, "shared", partition, *range(partition * 10, partition * 10 + 10))]
    one = Fetching(tmp_path / "one", stated(broker, "shared"))
    with one:
        one.await_runs(runs)
    later = sent(broker, "shared", 1, 100, 101)
    with one:  # what was committed is not read again
        one.await_runs([*runs, *later])
    assert one.measured('headwater_intake_documents_total{intake="bus",outcome="duplicate"}') == 0
    other = Fetching(tmp_path / "other", stated(broker, "shared"))
    with one, other:
        number, both = 200, set[str]()
        while not (both & {*one.runs()} and both & {*other.runs()}):
            assert number < 4000
            for partition in range(4):
                both.update(sent(broker, "shared", partition, number + partition))
            number += 4
            one.until(lambda: both <= {*one.runs(), *other.runs()})
        assert not both & {*one.runs()} & {*other.runs()}  # none was read by both


@pytest.mark.torture
def test_partitions_that_are_taken_away_in_the_middle_of_a_batch_lose_nothing(
    broker: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_intake, "_LONGEST_MS", 10_000)
    broker.topic("taken", 4)
    one, other = (Fetching(tmp_path / name, stated(broker, "taken")) for name in ("one", "other"))
    with one:
        one.await_runs(runs := sent(broker, "taken", 0, 9999))
        # Another process locks its log. It has a batch that is not durable for so long that the group goes on without it.
        locked = sqlite3.connect(tmp_path / "one" / "ingest.db", isolation_level=None)
        locked.execute("BEGIN IMMEDIATE")
        later = [
            run for partition in range(4) for run in sent(broker, "taken", partition, *range(100 * partition + 10, 100 * partition + 60))
        ]
        with other:
            other.await_runs(later)
            assert one.runs() == runs
            locked.execute("ROLLBACK")
            locked.close()
            one.until(lambda: len(one.runs()) > 1)  # what it had in its hands
            number, new = 1000, set[str]()
            while not (new & {*one.runs()} and new & {*other.runs()}):  # until it is a member again
                assert number < 9000
                for partition in range(4):
                    new.update(sent(broker, "taken", partition, number + partition))
                number += 4
                one.until(lambda: new <= {*one.runs(), *other.runs()})
            for fetching in (one, other):
                assert len(fetching.runs()) == len({*fetching.runs()})
            one.until(lambda: one.intakes.state == other.intakes.state == "ok")


def test_an_unknown_topic_is_told(broker: Kafka, tmp_path: Path) -> None:
    with Fetching(tmp_path / "home", stated(broker, "none-of-this-name")) as fetching:
        fetching.until(lambda: "UNKNOWN_TOPIC" in fetching.intakes.state, lambda: fetching.intakes.state)
        broker.topic("none-of-this-name", 1)
        fetching.await_runs(sent(broker, "none-of-this-name", 0, 1))
