"""Scans: the reference of each record leads back to its file and row, or to its split and rank."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import TraceRequest, trace
from tests.spark_listener.capture.conftest import read_row
from tests.spark_listener.capture.lineage import Lineage, Record

pytestmark = pytest.mark.spark


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"id": i, "k": i % 5, "s": f"text {i}"} for i in range(count)]


@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("codegen", [True, False])
def test_parquet_rows(spark: SparkSession, table: Any, write: Any, conf: Any, vectorized: bool, codegen: bool) -> None:
    factory = "FALLBACK" if codegen else "NO_CODEGEN"
    conf(parquet__enableVectorizedReader=vectorized, codegen__wholeStage=codegen, codegen__factoryMode=factory)
    frame = spark.read.parquet(table("rows", numbered(300), files=3)).filter("id % 3 = 1").select("id", (f.col("k") + 1).alias("k"))
    assert write(frame).ids("id") == {(i,): [frozenset({i})] for i in range(300) if i % 3 == 1}


def test_parquet_files_split_over_tasks_and_row_groups_skipped(spark: SparkSession, tmp_path: Path, write: Any, conf: Any) -> None:
    conf(files__maxPartitionBytes=20_000, files__openCostInBytes=1)
    rows = pa.Table.from_pylist([{"id": i, "s": f"{i * 7919 % 10_007:06d}" * 3} for i in range(5000)])
    (tmp_path / "one").mkdir()
    pq.write_table(rows, tmp_path / "one" / "a.parquet", row_group_size=500, compression="none", use_dictionary=False)
    frame = spark.read.parquet(str(tmp_path / "one"))
    assert frame.rdd.getNumPartitions() > 3
    captured = write(frame.filter("id >= 1234 and id < 4321").select("id"))
    assert captured.ids("id") == {(i,): [frozenset({i})] for i in range(1234, 4321)}


def test_partitioned_folders_are_pruned(spark: SparkSession, tmp_path: Path, write: Any) -> None:
    source = str(tmp_path / "parts")
    spark.createDataFrame(numbered(100)).write.partitionBy("k").parquet(source)
    captured = write(spark.read.parquet(source).filter("k = 2 or k = 3").select("id", "k"))
    assert captured.ids("id") == {(i,): [frozenset({i})] for i in range(100) if i % 5 in (2, 3)}
    (described,) = captured.capture["sources"]
    assert {file["partition"]["k"] for file in described["files"]} == {"2", "3"}
    assert described["partition_columns"] == ["k"]


def lines_of(lineage: Lineage, header: bool) -> dict[int, int]:
    """For each output row (they hold the line they came from): the line that the capture says, by the split rule of Hadoop's reader."""
    result = {}
    for written in lineage.written():
        (record,) = written.records
        result[int(read_row(written)["id"])] = _line(record, header)
    return result


def _line(record: Record, header: bool) -> int:
    lines = Path(record.path.removeprefix("file:")).read_bytes().splitlines(keepends=True)
    begin, at = 0, 0
    while record.start > 0 and at <= record.start:  # the line that holds byte `start` belongs to the split before
        at += len(lines[begin])
        begin += 1
    skipped = 1 if header and record.start == 0 else 0
    filled = [number for number, line in enumerate(lines) if number >= begin and line.strip()]
    return filled[skipped + record.row]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("pieces", [1, 5])
def test_csv_records_are_found_by_split_and_rank(
    spark: SparkSession, tmp_path: Path, write: Any, conf: Any, header: bool, pieces: int
) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    for number in range(2):
        lines = [f"{i},{i % 7},{'x' * (i % 40)}" for i in range(number * 1000, number * 1000 + 1000)]
        lines[10:10] = [""]  # a blank line is no record
        (folder / f"{number}.csv").write_text("\n".join((["id,k,s"] if header else []) + lines) + "\n")
    size = max(path.stat().st_size for path in folder.iterdir()) // pieces + 1
    conf(files__maxPartitionBytes=size, files__openCostInBytes=size)
    frame = spark.read.csv(str(folder), schema="id int, k int, s string", header=header)
    captured = write(frame.filter("k = 3").select("id", "s"))
    where = {}
    for path in folder.iterdir():
        for number, line in enumerate(path.read_text().splitlines()):
            if line and not line.startswith("id"):
                where[int(line.split(",")[0])] = number
    assert lines_of(captured.lineage, header) == {i: where[i] for i in range(2000) if i % 7 == 3}
    assert bool(captured.capture["sources"][0]["splits"]) == (pieces > 1)


def test_csv_that_only_counts_its_records(spark: SparkSession, tmp_path: Path, write: Any) -> None:
    path = tmp_path / "n.csv"
    path.write_text("id,k\n" + "".join(f"{i},{i % 3}\n" for i in range(50)))
    captured = write(spark.read.csv(str(path), header=True).agg(f.count("*").alias("n")))
    (written,) = captured.lineage.written()
    assert {record.row for record in written.records} == set(range(50))


def test_text_lines(spark: SparkSession, tmp_path: Path, write: Any) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a\n\nb\nc\n")
    captured = write(spark.read.text(str(path)).selectExpr("value", "length(value) n"))
    rows = {read_row(written)["value"]: {record.row for record in written.records} for written in captured.lineage.written()}
    assert rows == {"a": {0}, "": {1}, "b": {2}, "c": {3}}


