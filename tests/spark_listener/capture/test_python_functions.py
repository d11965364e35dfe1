"""Python functions, row by row: references pass around them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.functions import pandas_udf

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kind", ["plain", "arrow", "pandas"])
def test_scalar_functions(spark: SparkSession, table: Any, write: Any, kind: str) -> None:
    vectorised: Any = pandas_udf  # its overloads know no lambda
    rows = [{"id": i, "v": i * 3} for i in range(500)]
    if kind == "pandas":
        doubled = vectorised(lambda series: series * 2, "long")
    else:
        doubled = f.udf(lambda value: value * 2, "long", useArrow=kind == "arrow")
    frame = spark.read.parquet(table("rows", rows)).withColumn("d", doubled("v")).filter("d % 4 = 0").select("id", "d")
    captured = write(frame)
    assert captured.ids("id", "d") == {(i, i * 6): [frozenset({i})] for i in range(0, 500, 2)}
    assert "PythonUDF" in [operator["op"] for operator in captured.capture["operators"]]


def test_functions_between_groups_and_joins(spark: SparkSession, table: Any, write: Any) -> None:
    rows = [{"id": i, "k": i % 4} for i in range(80)]
    named = f.udf(lambda key: f"name {key}", "string")
    source = spark.read.parquet(table("rows", rows)).withColumn("name", named("k"))
    frame = source.groupBy("name").count().withColumn("shout", f.udf(str.upper, "string")("name")).join(source.select("name", "id"), "name")
    captured = write(frame.select("id", "shout"))
    assert captured.ids("id") == {(i,): [frozenset(range(i % 4, 80, 4))] for i in range(80)}
