"""Readers of files by way of DataSourceV2 (`spark.sql.sources.useV1SourceList` is empty): refused by name, results and datasets as ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv", "json", "text"])
def test_a_reader_of_the_second_kind_is_refused_by_name(spark: SparkSession, tmp_path: Path, write: Any, conf: Any, kind: str) -> None:
    made = spark.range(100).selectExpr("cast(id as string) as value")
    made.write.format(kind).save(str(tmp_path / "in"))
    conf(sources__useV1SourceList="")
    frame = spark.read.schema("value string").format(kind).load(str(tmp_path / "in"))
    assert "RelationV2" in frame._jdf.queryExecution().optimizedPlan().toString()
    captured = write(frame.filter("value > '5'"), kind=kind)
    assert captured.capture["status"] == "refused"
    assert [problem["operator"] for problem in captured.capture["problems"]] == ["DataSourceV2ScanRelation"]
    (source,) = captured.event["plan"]["sources"]
    assert (source["path"], source["format"], "name" in source) == (f"file:{tmp_path / 'in'}", kind, False)
    conf(sources__useV1SourceList="avro,csv,json,kafka,orc,parquet,text")
    found = sorted(row[0] for row in spark.read.schema("value string").format(kind).load(str(captured.out)).collect())
    assert found == sorted(str(i) for i in range(100) if str(i) > "5")


def test_files_of_two_folders_are_two_datasets(spark: SparkSession, tmp_path: Path, write: Any, conf: Any) -> None:
    for name in ("a", "b"):
        spark.range(5).write.parquet(str(tmp_path / name))
    conf(sources__useV1SourceList="")
    both = spark.read.parquet(str(tmp_path / "a"), str(tmp_path / "b"))
    captured = write(both.join(spark.read.parquet(str(tmp_path / "b")), "id"))
    first, second = captured.event["plan"]["sources"]
    assert first["paths"] == [f"file:{tmp_path / name}" for name in ("a", "b")]
    assert second["path"] == f"file:{tmp_path / 'b'}"
