"""File formats: every output row leads back to the record it was made of, by a reader that shares nothing with Spark's."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyspark
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.read_files import ReadFile
from headwater.graph.files.reader import Reader
from headwater.graph.files.shapes import Shape
from headwater.graph.records import block_of
from tests.graph.trace.local import local

pytestmark = pytest.mark.spark

_FOLLOWED_XML = pytest.mark.skipif(pyspark.__version__.startswith("4.0."), reason="Spark 4.0 has the older parser of XML alone: refused")
ROWS = 3000
WANTED = [i for i in range(ROWS) if i % 7 == 3]


def source(spark: SparkSession, folder: Path, kind: str, **options: Any) -> list[Path]:
    """Two files of records that are of different lengths."""
    frame = spark.range(0, ROWS, 1, 2).selectExpr("id", "id % 7 as k", "concat('text ', id * 7919 % 10007, repeat('x', int(id % 40))) as s")
    frame.write.format(kind).options(**options).save(str(folder))
    return sorted(folder.glob("part-*"))


def in_parts(conf: Any, files: list[Path], pieces: int) -> None:
    """Have Spark read each file in so many splits."""
    size = max(file.stat().st_size for file in files) // pieces + 1
    conf(files__maxPartitionBytes=size, files__openCostInBytes=size)


@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("pieces", [1, 5])
def test_orc_rows(spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any, vectorized: bool, pieces: int) -> None:
    (tmp_path / "in").mkdir()
    files = [tmp_path / "in" / f"{number}.orc" for number in range(2)]
    for number, file in enumerate(files):
        ids = range(number * ROWS // 2, (number + 1) * ROWS // 2)
        rows = pa.table({"id": list(ids), "k": [i % 7 for i in ids], "s": ["x" * (i % 40) for i in ids]})
        orc.write_table(rows, file, stripe_size=2048, batch_size=100)
        assert orc.ORCFile(file).nstripes > 5
    conf(orc__enableVectorizedReader=vectorized)
    in_parts(conf, files, pieces)
    captured = write(spark.read.orc(str(tmp_path / "in")).filter("k = 3").select("id", "s"))
    assert not captured.capture["sources"][0]["splits"]
    found = traced(captured, "id")
    assert found.ids == {(i,): [frozenset({i})] for i in WANTED}
    assert not found.said


def test_orc_that_only_counts_its_rows(spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any) -> None:
    source(spark, tmp_path / "in", "orc")
    found = traced(write(spark.read.orc(str(tmp_path / "in")).selectExpr("count(*) as n")), "n")
    assert found.ids == {(ROWS,): [frozenset(range(ROWS))]}


def test_orc_in_partitioned_folders(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    spark.range(100).selectExpr("id", "id % 5 as k", "array(id, 1) as a").write.partitionBy("k").orc(str(tmp_path / "in"))
    found = traced(write(spark.read.orc(str(tmp_path / "in")).filter("k = 2 and a[0] > 10").select("id", "k", "a")), "id")
    assert found.ids == {(i,): [frozenset({i})] for i in range(100) if i % 5 == 2 and i > 10}


@pytest.mark.parametrize("kind", ["text", "json"])
def test_lines_in_partitioned_folders(spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any, kind: str) -> None:
    for number, place in enumerate(("day=2024-02-29/k=1", "day=2024-02-29/k=__HIVE_DEFAULT_PARTITION__", "day=2024-03-01/k=1")):
        folder = tmp_path / "in" / place
        folder.mkdir(parents=True)
        lines = [json.dumps({"id": 200 * number + i, "text": "ü" * (i % 40)}) for i in range(200)]
        (folder / "part.json").write_text("\n".join([*lines, ""]))
    conf(files__maxPartitionBytes=3000, files__openCostInBytes=100)
    read = spark.read.schema("id long, text string, day date, k int" if kind == "json" else "value string, day date, k int").format(kind)
    frame = read.load(str(tmp_path / "in"))
    parts = (
        frame.selectExpr("id", "text", "day", "k")
        if kind == "json"
        else frame.selectExpr("get_json_object(value, '$.id') as id", "day", "k")
    )
    captured = write(parts.filter("cast(id as int) % 50 = 3"), kind="parquet")
    found = traced(captured, "id", "day", "k")
    days = [(date(2024, 2, 29), 1), (date(2024, 2, 29), None), (date(2024, 3, 1), 1)]
    given = int if kind == "json" else str
    wanted = [(i, *days[i // 200]) for i in range(600) if i % 50 == 3]
    assert found.ids == {(given(i), day, k): [frozenset({i})] for i, day, k in wanted}
    assert not found.said


@pytest.mark.parametrize("pieces", [1, 5])
def test_json_lines(spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any, pieces: int) -> None:
    files = source(spark, tmp_path / "in", "json")
    for file in files:
        lines = file.read_text().splitlines()
        lines[10:10] = ["", "  "]  # they are no records
        file.write_text("\n".join(lines))
        file.with_name(f".{file.name}.crc").unlink()
    in_parts(conf, files, pieces)
    captured = write(spark.read.schema("id long, k long, s string").json(str(tmp_path / "in")).filter("k = 3").select("id", "s"))
    assert bool(captured.capture["sources"][0]["splits"]) == (pieces > 1)
    assert traced(captured, "id").ids == {(i,): [frozenset({i})] for i in WANTED}


def test_a_bad_line_of_json_is_a_record_of_nulls(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    path = tmp_path / "in.json"
    path.write_text('{"id": 0}\n{"id": 1, "k"\n{"id": 2}\nnull\n{"id": 4}\n')
    frame = spark.read.schema("id long, _corrupt_record string").json(str(path)).selectExpr("id as n", "_corrupt_record as bad")
    captured = write(frame)
    assert captured.lineage is not None
    rows = {tuple(record.row for record in written.records) for written in captured.lineage.written()}
    assert rows == {(0,), (1,), (2,), (3,), (4,)}


def test_lines_that_are_arrays_are_no_records(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    path = tmp_path / "in.json"
    path.write_text("".join(f'[{{"id": {2 * i}}}, {{"id": {2 * i + 1}}}]\n' for i in range(50)))
    whole = write(spark.read.schema("id long").json(str(path)).selectExpr("id as n"))
    assert sorted(record.row for written in whole.lineage.written() for record in written.records) == list(range(100))
    with pytest.raises(UnsupportedError, match="array"):
        traced(whole, "n")  # it would begin forward with a record that it cannot find


def test_json_of_many_lines(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        rows = [{"id": i, "k": i % 7} for i in range(number * 100, number * 100 + 100)]
        (tmp_path / "in" / f"{number}.array").write_text(json.dumps(rows, indent=2))
    frame = spark.read.schema("id long, k long").json(str(tmp_path / "in"), multiLine=True)
    assert traced(write(frame.filter("k = 3").select("id")), "id").ids == {(i,): [frozenset({i})] for i in range(300) if i % 7 == 3}


@_FOLLOWED_XML
def test_xml(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    (tmp_path / "in").mkdir()
    for number in range(2):
        rows = "\n".join(f"  <row><id>{i}</id>\n<k>{i % 7}</k></row>" for i in range(number * 100, number * 100 + 100))
        (tmp_path / "in" / f"{number}.xml").write_text(f"<rows>\n{rows}\n</rows>\n")
    frame = spark.read.schema("id string, k long").xml(str(tmp_path / "in"), rowTag="row")
    found = traced(write(frame.filter("k = 3").select("id")), "id")
    assert found.ids == {(str(i),): [frozenset({str(i)})] for i in range(200) if i % 7 == 3}


def test_files_that_are_records(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    for kind in ("txt", "bin"):
        (tmp_path / kind).mkdir()
        for number in range(5):
            (tmp_path / kind / f"{number}.{kind}").write_text(f"{number}.{kind}\nof {number}")
    texts = spark.read.text(str(tmp_path / "txt"), wholetext=True).selectExpr("split(value, '\\n')[0] as id").filter("id > '2'")
    assert traced(write(texts), "id").ids == {(f"{i}.txt",): [frozenset({f"{i}.txt"})] for i in range(2, 5)}
    bytes_ = (
        spark.read.format("binaryFile")
        .load(str(tmp_path / "bin"))
        .filter("length > 3")
        .selectExpr("split(string(content), '\\n')[0] as id")
    )
    assert traced(write(bytes_), "id").ids == {(f"{i}.bin",): [frozenset({f"{i}.bin"})] for i in range(5)}


def test_what_has_no_numbers_is_refused_by_name(spark: SparkSession, tmp_path: Path, write: Any, conf: Any) -> None:
    source(spark, tmp_path / "json", "json")
    source(spark, tmp_path / "orc", "orc")
    dropped = write(spark.read.schema("id long").json(str(tmp_path / "json"), mode="DROPMALFORMED"))
    failing = write(spark.read.schema("id long").json(str(tmp_path / "json"), mode="FAILFAST").filter("id > 1"))
    conf(files__ignoreCorruptFiles=True)
    corrupt = write(spark.read.orc(str(tmp_path / "orc")))
    reasons = [[problem["reason"] for problem in captured.capture["problems"]] for captured in (dropped, failing, corrupt)]
    assert [("DROPMALFORMED" in a, "FAILFAST" in b, "corrupt" in c) for (a,), (b,), (c,) in [tuple(reasons)]] == [(True, True, True)]
    assert {captured.capture["status"] for captured in (dropped, failing, corrupt)} == {"refused"}


def test_orc_is_written_and_read_by_the_next_query(spark: SparkSession, tmp_path: Path, table: Any, write: Any, traced: Any) -> None:
    path = table("rows", [{"id": i, "k": i % 5} for i in range(300)], files=3)
    first = write(spark.read.parquet(path).filter("k < 3").select("id", "k"), kind="orc", out=tmp_path / "mid")
    assert first.capture["status"] == "complete"
    second = write(spark.read.orc(str(tmp_path / "mid")).filter("k = 1").select("id"))
    assert traced(second, "id").ids == {(i,): [frozenset({i})] for i in range(300) if i % 5 == 1}
    assert first.ids("id") == {(i,): [frozenset({i})] for i in range(300) if i % 5 < 3}


_XML = (
    '<rows><row kind="a"><id>1</id></row><row/><row ><id/></row><other><row><id> 2 </id></row></other></rows>',
    "<rows>\n<!-- a comment --><row><id>1</id><!-- another --></row>\n<row><id><![CDATA[<b>]]></id></row></rows>",
    "<rows><row><id>1 &amp; &#50;</id></row><rowset><id>9</id></rowset><Row><id>8</id></Row></rows>",
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE rows [<!ENTITY e "x">]><rows><row><id>&e;</id></row></rows>',
    "<rows><!-- <row><id>0</id></row> --><row><id>1</id></row></rows>",
    "<rows><row><id>1</id><row><id>2</id></row></row></rows>",
    "<rows><row><id>1</id></row><row><id>2</id></rows>",
    "<row><id>1</id></row><row><id>2</id></row>",
    "<rows></rows>",
    "<row><id>1</id></row>",
    "<rows><row><id>é\u2028ü</id></row></rows>",
    "<rows><row>\r\n<id>1\r\n2</id></row></rows>",
    '<rows><row kind="a>b"><id>1</id></row><row kind="</row>"><id>2</id></row></rows>',
)


@_FOLLOWED_XML
def test_records_of_xml_are_those_that_spark_reads_or_refused(spark: SparkSession, tmp_path: Path) -> None:
    shape = Shape("xml", (("rowtag", "row"),), (("id", "string"), ("_kind", "string")))
    refused = []
    for number, text in enumerate(_XML):
        path = tmp_path / f"{number}.xml"
        path.write_text(text, newline="")
        read = [tuple(row) for row in spark.read.schema("id string, _kind string").xml(str(path), rowTag="row").collect()]
        with duckdb.connect() as connection:
            database = Database(connection)
            try:
                select, parameters = Reader().make_query(database, shape, [ReadFile(0, local(path), block_of(path), {})])
            except UnsupportedError:
                refused.append(number)
                continue
            assert database.execute(f"SELECT id, _kind FROM ({select}) ORDER BY __row", parameters).fetchall() == read, text
    assert refused == [3, 4, 5, 6, 7, 12]
