"""`repartition(n)` distributes rows by their content: with references in the rows, each must still come to the same partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

pytestmark = pytest.mark.spark


def dealt(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.parquet(path).filter("id % 7 <> 3").repartition(5)


def placed(spark: SparkSession, path: str) -> DataFrame:
    return dealt(spark, path).select("id", f.spark_partition_id().alias("p"), f.monotonically_increasing_id().alias("m"))


def drawn(spark: SparkSession, path: str) -> DataFrame:
    return dealt(spark, path).withColumn("r", f.rand(42)).filter("r < 0.4").select("id", "r")


def split(spark: SparkSession, path: str) -> DataFrame:
    return dealt(spark, path).randomSplit([0.7, 0.3], seed=5)[1].select("id")


def cached(spark: SparkSession, path: str) -> DataFrame:
    return dealt(spark, path).cache().sample(fraction=0.5, seed=3).select("id", f.spark_partition_id().alias("p"))


@pytest.mark.parametrize(("program", "codegen"), [(placed, True), (placed, False), (drawn, True), (split, True), (cached, True)])
def test_rows_come_to_the_partition_that_they_come_to_without_capture(
    spark: SparkSession, table: Any, write: Any, conf: Any, program: Any, codegen: bool, tmp_path: Path
) -> None:
    path = table("rows", [_row(n) for n in range(400)], schema=_SCHEMA)
    conf(codegen__wholeStage=codegen)
    plain = tmp_path / "plain"
    program(spark.newSession(), path).write.parquet(str(plain))
    spark.catalog.clearCache()
    captured = write(program(spark, path))
    spark.catalog.clearCache()
    written = [pq.read_table(folder).sort_by("id").to_pylist() for folder in (plain, captured.out)]
    assert written[0] == written[1]
    assert written[0]
    assert captured.ids("id") == {(row["id"],): [frozenset({row["id"]})] for row in written[0]}


def _row(n: int) -> dict[str, Any]:
    return {"id": n, "s": f"text {n}" * (n % 4) if n % 3 else None, "l": [n] * (n % 4), "t": {"a": n, "b": str(n % 9)}, "x": n / 7}


_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.string()),
        ("l", pa.list_(pa.int64())),
        ("t", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("x", pa.float64()),
    ]
)
