"""Capture changes no plan: the same physical operators, join strategies, pushed filters and files read, on against off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f

from headwater.spark_listener.capture import Bridge

pytestmark = pytest.mark.spark

_KEPT = ("Scan", "Join", "Aggregate", "Exchange", "Window", "Sort", "Union", "EvalPython", "Reuse", "Subquery")


def executed(spark: SparkSession, bridge: Bridge, out: Path, frame: Any) -> tuple[dict[str, Any], list[str], list[str]]:
    """The end of a write, the operators of its final plan (filters and projections apart), and what each scan pushed."""
    bridge.flush()
    while bridge.drain(0):
        pass
    frame.write.mode("overwrite").parquet(str(out))
    bridge.flush()
    (end,) = [event for event in bridge.drain(500) if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
    store = spark._jsparkSession.sharedState().statusStore()
    text = store.execution(end["execution"]).get().physicalPlanDescription()
    adaptive = re.search(r"== (?:Final|Current) Plan ==(.*?)== Initial Plan ==", text, re.DOTALL)
    tree = adaptive[1] if adaptive else text.split("\n\n")[0]
    names = [re.sub(r"[^A-Za-z ]", "", re.sub(r"Statistics.*", "", line)).strip() for line in tree.splitlines()]
    pushed = [line for line in text.splitlines() if line.startswith(("PushedFilters", "PartitionFilters", "Batched"))]
    reused = [line for line in names + text.splitlines() if "Reuse" in line and "(" not in line]
    return end, [name for name in names if any(kept in name for kept in _KEPT)] + reused, [re.sub(r"#\d+L?", "", line) for line in pushed]


def frames(spark: SparkSession, path: str, small: str) -> dict[str, Any]:
    facts, names = spark.read.parquet(path), spark.read.parquet(small)
    per_k = facts.groupBy("k").agg(f.sum("v").alias("t"))
    return {
        "filter": facts.filter("v > 10 and part = 1").select("id", "v"),
        "aggregate": facts.filter("v > 10").groupBy("k").agg(f.sum("v"), f.countDistinct("id")),
        "broadcast": facts.join(names, "k").filter("name like 'n%'").groupBy("name").count(),
        "pruning": facts.join(names.filter("name = 'n1'"), facts.part == names.k).select(facts.id, "name"),
        "twice": per_k.join(per_k.withColumnRenamed("t", "u"), "k"),
        "window": facts.withColumn("m", f.avg("v").over(Window.partitionBy("k").orderBy("v"))).select("id", "m"),
        "union": facts.select("id").union(facts.filter("k = 1").select("id")).orderBy("id"),
    }


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.parametrize("query", ["filter", "aggregate", "broadcast", "pruning", "twice", "window", "union"])
def test_plans_are_the_same(spark: SparkSession, bridge: Bridge, tmp_path: Path, table: Any, query: str, aqe: bool) -> None:
    facts = str(tmp_path / "facts")
    spark.range(4000).selectExpr("id", "id % 5 k", "id * 7 % 101 v", "id % 3 part").write.partitionBy("part").parquet(facts)
    small = table("names", [{"k": i, "name": f"n{i}"} for i in range(5)])
    plain = spark.newSession()
    for session in (spark, plain):
        session.conf.set("spark.sql.adaptive.enabled", str(aqe).lower())
        session.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        plain_end, without, pushed = executed(plain, bridge, tmp_path / "out", frames(plain, facts, small)[query])
        expected = sorted(plain.read.parquet(str(tmp_path / "out")).collect())
        end, captured, still_pushed = executed(spark, bridge, tmp_path / "out", frames(spark, facts, small)[query])
        answer = sorted(plain.read.parquet(str(tmp_path / "out")).collect())
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert (plain_end["capture"], end["capture"]["status"]) == (None, "complete")
    assert answer == expected
    assert captured == without
    assert still_pushed == pushed
    assert end["metrics"]["rows"] == plain_end["metrics"]["rows"]