def test_two_sources_and_one_read_twice_are_told_apart(spark: SparkSession, table: Any, write: Any) -> None:
    one, other = table("one", numbered(10)), table("other", [{"id": f"o{i}", "k": i} for i in range(5)])
    frame = spark.read.parquet(one).alias("a").join(spark.read.parquet(other).alias("b"), f.col("a.k") == f.col("b.k"))
    frame = frame.join(spark.read.parquet(one).alias("c"), f.col("c.id") == f.col("a.id")).select(f.col("a.id").alias("x"))
    captured = write(frame)
    assert captured.ids("x") == {(i,): [frozenset({i, f"o{i % 5}"})] for i in range(10)}
    assert len(captured.capture["sources"]) == 2


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_path_that_a_read_names_twice_gives_the_same_records_twice(
    spark: SparkSession, tmp_path: Path, write: Any, traced: Any, kind: str
) -> None:
    spark.range(0, 6, 1, 2).write.format(kind).save(str(tmp_path / "in"))
    captured = write(spark.read.schema("id long").format(kind).load([str(tmp_path / "in")] * 2))
    assert len(captured.capture["sources"][0]["files"]) == 2
    assert traced(captured, "id").ids == {(i,): [frozenset({i})] * 2 for i in range(6)}


def test_listed_files_are_described_as_they_were(spark: SparkSession, table: Any, write: Any) -> None:
    path = table("rows", numbered(20))
    captured = write(spark.read.parquet(path).select("id"))
    (source,) = captured.capture["sources"]
    assert [file["ordinal"] for file in source["files"]] == [0, 1]
    for file in source["files"]:
        status = Path(file["path"].removeprefix("file:")).stat()
        assert (file["length"], file["modified"]) == (status.st_size, status.st_mtime_ns // 1_000_000)
    assert source["columns"] == [{"name": "id", "type": "bigint"}, {"name": "k", "type": "bigint"}, {"name": "s", "type": "string"}]


def test_partitions_of_a_table_that_have_one_location_are_refused_where_both_are_read(
    spark: SparkSession, tmp_path: Path, write: Any
) -> None:
    spark.sql("CREATE TABLE one_location (id bigint, p int) USING parquet PARTITIONED BY (p)")
    spark.range(0, 6, 1, 1).write.parquet(str(tmp_path / "in"))
    for p in (1, 2):
        spark.sql(f"ALTER TABLE one_location ADD PARTITION (p={p}) LOCATION '{tmp_path / 'in'}'")
    (problem,) = write(spark.sql("SELECT p, id FROM one_location")).capture["problems"]
    assert (problem["reason"], problem["kind"]) == ("a file is in several partitions of the table, which have one location", "refused")
    alone = write(spark.sql("SELECT p, id FROM one_location WHERE p = 2"))
    assert alone.ids("id") == {(i,): [frozenset({i})] for i in range(6)}


def test_a_partition_outside_of_its_tables_folder_is_traced_both_ways(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    spark.sql("CREATE TABLE far (id bigint, p int) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO far PARTITION (p = 1) VALUES (1), (2)")
    spark.range(6, 9, 1, 1).write.parquet(str(tmp_path / "in"))
    spark.sql(f"ALTER TABLE far ADD PARTITION (p = 2) LOCATION '{tmp_path / 'in'}'")
    captured = write(spark.sql("SELECT id, p + 1 AS q FROM far"))
    assert len(traced(captured, "id").ids) == 5  # each is traced forward, too
    table = next(source["path"] for source in captured.capture["sources"])
    with closing(AssociationStore(tmp_path / "associations", sources=ANYWHERE)) as store:
        request = TraceRequest(dataset=table, where="p = 2 AND id = 7", forward=True)
        answer = asyncio.run(trace(None, store, "default", request))
    assert [dict(record.values) for record in answer.records] == [{"id": 7, "q": 3}]
    assert [dict(record.values) for record in answer.selected] == [{"id": 7, "p": 2}]
    assert [entry.effect for entry in answer.incomplete] == ["missing"]
    assert "partitions of it lie elsewhere" in answer.incomplete[0].reason


def test_a_table_of_which_a_filter_leaves_some_partitions_is_still_in_the_query(spark: SparkSession, write: Any) -> None:
    spark.range(0, 9, 1, 2).selectExpr("id", "id % 3 as p").write.partitionBy("p").saveAsTable("in_parts")
    captured = write(spark.sql("SELECT id FROM in_parts WHERE p = 2"))
    assert (captured.capture["status"], captured.capture["problems"]) == ("complete", [])
    assert captured.ids("id") == {(i,): [frozenset({i})] for i in (2, 5, 8)}
    lost = "SELECT DISTINCT a.id FROM in_parts a LEFT JOIN in_parts b ON a.id = b.id AND b.p = 1 WHERE a.p = 2"
    (problem,) = write(spark.sql(lost)).capture["problems"]
    assert (problem["operator"].rpartition("/")[2], problem["kind"]) == ("in_parts", "missing")
