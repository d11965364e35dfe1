"""The events of the bridge: queries with their plans, failures, jobs outside SQL, other sessions, other modes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.lineage.queries import query_of
from headwater.spark_listener.lineage.stages import stages_of
from headwater.spark_listener.rdd import mark_jobs
from tests.jvm import PATIENTLY
from tests.spark_listener.lineage.test_events import CONTEXT

pytestmark = pytest.mark.spark


def drained(bridge: Bridge) -> list[dict[str, Any]]:
    assert bridge.flush(PATIENTLY)
    return bridge.drain(500)


def test_a_query_starts_and_ends(spark: SparkSession, bridge: Bridge, table: Any) -> None:
    frame = spark.read.parquet(table("rows", [{"id": 1, "v": 2}])).filter("v > 1").withColumn("w", f.col("v") + 1)
    drained(bridge)
    frame.collect()
    start, end = drained(bridge)
    assert (start["event"], end["event"]) == ("query_start", "query_end")
    assert start["execution"] == end["execution"]
    assert start["time"] <= end["time"]
    assert (end["error"], end["capture"], end["plan"]["sink"]) == (None, None, None)
    project, filtered, scan = end["plan"]["operators"]
    assert [project["op"], filtered["op"], scan["op"]] == ["Project", "Filter", "Scan"]
    ((definition,),) = [project["defines"]]
    assert (definition["name"], definition["expr"]["fn"], definition["expr"]["sql"]) == ("w", "+", "(v + 1L)")
    assert filtered["reads"] == [scan["columns"][1]["attr"]]


def test_a_failed_write_says_why(spark: SparkSession, bridge: Bridge, table: Any, tmp_path: Path) -> None:
    frame = spark.read.parquet(table("rows", [{"id": 1, "v": 2}])).withColumn("x", f.expr("if(v = 2, raise_error('no'), 1)"))
    drained(bridge)
    with pytest.raises(Exception, match="no"):
        frame.write.parquet(str(tmp_path / "out"))
    end = drained(bridge)[-1]
    assert "no" in end["error"]["message"]
    assert end["plan"]["sink"]["path"] == f"file:{tmp_path}/out"
    assert end["capture"]["segments"] == []


def test_a_query_tells_its_stages_and_tasks_whether_it_is_captured_or_not(
    spark: SparkSession, bridge: Bridge, table: Any, tmp_path: Path
) -> None:
    path = table("rows", [{"id": number, "k": number % 3} for number in range(8)], files=2)
    drained(bridge)
    spark.read.parquet(path).repartition(3, "k").groupBy("k").applyInPandas(lambda rows: rows.head(1), "id long, k long").write.parquet(
        str(tmp_path / "out")
    )
    end = drained(bridge)[-1]
    stages = end["stages"]["stages"]
    assert end["stages"]["more"] == 0
    first, last = stages[0], stages[-1]
    assert (first["parents"], last["parents"]) == ([], [first["stage"]])
    assert (first["failed"], last["failed"], last["error"]) == (0, 0, None)
    for stage in stages:
        assert stage["started"] <= stage["ended"] <= end["time"]
        assert len(stage["shown"]) == stage["tasks"] > 0
        assert {task["state"] for task in stage["shown"]} == {"COMPLETE"}
    event = query_of(end, "2026-01-01T00:00:00.000000Z", CONTEXT, run_id=str(uuid4()), segments=None)
    assert event is not None
    assert event.work.stages is not None
    assert [stage["stage"] for stage in event.work.stages["stages"]] == [stage["stage"] for stage in stages]


def test_a_shuffle_that_was_there_already_leads_to_the_stage_that_made_it(spark: SparkSession, bridge: Bridge, table: Any) -> None:
    grouped = spark.read.parquet(table("rows", [{"id": 1, "k": 2}, {"id": 2, "k": 3}])).groupBy("k").count()
    drained(bridge)
    grouped.alias("a").join(grouped.alias("b").hint("merge"), f.col("a.k") == f.col("b.k")).collect()
    stages = {stage["stage"]: stage for stage in drained(bridge)[-1]["stages"]["stages"]}
    assert len(stages) > 1
    reached = {max(stages)}
    while further := {parent for stage in reached for parent in stages[stage]["parents"]} - reached:
        reached |= further
    assert min(stages) in reached


def test_failed_attempts_are_counted(spark: SparkSession, bridge: Bridge, table: Any) -> None:
    frame = spark.read.parquet(table("rows", [{"id": 1}])).select(f.expr("raise_error('no')").alias("x"))
    drained(bridge)
    with pytest.raises(Exception, match="no"):
        frame.collect()
    (stage,) = drained(bridge)[-1]["stages"]["stages"]
    assert stage["failed"] == 1
    assert {task["partition"]: task["state"] for task in stage["shown"]}[0] == "FAIL"
    assert "no" in stage["error"]


def test_a_job_outside_sql_tells_its_stages_and_what_it_saves(spark: SparkSession, bridge: Bridge) -> None:
    drained(bridge)
    pairs = spark.sparkContext.parallelize([(1, 2), (3, 4)], 2).reduceByKey(max, 3)
    pairs.count()
    began, ended = drained(bridge)
    assert (began["event"], began["rdds"][-1]["kind"], began["job"]) == ("rdd_job_start", "ParallelCollectionRDD", ended["job"])
    assert (ended["event"], ended["save"], ended["error"]) == ("rdd_job", None, None)
    mark_jobs(spark.sparkContext, "the save")
    try:
        pairs.count()
        pairs.take(1)
    finally:
        mark_jobs(spark.sparkContext, None)
    jobs = drained(bridge)
    pairs.count()
    drained(bridge)
    assert {(job["event"], job["save"]) for job in jobs} == {("rdd_job", "the save")}
    assert len(jobs) >= 2
    stages = stages_of([job["stages"] for job in jobs], time.time() * 1000)
    assert stages is not None
    assert [stage["tasks"] for stage in stages["stages"]][:2] == [3, 1], "the shuffle was there already"
    assert all(len(stage["shown"]) == stage["tasks"] for stage in stages["stages"])


def test_looking_at_a_write_is_no_capture(spark: SparkSession, bridge: Bridge, table: Any, tmp_path: Path) -> None:
    spark.read.parquet(table("rows", [{"id": 1}])).createOrReplaceTempView("looked_at")
    spark.sql(f"explain insert overwrite directory '{tmp_path}/out' using parquet select * from looked_at").collect()
    assert not any(event.get("capture") for event in drained(bridge))


def test_new_sessions_are_adopted(spark: SparkSession, bridge: Bridge, table: Any, tmp_path: Path) -> None:
    path = table("rows", [{"id": 1}])
    other = spark.newSession()
    bridge.adopt(other)
    bridge.adopt(other)
    drained(bridge)
    other.read.parquet(path).write.parquet(str(tmp_path / "out"))
    assert drained(bridge)[-1]["capture"]["status"] == "complete"


def test_coarse_mode_describes_and_captures_nothing(spark: SparkSession, table: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    coarse = Bridge.install(session, mode="coarse", segments=str(tmp_path / "segments"))
    try:
        session.read.parquet(table("rows", [{"id": 1, "k": 2}])).groupBy("k").count().write.parquet(str(tmp_path / "out"))
        end = drained(coarse)[-1]
    finally:
        coarse.close()
    assert end["capture"] is None
    assert [operator["op"] for operator in end["plan"]["operators"]] == ["Write", "Aggregate", "Project", "Scan"]
    assert end["plan"]["sources"][0]["path"] == f"file:{tmp_path}/rows"
    assert not (tmp_path / "segments").exists()


def test_tables_are_written_and_read_with_their_names(spark: SparkSession, bridge: Bridge, table: Any) -> None:
    frame = spark.read.parquet(table("rows", [{"id": 1, "k": 2}]))
    drained(bridge)
    frame.write.saveAsTable("kept", format="parquet", mode="overwrite")
    try:
        ends = [event for event in drained(bridge) if event["event"] == "query_end" and event["plan"]["sink"]]
        (end,) = [end for end in ends if end["capture"]]  # what frames the write ends, too: one run with it (`spark_listener/framing.py`)
        assert end["capture"]["status"] == "complete"
        assert {Path(end["plan"]["sink"]["path"]).name for end in ends} == {"kept"}
        spark.table("kept").collect()
        assert drained(bridge)[-1]["plan"]["sources"][0]["table"] == "spark_catalog.default.kept"
    finally:
        spark.sql("drop table kept")


def test_a_closed_bridge_changes_nothing(spark: SparkSession, table: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    closed = Bridge.install(session, mode="active", segments=str(tmp_path / "segments"))
    closed.close()
    session.read.parquet(table("rows", [{"id": 1}])).write.parquet(str(tmp_path / "out"))
    assert closed.drain(100) == []
    assert not (tmp_path / "segments").exists()
