"""Cached data: its rows come from the records that they were made of, whichever query made them, and however often."""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from bench.truth.plans import ended
from headwater.graph.trace import Semantics
from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY
from tests.spark_listener.capture.conftest import Captured, Run, Table, Traced

pytestmark = pytest.mark.spark
Trace = Callable[..., Traced]
ROWS = [{"id": number, "key": number % 3, "value": number * 10} for number in range(9)]


@pytest.fixture
def cached(spark: SparkSession, bridge: object) -> Iterator[Callable[[DataFrame], DataFrame]]:
    """Cache a frame for one test."""
    yield lambda frame: frame.cache()
    spark.catalog.clearCache()


Cache = Callable[[DataFrame], DataFrame]


@pytest.fixture
def source(spark: SparkSession, table: Table) -> DataFrame:
    return spark.read.parquet(table("source", ROWS))


def test_a_cached_filter(cached: Cache, source: DataFrame, write: Run, traced: Trace) -> None:
    kept = cached(source.where("value >= 30").withColumn("double", f.col("value") * 2))
    found = traced(write(kept), "double")
    assert found.ids == {(row["value"] * 2,): [frozenset({row["id"]})] for row in ROWS if row["value"] >= 30}
    assert not found.said


def test_what_was_cached_by_a_query_that_writes_nothing(cached: Cache, source: DataFrame, write: Run, traced: Trace) -> None:
    kept = cached(source.groupBy("key").agg(f.sum("value").alias("total"), f.max("value").alias("most")))
    assert kept.count() == 3  # fills the cache
    for threshold in (0, 100):  # two queries read it
        written = write(kept.where(f.col("total") > threshold))
        found = traced(written, "key")
        expected = {key: {row["id"] for row in ROWS if row["key"] == key} for key in range(3)}
        assert found.ids == {(key,): [frozenset(ids)] for key, ids in expected.items() if sum(10 * i for i in ids) > threshold}
        assert not found.said
    witness = traced(write(kept), "key", semantics=Semantics.WITNESS, column="most")
    assert witness.ids == {(key,): [frozenset({max(ids)})] for key, ids in expected.items()}
    assert not witness.said


def test_a_cache_that_is_filled_bit_by_bit(cached: Cache, source: DataFrame, write: Run, traced: Trace) -> None:
    kept = cached(source.repartition(3, "key").withColumn("next", f.col("value") + 1))
    kept.take(1)  # fills a part
    found = traced(write(kept.coalesce(1)), "next")
    assert found.ids == {(row["value"] + 1,): [frozenset({row["id"]})] for row in ROWS}
    assert not found.said


def test_a_cache_that_was_evicted_and_filled_again(
    spark: SparkSession, cached: Cache, source: DataFrame, write: Run, traced: Trace
) -> None:
    kept = cached(source.repartition(3).withColumn("next", f.col("value") + 1))
    kept.count()
    for rdd in spark.sparkContext._jsc.getPersistentRDDs().values():
        rdd.unpersist(True)
    found = traced(write(kept), "next")
    assert found.ids == {(row["value"] + 1,): [frozenset({row["id"]})] for row in ROWS}
    assert not found.said


@pytest.mark.parametrize("steps", [1, 5_000_000], ids=["at-once", "outlived-by-another"])
def test_a_part_that_a_task_cached_before_it_failed(
    steps: int, spark: SparkSession, cached: Cache, source: DataFrame, bridge: Bridge, write: Run, traced: Trace
) -> None:
    kept = cached(source.withColumn("next", f.col("value") + 1))
    failed = f.raise_error(f.lit("reached 70"))
    late = f.expr(f"aggregate(sequence(1, value + {steps}), 0L, (sum, step) -> sum + step)")  # one row, not to be interrupted
    failing = kept.select(f.when(f.col("value") == 70, failed).when(f.col("value") == 0, late))
    with pytest.raises(SparkRuntimeException, match="reached 70"):
        failing.write.format("noop").mode("overwrite").save()
    while "RUNNING" in _tasks_of_the_last_job(spark, bridge):
        time.sleep(0.05)
    found = traced(write(kept), "next")
    assert found.ids == {(row["value"] + 1,): [frozenset({row["id"]})] for row in ROWS}
    assert not found.said


