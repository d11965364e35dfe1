"""Limits, offsets and samples: each row that passed has its own record, whichever rows the engine chose."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f

pytestmark = pytest.mark.spark


def numbered(count: int = 200) -> list[dict[str, Any]]:
    return [{"id": i, "k": i % 7, "v": i * 37 % 101} for i in range(count)]


LIMITS = {
    "unordered": lambda frame: frame.limit(13),
    "offset": lambda frame: frame.orderBy("v", "id").offset(180),
    "limit_offset": lambda frame: frame.orderBy("v", "id").offset(5).limit(9),
    "take_ordered": lambda frame: frame.orderBy("v", "id").limit(11),
    "take_ordered_project": lambda frame: frame.withColumn("w", f.col("v") * 2).orderBy("w", "id").limit(11).select("id"),
    "below_a_filter": lambda frame: frame.limit(50).filter("v > 20"),
    "sample": lambda frame: frame.sample(fraction=0.3, seed=7),
    "sample_with_replacement": lambda frame: frame.sample(withReplacement=True, fraction=1.5, seed=7),
    "union": lambda frame: frame.filter("id < 50").union(frame.filter("id >= 150")).limit(20),
    "repartitioned": lambda frame: frame.repartition(5).limit(20),
}


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.parametrize("kind", LIMITS)
def test_each_row_that_passed_has_its_own_record(spark: SparkSession, table: Any, write: Any, conf: Any, kind: str, aqe: bool) -> None:
    conf(adaptive__enabled=aqe)
    captured = write(LIMITS[kind](spark.read.parquet(table("rows", numbered(), files=4))).select("id"))
    found = captured.ids("id")
    assert found
    assert all(sets == [frozenset(key)] * len(sets) for key, sets in found.items())
    assert sum(map(len, found.values())) == spark.read.parquet(str(captured.out)).count()


def test_groups_below_a_limit_are_whole(spark: SparkSession, table: Any, write: Any) -> None:
    rows = numbered()
    captured = write(spark.read.parquet(table("rows", rows)).groupBy("k").agg(f.sum("v").alias("t")).limit(3))
    found = captured.ids("k")
    assert len(found) == 3
    assert found == {(k,): [frozenset(row["id"] for row in rows if row["k"] == k)] for (k,) in found}


def test_a_group_over_a_limit_has_the_rows_that_passed(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("rows", numbered())).orderBy("id").limit(20)
    captured = write(frame.groupBy("k").count())
    assert captured.ids("k") == {(k,): [frozenset(i for i in range(20) if i % 7 == k)] for k in range(7)}


def test_a_limit_that_may_stop_a_window_early_has_the_partitions_sizes_recorded(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("rows", numbered())).withColumn("t", f.sum("v").over(Window.partitionBy("k")))
    captured = write(frame.limit(5))
    (window,) = [boundary for boundary in captured.capture["boundaries"] if boundary["kind"] == "window"]
    assert "total" in [column["role"] for column in window["columns"]]
    captured = write(frame.orderBy("id").limit(5))
    assert captured.ids("id") == {(i,): [frozenset(j for j in range(200) if j % 7 == i % 7)] for i in range(5)}
