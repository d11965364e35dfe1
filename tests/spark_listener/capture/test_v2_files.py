"""Readers of files by DataSourceV2 (`spark.sql.sources.useV1SourceList` is empty): captured as those of the first kind, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.spark_listener.lineage.columns import Step, column_lineage
from headwater.spark_listener.lineage.datasets import sources_of
from tests.spark_listener.capture.conftest import read_row
from tests.spark_listener.capture.lineage import Record

pytestmark = pytest.mark.spark

_ROWS = "id int, k int, s string"


def _made(spark: SparkSession, folder: Path, kind: str) -> str:
    made = spark.range(0, 60, 1, 3).selectExpr("cast(id as int) id", "cast(id % 4 as int) k", "concat('n', id) s")
    (made.select("s") if kind == "text" else made).write.format(kind).save(str(folder))
    return str(folder)


def _line(record: Record) -> str:
    assert record.start == 0
    return Path(record.path.removeprefix("file:")).read_text().splitlines()[record.row]


def _is_second(frame: Any) -> bool:
    return "RelationV2" in frame._jdf.queryExecution().optimizedPlan().toString()


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv", "json", "text"])
def test_records_are_those_of_the_first_kind(spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any, kind: str) -> None:
    folder = _made(spark, tmp_path / "in", kind)
    conf(sources__useV1SourceList="")
    frame = spark.read.schema("value string" if kind == "text" else _ROWS).format(kind).load(folder)
    frame = frame.selectExpr("value s", "value id") if kind == "text" else frame
    frame = frame.filter("s > 'n3' AND s NOT LIKE '%4'").select("id")
    assert _is_second(frame)
    expected = sorted(row[0] for row in frame.collect())
    captured = write(frame)
    assert (captured.capture["status"], captured.capture["problems"]) == ("complete", [])
    (source,) = captured.capture["sources"]
    assert (source["path"], source["format"], "paths" in source["options"]) == (f"file:{tmp_path / 'in'}", kind, False)
    if kind == "text":
        assert captured.lineage is not None
        found = {read_row(written)["id"]: [_line(record) for record in written.records] for written in captured.lineage.written()}
        assert found == {line: [line] for line in expected}
    else:
        assert traced(captured, "id").ids == {(i,): [frozenset({i})] for i in expected}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_are_pruned_and_joined_as_before(
    spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any, kind: str
) -> None:
    made = spark.range(0, 60, 1, 2).selectExpr("cast(id as int) id", "cast(id % 4 as int) k", "concat('n', id) s")
    made.write.partitionBy("k").format(kind).save(str(tmp_path / "in"))
    conf(sources__useV1SourceList="")
    rows = spark.read.schema("id int, s string, k int").format(kind).load(str(tmp_path / "in"))
    frame = rows.filter("k IN (1, 2) AND id > 7").alias("a").join(rows.filter("k = 2").alias("b"), "id").selectExpr("id", "a.k")
    assert _is_second(frame)
    expected = sorted(tuple(row) for row in frame.collect())
    captured = write(frame)
    assert captured.capture["status"] == "complete"
    assert captured.capture["problems"] == []
    assert captured.lineage is not None
    assert sorted((read_row(written)["id"], read_row(written)["k"]) for written in captured.lineage.written()) == expected
    assert traced(captured, "id").ids == {(i,): [frozenset({i})] for i, _ in expected}


def test_what_is_more_than_a_reading_of_rows_is_refused_by_name(spark: SparkSession, tmp_path: Path, write: Any, conf: Any) -> None:
    folder = _made(spark, tmp_path / "in", "parquet")
    spark.range(4).selectExpr("named_struct('a', id, 'b', id) c").write.parquet(str(tmp_path / "nested"))
    (tmp_path / "bad.json").write_text('{"id": 1}\n{"id": 2}\n')
    conf(sources__useV1SourceList="", parquet__aggregatePushdown=True)
    frames = {
        "aggregates": spark.read.parquet(folder).selectExpr("max(id) m"),
        "nested column": spark.read.parquet(str(tmp_path / "nested")).selectExpr("c.a"),
        "FAILFAST": spark.read.schema("id long").json(str(tmp_path / "bad.json"), mode="FAILFAST").filter("id > 1"),
    }
    for number, (reason, frame) in enumerate(frames.items()):
        captured = write(frame, out=tmp_path / f"out{number}")
        assert captured.capture["status"] == "refused"
        assert reason in json.dumps(captured.capture["problems"])
        if reason == "aggregates":
            made = column_lineage(captured.event["plan"], sources_of(captured.event["plan"])).columns["m"]
            assert made == {("file", folder, "id"): frozenset({Step("DIRECT", "AGGREGATION")})}


def test_files_of_two_folders_are_two_datasets(spark: SparkSession, tmp_path: Path, write: Any, conf: Any) -> None:
    for name in ("a", "b"):
        spark.range(5).write.parquet(str(tmp_path / name))
    conf(sources__useV1SourceList="")
    both = spark.read.parquet(str(tmp_path / "a"), str(tmp_path / "b"))
    captured = write(both.join(spark.read.parquet(str(tmp_path / "b")), "id"))
    first, second = captured.event["plan"]["sources"]
    assert first["paths"] == [f"file:{tmp_path / name}" for name in ("a", "b")]
    assert second["path"] == f"file:{tmp_path / 'b'}"
