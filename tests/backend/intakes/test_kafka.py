"""Events from a real Kafka: at least once from the topic, once in the log; what is bad stops nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backend.events import run_event
from tests.backend.intakes.fetched import Fetching
from tests.kafka_server import Kafka, kafka

pytestmark = pytest.mark.lake


@pytest.fixture(scope="module")
def broker() -> Iterator[Kafka]:
    with kafka() as running:
        yield running


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


def test_an_unknown_topic_is_told(broker: Kafka, tmp_path: Path) -> None:
    with Fetching(tmp_path / "home", stated(broker, "none-of-this-name")) as fetching:
        fetching.until(lambda: "UNKNOWN_TOPIC" in fetching.intakes.state, lambda: fetching.intakes.state)
        broker.topic("none-of-this-name", 1)
        fetching.await_runs(sent(broker, "none-of-this-name", 0, 1))