def test_a_capture_is_forgotten_with_what_was_cached(spark: SparkSession, cached: Cache, source: DataFrame, bridge: Bridge) -> None:
    machine = spark._jvm
    loader = machine.java.lang.Thread.currentThread().getContextClassLoader()
    field = machine.java.lang.Class.forName("headwater.rewrite.kept.Caches", True, loader).getDeclaredField("KNOWN")
    field.setAccessible(True)
    known = field.get(None)
    before = set(known)
    for number in range(5):
        cached(source.withColumn("number", f.lit(number))).unpersist(True)
    made = set(known) - before
    assert len(made) == 5
    until = time.monotonic() + 60
    while sum(known[name].get() is not None for name in made) > 2:  # Spark holds on to the last plans
        assert time.monotonic() < until
        assert bridge.flush(PATIENTLY)
        while bridge.drain(0):
            pass
        gc.collect()
        machine.java.lang.System.gc()


def test_groups_below_a_cache_that_were_made_twice_of_what_may_differ(
    spark: SparkSession, cached: Cache, source: DataFrame, write: Run, traced: Trace
) -> None:
    kept = cached(source.limit(5).groupBy("key").count())
    kept.count()
    for rdd in spark.sparkContext._jsc.getPersistentRDDs().values():
        rdd.unpersist(True)
    said = traced(write(kept), "key").said
    assert {effect for _, effect in said} == {"superset"}
    assert "may have been made otherwise" in str(said)


def test_a_cache_that_is_joined_with_itself(cached: Cache, source: DataFrame, write: Run, traced: Trace) -> None:
    kept = cached(source.groupBy("key").agg(f.min("value").alias("least")))
    joined = kept.alias("a").join(kept.alias("b"), f.col("a.key") + 1 == f.col("b.key")).select("a.key", f.col("b.least").alias("next"))
    written = write(joined)
    found = traced(written, "key")
    assert found.ids == {(key,): [frozenset(row["id"] for row in ROWS if row["key"] in (key, key + 1))] for key in (0, 1)}
    witness = traced(written, "key", semantics=Semantics.WITNESS, column="next")
    assert witness.ids == {(0,): [frozenset({0, 1})], (1,): [frozenset({1, 2})]}
    assert not found.said | witness.said


def test_a_cache_of_a_cache(cached: Cache, source: DataFrame, write: Run, traced: Trace) -> None:
    first = cached(source.where("value > 0"))
    second = cached(first.groupBy("key").agg(f.count("*").alias("rows")).join(first, "key"))
    found = traced(write(second.where("value = 50")), "key", "rows", "value")
    assert found.ids == {(2, 3, 50): [frozenset({2, 5, 8})]}
    assert not found.said


def test_windows_below_and_above_a_cache(cached: Cache, source: DataFrame, write: Run, traced: Trace) -> None:
    by_key = Window.partitionBy("key").orderBy("value")
    kept = cached(source.withColumn("place", f.row_number().over(by_key)))
    found = traced(write(kept.where("place = 2")), "key")
    assert found.ids == {(key,): [frozenset(row["id"] for row in ROWS if row["key"] == key)] for key in range(3)}
    above = kept.withColumn("before", f.lag("value").over(by_key))
    whole = traced(write(above), "id")
    assert whole.ids == {(row["id"],): [frozenset(other["id"] for other in ROWS if other["key"] == row["key"])] for row in ROWS}
    assert not found.said | whole.said


def test_the_source_of_a_cached_scan_is_another_of_the_same_query(cached: Cache, source: DataFrame, write: Run, traced: Trace) -> None:
    kept = cached(source.groupBy("key").agg(f.max("value").alias("most")))
    found = traced(write(source.join(kept, "key").where("value = most")), "id")
    assert found.ids == {(last,): [frozenset(row["id"] for row in ROWS if row["key"] == last % 3)] for last in (6, 7, 8)}
    assert not found.said


def test_a_filter_on_a_cache_leaves_batches_out(
    spark: SparkSession, conf: Callable[..., None], cached: Cache, table: Table, write: Run, traced: Trace
) -> None:
    conf(inMemoryColumnarStorage__batchSize=10)
    rows = [{"id": number, "value": number} for number in range(200)]
    kept = cached(spark.read.parquet(table("many", rows)))
    kept.count()
    found = traced(write(kept.where("value >= 190")), "value")
    assert found.ids == {(number,): [frozenset({number})] for number in range(190, 200)}


def test_the_answer_of_a_cached_frame_is_the_same(cached: Cache, source: DataFrame) -> None:
    kept = cached(source.groupBy("key").agg(f.sum("value").alias("total")))
    assert kept.columns == ["key", "total"]
    assert sorted(map(tuple, kept.collect())) == [(0, 90), (1, 120), (2, 150)]


def test_coarse_lineage_goes_below_a_cache(cached: Cache, source: DataFrame, write: Run) -> None:
    end = write(cached(source.select("key", f.col("value").alias("renamed")))).event
    assert [described["path"].rsplit("/", 1)[-1] for described in end["plan"]["sources"]] == ["source"]


