"""Descriptions of large plans: they grow with the plan, are bounded, and rows that were kept are described once, however many read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col, expr, greatest, lit, regexp_replace, struct, when
from pyspark.sql.functions import sum as total

from headwater.spark_listener.capture import Bridge
from tests.spark_listener.capture.conftest import Run, Table, Traced

pytestmark = pytest.mark.spark


def description(bridge: Bridge, frame: DataFrame) -> dict[str, Any]:
    return bridge.described(frame._jdf.queryExecution().optimizedPlan())


def union(spark: SparkSession, branches: int, columns: int) -> DataFrame:
    computed = ", ".join(f"id + {number} c{number}" for number in range(columns))
    return spark.sql(" UNION ALL ".join(f"SELECT {computed} FROM range({10 + number})" for number in range(branches)))


def test_a_description_grows_with_the_branches_and_the_columns_of_a_plan_and_no_faster(spark: SparkSession, bridge: Bridge) -> None:
    sizes = [len(json.dumps(description(bridge, union(spark, *shape)))) for shape in ((30, 30), (60, 30), (30, 60))]
    assert max(sizes[1] / sizes[0], sizes[2] / sizes[0]) < 2.2, sizes


@pytest.mark.slow
def test_of_a_plan_of_too_many_columns_sources_are_told_and_that_columns_are_left_out(
    spark: SparkSession, bridge: Bridge, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("wide")
    keys = [f"c{number}" for number in range(12)]
    spark.range(3).selectExpr(*(f"id {key}" for key in [*keys, *(f"v{number}" for number in range(15))])).write.parquet(f"{folder}/in")
    read = spark.read.parquet(f"{folder}/in").filter("c0 > 0")
    sums = [f"sum(v{number})" for number in range(15)]
    found = description(bridge, read.cube(*keys).agg(*map(expr, sums)))  # 4,096 sets of keys: an Expand of 110,592 columns
    assert found["left_out"] > 0
    assert [source["path"] for source in found["sources"]] == [f"file:{folder}/in"]
    assert [operator["op"] for operator in found["operators"]][-2:] == ["Filter", "Scan"]
    assert len(json.dumps(found)) < 1_000_000
    assert "left_out" not in description(bridge, read.cube(*keys[:3]).agg(*map(expr, sums)))


@pytest.mark.slow
def test_rows_that_were_kept_are_described_once_and_of_many_rounds_the_sources_alone(
    spark: SparkSession, bridge: Bridge, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rounds")
    session = spark.newSession()  # records are not captured in it
    session.range(3).selectExpr("id k", "id v").write.parquet(f"{folder}/in")
    frame = session.read.parquet(f"{folder}/in").filter("v > 0").cache()
    once, twice = (len(description(bridge, read)["operators"]) for read in (frame, frame.union(frame)))
    assert twice - once == 2
    for _ in range(11):  # each round reads the last one twice: 12,000 operators as written
        frame = frame.join(frame.withColumnRenamed("v", "w"), "k").selectExpr("k", "v + w v").cache()
    found = description(bridge, frame)
    assert len(found["operators"]) < 10_100
    assert found["left_out"] > 0
    assert [source["path"] for source in found["sources"]] == [f"file:{folder}/in"]
    session.catalog.clearCache()


def _fold(step: Callable[[Column, str], Column], levels: int, first: Column) -> Column:
    return reduce(step, (f"c{number % 10}" for number in range(levels)), first)


_DEEP: dict[str, Callable[[DataFrame], DataFrame]] = {
    "sum_75": lambda read: read.select("id", _fold(lambda left, name: left + col(name), 75, col("c0")).alias("x")),
    "sum_200": lambda read: read.select("id", _fold(lambda left, name: left + col(name), 200, col("c0")).alias("x")),
    "when": lambda read: read.select("id", _fold(lambda other, name: when(col(name) == 5, name).otherwise(other), 90, lit("-")).alias("x")),
    "greatest": lambda read: read.select("id", _fold(lambda left, name: greatest(left, col(name)), 90, col("c0")).alias("x")),
    "functions": lambda read: read.select(
        "id", _fold(lambda text, name: regexp_replace(text, name, "y"), 90, col("c1").cast("string")).alias("x")
    ),
    "columns": lambda read: reduce(
        lambda frame, n: frame.withColumn("x", col("x") + col(f"c{n % 10}")), range(90), read.withColumn("x", col("c0"))
    ),
    "filters": lambda read: reduce(lambda frame, n: frame.filter(col(f"c{n % 10}") > -1 - n), range(90), read),
    "condition": lambda read: read.filter(_fold(lambda left, name: left | (col(name) == 2), 90, col("id") == 1)),
    "structs": lambda read: read.select("id", _fold(lambda inner, name: struct(inner.alias("a"), col(name)), 70, col("c0")).alias("x")),
    "sums of groups": lambda read: read.groupBy("id").agg(_fold(lambda left, name: left + total(name), 90, total("c0")).alias("x")),
    "windows": lambda read: read.selectExpr("id", " + ".join(f"sum(c{n % 10}) OVER (PARTITION BY id)" for n in range(90)) + " AS x"),
}


@pytest.mark.parametrize("name", list(_DEEP))
def test_deep_expressions_keep_their_records(
    spark: SparkSession, table: Table, write: Run, traced: Callable[..., Traced], name: str
) -> None:
    rows = [{"id": row, **{f"c{number}": row + number for number in range(10)}} for row in range(4)]
    captured = write(_DEEP[name](spark.read.parquet(table("in", rows))))
    answer = traced(captured, "id")
    assert answer.said == set()
    assert answer.ids == {(row,): [frozenset({row})] for row in range(4) if name != "condition" or (row,) in answer.ids}
