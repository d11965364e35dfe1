"""Tables of the catalog: each way to write them is captured once, and buckets are read as without capture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY
from tests.spark_listener.capture.conftest import Captured
from tests.spark_listener.capture.lineage import Lineage
from tests.spark_listener.capture.test_plans_unchanged import executed

pytestmark = pytest.mark.spark


def numbered(count: int = 60) -> list[dict[str, Any]]:
    return [{"id": i, "k": i % 4} for i in range(count)]


@pytest.fixture
def captured(bridge: Bridge, segments: Path) -> Callable[[Callable[[], object]], Captured]:
    """The captures of an action that writes."""

    def run(action: Callable[[], object]) -> Captured:
        assert bridge.flush(PATIENTLY)
        while bridge.drain(0):
            pass
        action()
        assert bridge.flush(PATIENTLY)
        events = bridge.drain(1000)
        assert not [event for event in events if event["event"] in ("fault", "off", "dropped")], events
        (end,) = [event for event in events if event["event"] == "query_end" and event["capture"]]
        assert end["capture"]["status"] == "complete", end["capture"]["problems"]
        return Captured(end, Path(end["capture"]["sink"]["path"].removeprefix("file:")), Lineage(end["capture"], segments))

    return run


@pytest.fixture
def name(spark: SparkSession) -> Iterator[str]:
    yield "target"
    spark.sql("drop table if exists target")


EACH = {(i,): [frozenset({i})] for i in range(60)}


def test_a_new_table_is_captured_once(spark: SparkSession, table: Any, captured: Any, name: str) -> None:
    frame = spark.read.parquet(table("rows", numbered()))
    found = captured(lambda: frame.write.saveAsTable(name))
    assert found.ids("id") == EACH
    assert found.capture["sink"]["path"].endswith(name)
    frame.createOrReplaceTempView("numbered")
    spark.sql(f"drop table {name}")
    found = captured(lambda: spark.sql(f"create table {name} using parquet as select k, count(*) n from numbered group by k"))
    assert found.ids("k") == {(k,): [frozenset(range(k, 60, 4))] for k in range(4)}


WRITES: dict[str, Callable[[Any, list[str], str], object]] = {
    "append": lambda frame, by, name: frame.write.mode("append").partitionBy(*by).saveAsTable(name),
    "overwrite": lambda frame, by, name: frame.write.mode("overwrite").partitionBy(*by).saveAsTable(name),
    "rolling": lambda frame, by, name: frame.write.option("maxRecordsPerFile", 7).mode("append").partitionBy(*by).saveAsTable(name),
    "insert_into": lambda frame, by, name: frame.write.insertInto(name),
    "insert_overwrite": lambda frame, by, name: frame.write.insertInto(name, overwrite=True),
    "sql": lambda frame, by, name: frame.sparkSession.sql(f"insert into {name} select * from numbered"),
}


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("way", WRITES)
def test_each_way_to_write_a_table(spark: SparkSession, table: Any, captured: Any, name: str, way: str, partitioned: bool) -> None:
    frame = spark.read.parquet(table("rows", numbered()))
    frame.createOrReplaceTempView("numbered")
    by = ["k"] if partitioned else []
    frame.limit(1).write.partitionBy(*by).saveAsTable(name)
    assert captured(lambda: WRITES[way](frame, by, name)).ids("id") == EACH


def test_partitions_static_and_dynamic(spark: SparkSession, table: Any, captured: Any, conf: Any, name: str) -> None:
    frame = spark.read.parquet(table("rows", numbered()))
    frame.createOrReplaceTempView("numbered")
    frame.write.partitionBy("k").saveAsTable(name)
    found = captured(lambda: spark.sql(f"insert overwrite table {name} partition (k = 9) select id from numbered where id < 5"))
    assert found.ids("id", "k") == {(i, "9"): [frozenset({i})] for i in range(5)}
    conf(sources__partitionOverwriteMode="dynamic")
    found = captured(lambda: frame.filter("k = 2").write.insertInto(name, overwrite=True))
    assert found.ids("id", "k") == {(i, "2"): [frozenset({i})] for i in range(2, 60, 4)}
    assert spark.table(name).count() == 65


def test_buckets(spark: SparkSession, table: Any, captured: Any, name: str) -> None:
    frame = spark.read.parquet(table("rows", numbered()))
    found = captured(lambda: frame.repartition(3).write.bucketBy(4, "k").sortBy("id").saveAsTable(name))
    assert found.ids("id") == EACH


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.parametrize("query", ["group", "join", "pruned"])
def test_buckets_are_read_without_an_exchange_as_before(
    spark: SparkSession, bridge: Bridge, table: Any, tmp_path: Path, conf: Any, name: str, query: str, aqe: bool
) -> None:
    conf(adaptive__enabled=aqe, autoBroadcastJoinThreshold=-1)
    spark.read.parquet(table("rows", numbered())).write.bucketBy(4, "k").sortBy("k").saveAsTable(name)
    plain = spark.newSession()
    for key in ("spark.sql.adaptive.enabled", "spark.sql.autoBroadcastJoinThreshold"):
        plain.conf.set(key, spark.conf.get(key))

    def frame(session: SparkSession) -> Any:
        rows = session.table(name)
        if query == "join":
            return rows.join(rows.groupBy("k").agg(f.count("*").alias("n")), "k").select("id", "n")
        return rows.groupBy("k").agg(f.sum("id").alias("s")) if query == "group" else rows.filter("k = 2").select("id")

    _, without, pushed = executed(plain, bridge, tmp_path / "out", frame(plain))
    end, with_capture, still_pushed = executed(spark, bridge, tmp_path / "out", frame(spark))
    assert end["capture"]["status"] == "complete", end["capture"]["problems"]
    assert (with_capture, still_pushed) == (without, pushed)
    assert query == "pruned" or not any("Exchange" in operator for operator in without)