def test_a_table_that_is_cached_by_name(spark: SparkSession, cached: Cache, source: DataFrame, write: Run, traced: Trace) -> None:
    source.createOrReplaceTempView("raw_rows")
    spark.sql("CACHE TABLE by_key OPTIONS ('storageLevel' 'DISK_ONLY') AS SELECT key, max(value) AS most FROM raw_rows GROUP BY key")
    found = traced(write(spark.table("by_key").where("key = 1")), "most")
    assert found.ids == {(70,): [frozenset({1, 4, 7})]}
    assert not found.said


def test_what_was_cached_without_capture(spark: SparkSession, cached: Cache, source: DataFrame, write: Run) -> None:
    hooks = spark._jsparkSession.experimental()
    rules = hooks.extraOptimizations()
    getattr(hooks, "extraOptimizations_$eq")(rules.take(0))
    try:
        kept = cached(source.where("value > 0"))
    finally:
        getattr(hooks, "extraOptimizations_$eq")(rules)
    (problem,) = write(kept).capture["problems"]
    assert problem == {"operator": "InMemoryRelation", "reason": "it was cached without capture", "kind": "refused"}


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "static"])
@pytest.mark.parametrize("codegen", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("compressed", [True, False], ids=["compressed", "plain"])
def test_however_the_cache_is_made(
    conf: Callable[..., None], cached: Cache, source: DataFrame, write: Run, traced: Trace, adaptive: bool, codegen: bool, compressed: bool
) -> None:
    conf(adaptive__enabled=adaptive, codegen__wholeStage=codegen, inMemoryColumnarStorage__compressed=compressed)
    kept = cached(source.groupBy("key").agg(f.collect_list("value").alias("values")))
    found = traced(write(kept.select("key", f.explode("values").alias("value"))), "value")
    assert found.ids == {(row["value"],): [frozenset(other["id"] for other in ROWS if other["key"] == row["key"])] for row in ROWS}
    assert not found.said


def test_what_cannot_be_captured_is_cached_as_it_is(cached: Cache, source: DataFrame, write: Run) -> None:
    kept = cached(source.selectExpr("map(key, key) m").groupBy("m").count().selectExpr("map_values(m)[0] key", "count"))
    written = write(kept)
    (problem,) = written.capture["problems"]
    assert (problem["operator"], problem["kind"]) == ("InMemoryRelation", "refused")
    assert "map" in problem["reason"]
    assert [described["path"].rsplit("/", 1)[-1] for described in written.event["plan"]["sources"]] == ["source"]


@pytest.mark.parametrize(("writes", "how"), [(True, "inner"), (True, "left_anti"), (False, "inner")])
def test_the_size_of_a_cache_is_that_of_the_programs_own_columns(
    spark: SparkSession, cached: Cache, table: Table, write: Run, conf: Callable[..., None], writes: bool, how: str
) -> None:
    conf(adaptive__enabled=False, autoBroadcastJoinThreshold=12_000)
    rows = [{"id": number, "text": hashlib.sha256(str(number).encode()).hexdigest()} for number in range(1_000)]
    everything = spark.read.parquet(table("all", rows))  # of more than 60,000 bytes
    kept = cached(everything.select(f.col("id").alias("other")))
    kept.count()  # now it counts 8,000 bytes; with references it would be 16,000
    joined = everything.join(kept, f.col("id") == f.col("other"), how)
    if writes:
        written = write(joined)
        assert written.lineage is not None
        plan = _plan_that_ran(spark, written)
    else:
        plan = str(joined._jdf.queryExecution().executedPlan().toString())
        assert str(joined._jdf.queryExecution().optimizedPlan().collectLeaves().apply(1).stats().sizeInBytes()) == "8000"
    assert "BroadcastHashJoin" in plan, plan


def _tasks_of_the_last_job(spark: SparkSession, bridge: Bridge) -> list[str]:
    """The state of each task. (The tracker of executors counts tasks, but late.)"""
    assert bridge.flush(PATIENTLY)
    store = spark.sparkContext._jsc.sc().statusStore()
    stages = store.jobsList(None).head().stageIds()
    tasks = [store.taskList(stages.apply(number), 0, 100) for number in range(stages.size())]
    return [part.apply(number).status() for part in tasks for number in range(part.size())]


def _plan_that_ran(spark: SparkSession, written: Captured) -> str:
    executions = spark._jsparkSession.sharedState().statusStore()
    return str(ended(executions, written.event["execution"]).physicalPlanDescription())
