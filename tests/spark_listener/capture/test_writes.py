"""Writes: every output record is found in its file, by its place, with its final path, length and time."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"id": i, "k": i % 4, "s": f"text {i}"} for i in range(count)]


def check_files(captured: Any) -> None:
    """The files of the segments are exactly those in the folder that this write added, as they are."""
    stated: dict[str, tuple[int, int]] = {}
    for footer, _ in captured.lineage._segments[0]:
        stated |= {file["path"]: (file["length"], file["modified"]) for file in footer["files"]}
    for path, (length, modified) in stated.items():
        status = Path(path.removeprefix("file:")).stat()
        assert (length, modified) == (status.st_size, status.st_mtime_ns // 1_000_000)


def test_dynamic_partitions(spark: SparkSession, table: Any, write: Any) -> None:
    captured = write(spark.read.parquet(table("rows", numbered(200))), partition=["k"])
    check_files(captured)
    assert captured.ids("id", "k") == {(i, str(i % 4)): [frozenset({i})] for i in range(200)}


def test_partition_values_that_need_escapes(spark: SparkSession, table: Any, write: Any) -> None:
    rows = [{"id": i, "p": ["a b", "c/d", "é=%", None][i % 4]} for i in range(40)]
    captured = write(spark.read.parquet(table("rows", rows)), partition=["p"])
    check_files(captured)
    assert {key: len(sets) for key, sets in captured.ids("id").items()} == {(i,): 1 for i in range(40)}


def test_files_that_roll(spark: SparkSession, table: Any, write: Any) -> None:
    captured = write(spark.read.parquet(table("rows", numbered(200))), maxRecordsPerFile=17)
    check_files(captured)
    assert captured.ids("id") == {(i,): [frozenset({i})] for i in range(200)}
    assert max(Counter(written.path for written in captured.lineage.written()).values()) == 17


def test_appends_describe_what_they_added(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("rows", numbered(20)))
    first = write(frame.filter("id < 10"))
    second = write(frame.filter("id >= 10"), mode="append", out=first.out)
    check_files(second)
    assert second.ids("id") == {(i,): [frozenset({i})] for i in range(10, 20)}
    assert (first.capture["sink"]["mode"], second.capture["sink"]["mode"]) == ("overwrite", "append")


def test_dynamic_partition_overwrite(spark: SparkSession, table: Any, write: Any, conf: Any) -> None:
    conf(sources__partitionOverwriteMode="dynamic")
    frame = spark.read.parquet(table("rows", numbered(40)))
    first = write(frame, partition=["k"])
    second = write(frame.filter("k = 1"), mode="overwrite", out=first.out, partition=["k"])
    check_files(second)
    assert second.ids("id") == {(i,): [frozenset({i})] for i in range(40) if i % 4 == 1}
    assert spark.read.parquet(str(first.out)).count() == 40


READERS: dict[str, Callable[[str], Any]] = {
    "csv": lambda line: next(csv.reader([line]))[0],
    "json": lambda line: json.loads(line)["id"],
    "text": str,
}


@pytest.mark.parametrize("kind", READERS)
def test_text_formats(spark: SparkSession, table: Any, write: Any, kind: str) -> None:
    frame = spark.read.parquet(table("rows", numbered(30))).repartition(3)
    frame = frame.selectExpr("cast(id as string) id") if kind == "text" else frame
    captured = write(frame, kind=kind, **({"header": "true"} if kind == "csv" else {}))
    check_files(captured)
    for written in captured.lineage.written():
        lines = Path(written.path.removeprefix("file:")).read_text().splitlines()
        ((path, _, row),) = written.records
        assert int(READERS[kind](lines[written.row + (kind == "csv")])) == row + (15 if path.endswith("part-1.parquet") else 0)


def test_sorted_repartitioned_and_coalesced_output(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("rows", numbered(300), files=4))
    for changed in (frame.orderBy("s"), frame.repartition(5), frame.repartition("k"), frame.coalesce(1), frame.orderBy("s").coalesce(1)):
        captured = write(changed)
        check_files(captured)
        assert captured.ids("id") == {(i,): [frozenset({i})] for i in range(300)}


def test_nothing_written(spark: SparkSession, table: Any, write: Any) -> None:
    captured = write(spark.read.parquet(table("rows", numbered(10))).filter("id + k > 1000"))
    assert (captured.lineage.written(), captured.capture["segments"]) == ([], [])


def test_the_sink_is_described(spark: SparkSession, table: Any, write: Any) -> None:
    captured = write(spark.read.parquet(table("rows", numbered(10))), partition=["k"])
    sink = captured.capture["sink"]
    assert sink["path"] == f"file:{captured.out}"
    assert (sink["format"], sink["mode"], sink["partition_columns"]) == ("parquet", "overwrite", ["k"])
    assert [(column["name"], column["type"]) for column in sink["columns"]] == [("id", "bigint"), ("k", "bigint"), ("s", "string")]
    assert captured.event["metrics"]["rows"] == 10


@pytest.mark.parametrize("value", ["'a\\nb'", "'a\\rb'", "cast(null as string)"])
def test_csv_rows_that_are_no_line_are_told(spark: SparkSession, table: Any, write: Any, value: str) -> None:
    frame = spark.read.parquet(table("rows", numbered(10))).selectExpr(f"if(id = 3, {value}, s) s")
    captured = write(frame, kind="csv")
    assert captured.capture["status"] == "partial"
    assert {problem["kind"] for problem in captured.capture["problems"]} == {"missing"}
