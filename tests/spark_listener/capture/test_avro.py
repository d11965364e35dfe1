"""Avro: every output row leads back to the record it was made of, by a reader that shares nothing with Spark's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from headwater.graph.trace import Semantics
from tests.lake import avro_jars

pytestmark = [pytest.mark.spark, pytest.mark.lake]

ROWS = 3000
WANTED = [i for i in range(ROWS) if i % 7 == 3]
SCHEMA = {
    "type": "record", "name": "row",
    "fields": [{"name": "id", "type": "long"}, {"name": "k", "type": ["null", "long"]}, {"name": "s", "type": "string"}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def avro(spark: SparkSession) -> None:
    (jar,) = avro_jars().glob("*.jar")
    spark.sql(f"add jar '{jar}'")


def made(folder: Path, codec: str = "deflate", block: int = 2000) -> list[Path]:
    """Two files of many small blocks, which hold different numbers of records."""
    folder.mkdir()
    files = [folder / f"{number}.avro" for number in range(2)]
    for number, path in enumerate(files):
        ids = range(number * ROWS // 2, (number + 1) * ROWS // 2)
        rows = [{"id": i, "k": i % 7, "s": f"{i * 7919 % 10007} " + "x" * (i % 40)} for i in ids]
        with path.open("wb") as file:
            fastavro.writer(file, SCHEMA, rows, codec=codec, sync_interval=block)
    return files


@pytest.mark.parametrize("pieces", [1, 5, 60])
def test_rows_of_splits_that_begin_within_blocks(
    spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any, pieces: int
) -> None:
    files = made(tmp_path / "in")
    size = max(file.stat().st_size for file in files) // pieces + 1
    conf(files__maxPartitionBytes=size, files__openCostInBytes=min(size, 100))
    captured = write(spark.read.format("avro").load(str(tmp_path / "in")).filter("k = 3").select("id", "s"))
    assert captured.capture["status"] == "complete", captured.capture["problems"]
    assert bool(captured.capture["sources"][0]["splits"]) == (pieces > 1)
    found = traced(captured, "id")
    assert found.ids == {(i,): [frozenset({i})] for i in WANTED}
    assert not found.said


def test_rows_that_are_only_counted(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    made(tmp_path / "in")
    found = traced(write(spark.read.format("avro").load(str(tmp_path / "in")).selectExpr("count(*) as n")), "n")
    assert found.ids == {(ROWS,): [frozenset(range(ROWS))]}


@pytest.mark.parametrize("codec", ["uncompressed", "deflate", "snappy", "bzip2", "xz"])
def test_written_and_read_by_the_next_query(spark: SparkSession, tmp_path: Path, table: Any, write: Any, traced: Any, codec: str) -> None:
    path = table("rows", [{"id": i, "k": i % 5, "s": "x" * (i % 9)} for i in range(300)], files=3)
    first = write(spark.read.parquet(path).filter("k < 3"), kind="avro", out=tmp_path / "mid", compression=codec)
    assert first.capture["status"] == "complete"
    assert first.ids("id") == {(i,): [frozenset({i})] for i in range(300) if i % 5 < 3}
    second = write(spark.read.format("avro").load(str(tmp_path / "mid")).filter("k = 1").select("id"))
    assert traced(second, "id").ids == {(i,): [frozenset({i})] for i in range(300) if i % 5 == 1}


def test_witnesses_are_chosen_by_values_of_avro(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    spark.range(200).selectExpr(
        "id", "id % 4 as k", "cast(id * 7 % 101 as decimal(9, 2)) as d", "date_add(date'2020-01-01', cast(id * 11 % 97 as int)) as day"
    ).coalesce(1).write.format("avro").save(str(tmp_path / "in"))
    frame = spark.read.format("avro").load(str(tmp_path / "in"))
    for column, value in (("d", lambda i: i * 7 % 101), ("day", lambda i: i * 11 % 97)):
        captured = write(frame.groupBy("k").agg({column: "max"}))
        found = traced(captured, "k", semantics=Semantics.WITNESS)
        firsts = {k: max(range(k, 200, 4), key=lambda i: (value(i), -i)) for k in range(4)}
        assert found.ids == {(k,): [frozenset({i})] for k, i in firsts.items()}
        assert not found.said


def test_corrupt_files_that_are_ignored_are_refused_by_name(spark: SparkSession, tmp_path: Path, write: Any, conf: Any) -> None:
    made(tmp_path / "in")
    conf(files__ignoreCorruptFiles=True)
    captured = write(spark.read.format("avro").load(str(tmp_path / "in")))
    assert captured.capture["status"] == "refused"
    assert ["corrupt" in problem["reason"] for problem in captured.capture["problems"]] == [True]
