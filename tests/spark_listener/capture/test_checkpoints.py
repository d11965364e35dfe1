"""Checkpoints: their rows come from the records that they were made of, and Spark makes and plans them as it would without us."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from headwater.graph.trace import Semantics
from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.checkpoints import TappedFrame
from tests.jvm import PATIENTLY
from tests.spark_listener.capture.conftest import Run, Table, Traced

pytestmark = pytest.mark.spark
Trace = Callable[..., Traced]
Keep = Callable[[DataFrame], DataFrame]
ROWS = [{"id": number, "key": number % 3, "value": number * 10} for number in range(9)]
WAYS = {
    "checkpoint": lambda frame: frame.checkpoint(),
    "checkpoint, not eager": lambda frame: frame.checkpoint(eager=False),
    "localCheckpoint": lambda frame: frame.localCheckpoint(),
    "localCheckpoint, not eager": lambda frame: frame.localCheckpoint(eager=False),
}


@pytest.fixture
def checkpointed(spark: SparkSession, bridge: Bridge, tmp_path: Path) -> Callable[[DataFrame, str], DataFrame]:
    """Checkpoint a frame as the hook around PySpark's methods does."""
    spark.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))

    def run(frame: DataFrame, way: str = "localCheckpoint") -> DataFrame:
        token = TappedFrame.of(frame, bridge)
        assert token is not None
        result = WAYS[way](token.frame or frame)
        token.made(result)
        return result

    return run


@pytest.fixture
def source(spark: SparkSession, table: Table) -> DataFrame:
    return spark.read.parquet(table("source", ROWS))


@pytest.mark.parametrize("way", WAYS)
def test_rows(checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace, way: str) -> None:
    kept = checkpointed(source.where("value >= 30").withColumn("double", f.col("value") * 2), way)
    assert kept.columns == ["id", "key", "value", "double"]
    assert sorted(row.double for row in kept.collect()) == [row["value"] * 2 for row in ROWS if row["value"] >= 30]
    for _ in range(2):  # queries that read it
        found = traced(write(kept), "double")
        assert found.ids == {(row["value"] * 2,): [frozenset({row["id"]})] for row in ROWS if row["value"] >= 30}
        assert not found.said


@pytest.mark.parametrize("way", WAYS)
def test_groups_above_and_below(checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace, way: str) -> None:
    kept = checkpointed(source.groupBy("key").agg(f.sum("value").alias("total"), f.max("value").alias("most")), way)
    groups = {key: {row["id"] for row in ROWS if row["key"] == key} for key in range(3)}
    found = traced(write(kept.where("total > 100")), "key")
    assert found.ids == {(key,): [frozenset(ids)] for key, ids in groups.items() if sum(10 * i for i in ids) > 100}
    assert not found.said
    witness = traced(write(kept), "key", semantics=Semantics.WITNESS, column="most")
    assert witness.ids == {(key,): [frozenset({max(ids)})] for key, ids in groups.items()}
    whole = traced(write(kept.groupBy((f.col("key") > 0).alias("some")).count()), "some")
    assert whole.ids == {(False,): [frozenset(groups[0])], (True,): [frozenset(groups[1] | groups[2])]}
    assert not whole.said


def test_joined_with_itself_and_with_its_source(
    checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace
) -> None:
    kept = checkpointed(source.withColumn("next", f.col("id") + 1))
    pairs = kept.alias("a").join(kept.alias("b"), f.col("a.next") == f.col("b.id")).select(f.col("a.id").alias("one"))
    found = traced(write(pairs), "one")
    assert found.ids == {(number,): [frozenset({number, number + 1})] for number in range(8)}
    assert not found.said


def test_a_window_and_a_cache_of_a_checkpoint(
    spark: SparkSession, checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace
) -> None:
    kept = checkpointed(source.withColumn("rank", f.row_number().over(Window.partitionBy("key").orderBy("id"))))
    cached = kept.where("rank = 1").cache()
    found = traced(write(cached), "key", semantics=Semantics.WITNESS, column="value")
    assert found.ids == {(key,): [frozenset({key})] for key in range(3)}
    spark.catalog.clearCache()


def test_columns_that_are_named_anew_as_they_were(
    checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace
) -> None:
    own, other = source.alias("own"), source.select((f.col("id") + 3).alias("id"), "key").alias("other")
    joined = own.join(other, f.col("own.id") == f.col("other.id"), "left")
    kept = checkpointed(joined.select(f.col("own.id").alias("id"), f.col("own.value").alias("value"), f.col("other.key").alias("again")))
    found = traced(write(kept.where("value >= 20")), "id")
    assert found.ids == {(number,): [frozenset({number, number - 3} - {-1})] for number in range(2, 9)}
    assert not found.said
    witness = traced(write(kept), "id", semantics=Semantics.WITNESS, column="again")
    assert witness.ids[8,] == [frozenset({5, 8})]


def test_a_checkpoint_that_the_optimizer_takes_out_is_missing_though_its_source_is_read(
    spark: SparkSession, checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run
) -> None:
    source.createOrReplaceTempView("source_of_it")
    checkpointed(source.where("key = 1")).createOrReplaceTempView("kept_of_it")
    unused = "SELECT id FROM (SELECT id, (SELECT count(*) FROM kept_of_it) AS n FROM source_of_it)"
    (problem,) = write(spark.sql(unused)).capture["problems"]
    assert problem["operator"].startswith("Scan of the checkpoint ")
    assert problem["kind"] == "missing"


