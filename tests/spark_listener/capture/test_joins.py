"""Joins, by every strategy: both sides of a match, the preserved side alone where there is none."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

pytestmark = pytest.mark.spark

STRATEGIES = ["broadcast", "merge", "shuffle_hash", "shuffle_replicate_nl"]


def left_rows() -> list[dict[str, Any]]:
    return [{"id": f"l{i}", "k": None if i % 13 == 0 else i % 9, "v": i} for i in range(60)]


def right_rows() -> list[dict[str, Any]]:
    return [{"id": f"r{i}", "k": None if i % 7 == 0 else i % 6, "w": i} for i in range(20)]


def expected(how: str) -> dict[tuple[Any, ...], list[frozenset[str]]]:
    result = defaultdict(list)
    matched = set()
    for left in left_rows():
        matches = [right for right in right_rows() if left["k"] is not None and left["k"] == right["k"]]
        for right in matches:
            matched.add(right["id"])
            result[left["v"], right["w"]].append(frozenset({left["id"], right["id"]}))
        if not matches and how in ("left", "full"):
            result[left["v"], None].append(frozenset({left["id"]}))
    for right in right_rows():
        if right["id"] not in matched and how in ("right", "full"):
            result[None, right["w"]].append(frozenset({right["id"]}))
    return dict(result)


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equi_joins(spark: SparkSession, table: Any, write: Any, conf: Any, strategy: str, how: str, aqe: bool) -> None:
    if strategy == "shuffle_replicate_nl" and how != "inner":
        pytest.skip("Spark replicates for inner joins only")
    conf(adaptive__enabled=aqe, autoBroadcastJoinThreshold=-1)
    left, right = spark.read.parquet(table("left", left_rows())), spark.read.parquet(table("right", right_rows()))
    frame = left.join(right.hint(strategy), left.k == right.k, how).select("v", "w")
    assert write(frame).ids("v", "w") == expected(how)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_joins_without_equality(spark: SparkSession, table: Any, write: Any, how: str) -> None:
    left, right = spark.read.parquet(table("left", left_rows())), spark.read.parquet(table("right", right_rows()))
    captured = write(left.join(f.broadcast(right), left.v < right.w - 10, how).select("v", "w"))
    result = defaultdict(list)
    for one in left_rows():
        matches = [other for other in right_rows() if one["v"] < other["w"] - 10]
        for other in matches:
            result[one["v"], other["w"]].append(frozenset({one["id"], other["id"]}))
        if not matches and how == "left":
            result[one["v"], None].append(frozenset({one["id"]}))
    assert captured.ids("v", "w") == dict(result)


def test_cross_and_self_joins(spark: SparkSession, table: Any, write: Any) -> None:
    path = table("right", right_rows())
    once, twice = spark.read.parquet(path).alias("a"), spark.read.parquet(path).alias("b")
    captured = write(once.crossJoin(twice).select(f.col("a.w").alias("v"), f.col("b.w").alias("w")))
    assert captured.ids("v", "w") == {(i, j): [frozenset({f"r{i}", f"r{j}"})] for i in range(20) for j in range(20)}


def test_a_skewed_join_that_aqe_splits(spark: SparkSession, table: Any, write: Any, conf: Any) -> None:
    conf(
        autoBroadcastJoinThreshold=-1, adaptive__skewJoin__skewedPartitionFactor=1,
        adaptive__skewJoin__skewedPartitionThresholdInBytes="2kb",
        adaptive__advisoryPartitionSizeInBytes="1kb",
    )  # fmt: skip
    big = [{"id": f"l{i}", "k": 1 if i % 10 else i % 7, "v": i} for i in range(3000)]
    small = [{"id": f"r{i}", "k": i, "w": i} for i in range(7)]
    left, right = spark.read.parquet(table("big", big)), spark.read.parquet(table("small", small, files=1))
    captured = write(left.join(right.hint("merge"), "k").select("v", "w"))
    expected = {(row["v"], row["k"]): [frozenset({row["id"], f"r{row['k']}"})] for row in big}
    assert captured.ids("v", "w") == expected


def test_unions_keep_branches_apart(spark: SparkSession, table: Any, write: Any) -> None:
    left, right = spark.read.parquet(table("left", left_rows())), spark.read.parquet(table("right", right_rows()))
    frame = left.filter("v > 50").select("v").union(right.filter("w > 15").select("w"))
    frame = frame.union(left.filter("v = 3").select("v"))
    captured = write(frame)
    expected = {(i,): [frozenset({f"l{i}"})] for i in [3, *range(51, 60)]}
    assert captured.ids("v") == expected | {(i,): [frozenset({f"r{i}"})] for i in range(16, 20)}


def test_equal_subplans_that_spark_runs_once(spark: SparkSession, table: Any, write: Any, conf: Any) -> None:
    conf(autoBroadcastJoinThreshold=-1)
    path = table("left", left_rows())
    rows = left_rows()

    def counted(name: str) -> Any:
        return spark.read.parquet(path).groupBy("k").agg(f.count("*").alias(name))

    captured = write(counted("n").join(counted("m"), "k").select("k", "n", "m"))
    assert captured.ids("k") == {(k,): [frozenset(r["id"] for r in rows if r["k"] == k)] for k in range(9)}


def test_a_shuffle_that_spark_reuses_for_other_results_of_the_same_groups(spark: SparkSession, table: Any, write: Any, conf: Any) -> None:
    conf(autoBroadcastJoinThreshold=-1)
    spark.read.parquet(table("left", left_rows())).createOrReplaceTempView("l")
    captured = write(
        spark.sql(
            "with g as (select k, sum(v) s, count(v) c from l group by k) "
            "select s / c as x from g union all select sum(s) / sum(c) from g union all select cast(k as double) from g"
        )
    )
    everything = frozenset(row["id"] for row in left_rows())
    groups = [frozenset(row["id"] for row in left_rows() if row["k"] == k) for k in {row["k"] for row in left_rows()}]
    found = [ids for rows in captured.ids("x").values() for ids in rows]
    assert sorted(map(sorted, found)) == sorted(map(sorted, [everything, *groups, *groups]))


@pytest.mark.parametrize("aqe", [True, False])
def test_equal_subplans_that_spark_prunes_as_they_run(
    spark: SparkSession, tmp_path: Path, table: Any, write: Any, conf: Any, aqe: bool
) -> None:
    conf(
        adaptive__enabled=aqe,
        optimizer__dynamicPartitionPruning__reuseBroadcastOnly=False,
        optimizer__dynamicPartitionPruning__useStats=False,
    )
    (tmp_path / "days").mkdir()
    for day in range(3):
        table(f"days/day={day}", [{"id": f"d{day}{i}", "s": i % 2} for i in range(4)])
    spark.read.parquet(str(tmp_path / "days")).createOrReplaceTempView("days")
    spark.read.parquet(table("some", [{"id": f"s{k}", "k": k, "w": k} for k in range(3)])).createOrReplaceTempView("some")
    grouped = "SELECT days.s FROM days JOIN some ON days.day = some.k WHERE some.w > 0 GROUP BY days.s"
    captured = write(spark.sql(f"{grouped} UNION ALL {grouped}"))
    groups = {s: frozenset({"s1", "s2", *(f"d{day}{i}" for day in (1, 2) for i in (s, s + 2))}) for s in range(2)}
    assert captured.ids("s") == {(s,): [ids, ids] for s, ids in groups.items()}
