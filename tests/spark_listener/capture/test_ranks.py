"""Ranks below a filter: Spark keeps the first few rows of each partition; the rank is still one among all of them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f

from headwater.graph.trace import Semantics

pytestmark = pytest.mark.spark


def scores() -> list[dict[str, Any]]:
    return [{"id": i, "k": None if i % 9 == 0 else i % 4, "v": i * 37 % 23} for i in range(90)]


def partition(k: int | None) -> frozenset[int]:
    return frozenset(row["id"] for row in scores() if row["k"] == k)


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.parametrize("function", ["row_number", "rank", "dense_rank"])
def test_a_rank_is_of_its_whole_partition(spark: SparkSession, table: Any, write: Any, conf: Any, function: str, aqe: bool) -> None:
    conf(adaptive__enabled=aqe)
    window = Window.partitionBy("k").orderBy("v")
    frame = spark.read.parquet(table("scores", scores(), files=4)).withColumn("n", getattr(f, function)().over(window)).filter("n <= 2")
    captured = write(frame)
    assert "WindowGroupLimit" in [operator["op"] for operator in captured.capture["operators"]]
    found = captured.ids("id", "k")
    assert found
    assert found == {(i, k): [partition(k)] for i, k in found}


@pytest.mark.parametrize("limit", [2, 100])
@pytest.mark.parametrize("function", ["row_number", "rank", "dense_rank"])
def test_the_witness_of_a_rank_is_what_is_ranked_before_it_or_as_it_is(
    spark: SparkSession, table: Any, write: Any, traced: Any, function: str, limit: int
) -> None:
    window = Window.partitionBy("k").orderBy(*(["v", "id"] if function == "row_number" else ["v"]))
    frame = spark.read.parquet(table("scores", scores(), files=4))
    captured = write(frame.withColumn("n", getattr(f, function)().over(window)).filter(f"n <= {limit}"))
    found, said = traced(captured, "id", semantics=Semantics.WITNESS)
    rows = {row["id"]: row for row in scores()}

    def is_before(row: dict[str, Any], own: dict[str, Any]) -> bool:
        peer = row["v"] == own["v"] and (function != "row_number" or row["id"] <= own["id"])
        return row["k"] == own["k"] and (row["v"] < own["v"] or peer)

    assert said == set()
    assert found
    assert found == {(i,): [frozenset(row["id"] for row in scores() if is_before(row, rows[i]))] for (i,) in found}


def test_a_rank_whose_peers_another_rank_has_dropped_is_a_superset(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    window = Window.partitionBy("k").orderBy("v")
    frame = spark.read.parquet(table("scores", [{"id": i, "k": i % 2, "v": i // 10} for i in range(40)], files=4))
    ranked = frame.withColumn("r", f.rank().over(window)).withColumn("n", f.row_number().over(window)).filter("n <= 2")
    found, said = traced(write(ranked), "id", "k", semantics=Semantics.WITNESS)
    assert {effect for _, effect in said} == {"superset"}
    assert found == {(i, k): [frozenset(range(k, 40, 2))] for i, k in found}


def test_a_rank_over_everything(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("scores", scores())).withColumn("n", f.row_number().over(Window.orderBy("v", "id"))).filter("n = 1")
    (found,) = write(frame).ids("id").values()
    assert found == [frozenset(range(90))]


def test_a_rank_over_groups(spark: SparkSession, table: Any, write: Any) -> None:
    totals = spark.read.parquet(table("scores", scores())).groupBy("k", "v").agg(f.count("*").alias("c"))
    frame = totals.withColumn("n", f.rank().over(Window.partitionBy("k").orderBy("c", "v"))).filter("n <= 1")
    found = write(frame).ids("k")
    assert found == {(k,): [partition(k)] for k in (None, 0, 1, 2, 3)}


def test_a_part_that_runs_once_for_two_places_has_the_rows_of_that_one(
    spark: SparkSession, table: Any, write: Any, traced: Any, conf: Any
) -> None:
    conf(adaptive__enabled=False, autoBroadcastJoinThreshold=-1)
    spark.read.parquet(table("scores", scores())).createOrReplaceTempView("scores")
    first = "select * from (select *, row_number() over (partition by k order by id) n from scores) where n <= 3"
    both = f"{first} intersect (select * from ({first}) where id < 9 or k is null)"
    # Four equal windows: the right sides of both branches are equal and run once, their windows are those of no left side.
    captured = write(spark.sql(f"({both}) union all (select * from ({both}) where id < 9 or k is null)"))
    ranked = sorted(scores(), key=lambda row: row["id"])
    firsts = [row for k in (None, 0, 1, 2, 3) for row in [row for row in ranked if row["k"] == k][:3] if row["id"] < 9 or row["k"] is None]
    expected = {(row["id"],): [partition(row["k"])] * 2 for row in firsts}
    assert traced(captured, "id") == (expected, set())
