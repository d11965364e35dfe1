"""Records of a real Kafka by partition and offset, end to end: job, trace, values, both ways. Answers name records that are gone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions

from headwater.graph.model import NodeKind, node_id
from headwater.graph.trace import Semantics
from headwater.spark_listener.capture import Bridge
from tests import connectors
from tests.kafka_server import Kafka
from tests.spark_listener.keyed import KeyedReader, keyed_session

pytestmark = [pytest.mark.spark, pytest.mark.lake, pytest.mark.timeout(900)]


def root(url: str, **more: object) -> str:
    """A `storage.toml` of one root."""
    return "\n".join(["[[root]]", f'url = "{url}"', *(f"{name} = {json.dumps(value)}" for name, value in more.items())])


class Topics(KeyedReader):
    """Brokers, and a session that reads them."""

    def __init__(self, server: Kafka, spark: SparkSession, bridge: Bridge, folder: Path) -> None:
        self.server = server
        super().__init__(spark, bridge, folder, root(f"kafka://{server.servers}"))

    def read(self, topic: str, **options: str) -> DataFrame:
        given = {"kafka.bootstrap.servers": self.server.servers, "subscribe": topic} | options
        return self.spark.read.format("kafka").options(**{name: value for name, value in given.items() if value}).load()

    def places(self, dataset: Any, where: str, **more: Any) -> set[tuple[int, int]]:
        """Partitions and offsets that an answer has, which must be exact."""
        answer = self.exact(dataset, where, **more)
        return {(int(str(record.file).rpartition("/")[2]), int(record.row or 0)) for record in answer.records}


@pytest.fixture(scope="module")
def topics(broker: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topics]:
    folder = tmp_path_factory.mktemp("topics")
    broker.topic("orders", 3)
    for partition in range(3):
        broker.send("orders", partition, [(f"k{partition}", f"v{partition}-{n}") for n in range(40)])
    with keyed_session(folder, connectors.submitted(), look=60.0) as (spark, bridge):
        yield Topics(broker, spark, bridge, folder)


def test_a_record_is_known_by_partition_and_offset_and_its_values_are_read_again(topics: Topics) -> None:
    out = topics.write(topics.read("orders").selectExpr("CAST(value AS STRING) AS v", "partition").where("v <> 'v0-0'"))
    assert topics.spark.read.parquet(str(out)).count() == 119
    answer = topics.traced(out, "v = 'v2-17'")
    assert answer.exact
    assert not answer.incomplete
    (record,) = answer.records
    assert (record.row, str(record.file).rpartition("/")[2]) == (17, "2")
    assert record.dataset == node_id(NodeKind.DATASET, f"kafka://{topics.server.servers}", "orders")
    values = {name: record.values[name] for name in ("key", "value", "topic", "partition", "offset")}
    assert values == {"key": "k2", "value": "v2-17", "topic": "orders", "partition": 2, "offset": 17}


def test_joins_groups_and_the_next_job(topics: Topics) -> None:
    records = topics.read("orders").selectExpr("CAST(key AS STRING) AS k", "CAST(value AS STRING) AS v", "offset")
    out = topics.write(records.where("offset % 10 = 3").groupBy("k").count())
    assert topics.places(out, "k = 'k1'") == {(1, 3), (1, 13), (1, 23), (1, 33)}
    next_job = topics.write(topics.spark.read.parquet(str(out)).selectExpr("upper(k) AS big"))
    assert topics.places(next_job, "big = 'K2'") == {(2, 3), (2, 13), (2, 23), (2, 33)}


def test_offsets_that_a_read_begins_and_ends_with(topics: Topics) -> None:
    frame = topics.read(
        "orders", startingOffsets='{"orders":{"0":5,"1":6,"2":7}}', endingOffsets='{"orders":{"0":8,"1":9,"2":10}}', minPartitions="7"
    )
    out = topics.write(frame.selectExpr("CAST(value AS STRING) AS v"))
    assert topics.spark.read.parquet(str(out)).count() == 9
    for partition, offset in ((0, 5), (1, 8), (2, 9)):
        assert topics.places(out, f"v = 'v{partition}-{offset}'") == {(partition, offset)}


def test_forward_from_a_record_by_its_offset_and_by_a_predicate(topics: Topics) -> None:
    out = topics.write(topics.read("orders").selectExpr("CAST(value AS STRING) AS v"))
    (record,) = topics.traced(out, "v = 'v1-4'").records
    dataset = f"kafka://{topics.server.servers}/orders"
    for asked in ({"rows": [(str(record.file), 4)]}, {"where": "value = 'v1-4'"}):
        answer = topics.traced(dataset, forward=True, to=str(out), **asked)
        assert answer.exact, answer.incomplete
        assert [found.values for found in answer.records] == [{"v": "v1-4"}]


def test_a_witness_is_chosen_by_offset_and_by_nothing_that_is_uncertain(topics: Topics) -> None:
    out = topics.write(
        topics.read("orders").groupBy("partition").agg(functions.max("offset"), functions.max("value")).toDF("p", "last", "value")
    )
    assert topics.places(out, "p = 1", semantics=Semantics.WITNESS, column="last") == {(1, 39)}
    answer = topics.traced(out, "p = 1", semantics=Semantics.WITNESS, column="value")
    assert not answer.exact
    assert len(answer.records) == 40


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"subscribe": "orders,others"}, "several topics"),
        ({"subscribe": "", "subscribePattern": "ord.*"}, "a pattern"),
        ({"subscribe": "", "assign": '{"orders":[0]}'}, "an assignment"),
    ],
)
def test_what_is_not_one_topic_is_refused_by_name(topics: Topics, options: dict[str, str], reason: str) -> None:
    if "others" in options["subscribe"]:
        topics.server.topic("others", 1)
    topics.write(topics.read("orders", **options))
    (problem,) = [problem for problem in topics.event["capture"]["problems"] if problem["kind"] == "refused"]
    assert reason in problem["reason"]


def test_records_that_retention_deleted_are_said_to_be_gone(topics: Topics) -> None:
    topics.server.topic("short", 1)
    topics.server.send("short", 0, [(None, f"s{n}") for n in range(10)])
    out = topics.write(topics.read("short").selectExpr("CAST(value AS STRING) AS v"))
    topics.server.delete_before("short", 0, 6)
    answer = topics.traced(out, "v in ('s2', 's8')")
    assert answer.exact
    assert [(record.row, record.values.get("value")) for record in answer.records] == [(2, None), (8, "s8")]
    (entry,) = answer.incomplete
    assert "no record of this key any more" in entry.reason


def test_a_topic_that_was_made_anew_shows_no_value_and_is_not_taken_for_the_old_one(topics: Topics) -> None:
    topics.server.topic("again", 1)
    topics.server.send("again", 0, [(None, "old")])
    first = topics.write(topics.read("again").selectExpr("CAST(value AS STRING) AS v"))
    topics.server.delete_topic("again")
    topics.server.topic("again", 1)
    topics.server.send("again", 0, [(None, "new")])
    second = topics.write(topics.read("again").selectExpr("CAST(value AS STRING) AS v"))
    answer = topics.traced(first, "v = 'old'")
    assert [(record.row, record.values) for record in answer.records] == [(0, {})]
    assert any("made anew" in entry.reason for entry in answer.incomplete)
    (record,) = topics.traced(second, "v = 'new'").records
    assert record.values["value"] == "new"
    forward = topics.traced(f"kafka://{topics.server.servers}/again", rows=[(str(record.file), 0)], forward=True)
    assert {found.values["v"] for found in forward.records} == {"new"}


def test_brokers_that_do_not_answer_and_no_root_leave_the_place_without_values(topics: Topics) -> None:
    out = topics.write(topics.read("orders").selectExpr("CAST(value AS STRING) AS v"))
    url = f"kafka://{topics.server.servers}"
    silent = topics.store_of(topics.remote(root(url, endpoint="127.0.0.1:1", seconds=1)))
    absent = topics.store_of(topics.remote(root("kafka://elsewhere:9092")))
    for store, reason in ((silent, "cannot be read"), (absent, "not readable here")):
        began = time.monotonic()
        answer = topics.traced(out, "v = 'v0-1'", store=store)
        assert time.monotonic() - began < 15
        assert [(record.row, record.values) for record in answer.records] == [(1, {})]
        assert any(reason in entry.reason for entry in answer.incomplete), answer.incomplete