def test_a_loop(checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace) -> None:
    frame = source
    for _ in range(4):
        frame = checkpointed(frame.withColumn("value", f.col("value") + 1))
    found = traced(write(frame.groupBy("key").agg(f.max("value").alias("most"))), "key")
    assert found.ids == {(key,): [frozenset(row["id"] for row in ROWS if row["key"] == key)] for key in range(3)}
    assert not found.said


def test_a_loop_lets_go_of_the_rows_before(
    spark: SparkSession, checkpointed: Callable[..., DataFrame], source: DataFrame, bridge: Bridge
) -> None:
    persistent = spark.sparkContext._jsc.getPersistentRDDs
    before = set(persistent())
    frame = source
    for _ in range(6):
        frame = checkpointed(frame.withColumn("value", f.col("value") + 1))
    until = time.monotonic() + 60
    while len(set(persistent()) - before) > 2:  # Spark holds on to the last plans
        assert time.monotonic() < until
        assert bridge.flush(PATIENTLY)
        while bridge.drain(0):
            pass
        gc.collect()
        spark._jvm.java.lang.System.gc()
    assert frame.count() == 9


def test_a_loop_that_doubles_what_is_below_it_is_refused_in_time(
    checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run
) -> None:
    frame = source.select("id", "value")
    for _ in range(8):
        frame = checkpointed(frame.union(frame).groupBy("id").agg(f.max("value").alias("value")))
    captured = write(frame)
    (problem,) = captured.capture["problems"]
    assert (problem["operator"], problem["kind"]) == ("Checkpoint", "refused")
    assert "more than 64" in problem["reason"]
    assert len(captured.capture["operators"]) < 20


def test_statistics_constraints_and_partitioning_are_those_of_spark(
    spark: SparkSession, checkpointed: Callable[..., DataFrame], source: DataFrame, conf: Callable[..., None]
) -> None:
    conf(adaptive__enabled=False)
    plan = source.repartition(3, "key").where("value > 10").sortWithinPartitions("id")
    ours, plain = checkpointed(plan), source.repartition(3, "key").where("value > 10").sortWithinPartitions("id").localCheckpoint()
    leaves = [frame._jdf.queryExecution().optimizedPlan() for frame in (ours, plain)]
    assert leaves[0].stats().sizeInBytes() == leaves[1].stats().sizeInBytes()
    assert leaves[0].constraints().size() == leaves[1].constraints().size() > 0
    texts = [leaf.outputPartitioning().toString().split("#")[0] for leaf in leaves]
    assert texts[0] == texts[1] != "UnknownPartitioning(0)"
    assert leaves[0].outputOrdering().size() == leaves[1].outputOrdering().size() == 1
    exchanges = [frame.groupBy("key").count()._jdf.queryExecution().executedPlan().toString().count("Exchange") for frame in (ours, plain)]
    assert exchanges == [0, 0]


def test_a_frame_that_had_run_is_checkpointed_as_it_is(checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run) -> None:
    plan = source.withColumn("now", f.current_timestamp())
    (moment,) = {row.now for row in plan.collect()}
    kept = checkpointed(plan)
    assert {row.now for row in kept.collect()} == {moment}
    (problem,) = write(kept).capture["problems"]
    assert problem["kind"] == "refused"
    assert "planned before" in problem["reason"]


def test_a_frame_that_tells_the_time_goes_on_to_tell_it(checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run) -> None:
    plan = source.withColumn("now", f.current_timestamp())
    kept = checkpointed(plan)
    assert {row.now for row in kept.collect()} == {row.now for row in plan.collect()}
    (problem,) = write(kept).capture["problems"]
    assert problem["kind"] == "refused"
    assert "tells the time" in problem["reason"]


def test_an_order_by_a_column_that_is_gone(checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace) -> None:
    kept = checkpointed(source.sortWithinPartitions("key", "value").select((f.col("id") * 2).alias("twice"), f.col("key").alias("k")))
    found = traced(write(kept.where("k = 1")), "twice")
    assert found.ids == {(row["id"] * 2,): [frozenset({row["id"]})] for row in ROWS if row["key"] == 1}


def test_columns_of_the_frame_on_its_checkpoint_and_of_equal_names(
    checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace
) -> None:
    twins = source.select("id", f.col("value").alias("x"), f.col("key").alias("x"))
    assert checkpointed(twins).collect() == twins.collect()
    kept = checkpointed(source)
    assert kept.select(source["id"], source["value"]).count() == 9
    assert checkpointed(source.select()).count() == 9
    found = traced(write(kept.join(source.select("id"), "id").select("id")), "id")
    assert found.ids == {(number,): [frozenset({number})] for number in range(9)}


def test_a_plan_that_is_not_followed_says_so_where_it_is_read(
    checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run
) -> None:
    kept = checkpointed(source.selectExpr("map(key, key) m").groupBy("m").count().selectExpr("map_values(m)[0] key", "count"))
    (problem,) = write(kept).capture["problems"]
    assert (problem["operator"], problem["kind"]) == ("Checkpoint", "refused")
    assert "map" in problem["reason"]


def test_an_error_of_the_program_is_the_programs(
    checkpointed: Callable[..., DataFrame], source: DataFrame, write: Run, traced: Trace
) -> None:
    with pytest.raises(PySparkException, match="reached 70"):
        checkpointed(source.withColumn("x", f.when(f.col("value") == 70, f.raise_error(f.lit("reached 70")))))
    found = traced(write(checkpointed(source)), "id")
    assert found.ids == {(number,): [frozenset({number})] for number in range(9)}


def test_a_checkpoint_made_before_capture(source: DataFrame, write: Run) -> None:
    (problem,) = write(source.localCheckpoint()).capture["problems"]
    assert (problem["operator"], problem["kind"]) == ("LogicalRDD", "refused")
