"""Compressed text, CSV of records that go over lines, and JSON written: rows lead back to their records, or are refused by name."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import UnsupportedError
from headwater.graph.trace import Semantics
from tests.spark_listener.capture import conftest

pytestmark = pytest.mark.spark

ROWS = 2000
WANTED = [i for i in range(ROWS) if i % 7 == 3]


def rows_of(spark: SparkSession) -> Any:
    return spark.range(0, ROWS, 1, 2).selectExpr("id", "id % 7 as k", "concat('text ', id * 7919 % 10007, repeat('x', int(id % 40))) as s")


@pytest.mark.parametrize("codec", ["gzip", "bzip2", "deflate", "snappy"])
@pytest.mark.parametrize("kind", ["csv", "json", "text"])
def test_compressed_text_is_written_and_read(
    spark: SparkSession, tmp_path: Path, table: Any, write: Any, traced: Any, kind: str, codec: str
) -> None:
    path = table("rows", [{"id": i, "k": i % 5} for i in range(300)], files=3)
    frame = spark.read.parquet(path).filter("k < 3")
    first = write(
        frame.selectExpr("cast(id as string) as id") if kind == "text" else frame, kind=kind, out=tmp_path / "mid", compression=codec
    )
    assert first.capture["status"] == "complete", first.capture["problems"]
    read = (
        spark.read.text(str(tmp_path / "mid"))
        if kind == "text"
        else spark.read.schema("id long, k long").format(kind).load(str(tmp_path / "mid"))
    )
    for file in (tmp_path / "mid").glob("part-*"):  # as a reader of this one file has them
        alone = spark.read.schema(read.schema).format(kind).load(str(file))
        conftest._files[f"file:{file}"] = [{"id": int(row[0])} for row in alone.collect()]
    assert first.ids("id") == {(i,): [frozenset({i})] for i in range(300) if i % 5 < 3}
    second = write(read.selectExpr("cast(value as bigint) as id") if kind == "text" else read.filter("k = 1").select("id"))
    assert second.capture["status"] == "complete", second.capture["problems"]
    wanted = [i for i in range(300) if (i % 5 < 3 if kind == "text" else i % 5 == 1)]
    assert traced(second, "id").ids == {(i,): [frozenset({i})] for i in wanted}


@pytest.mark.parametrize("codegen", [True, False])
@pytest.mark.parametrize("name", ["lines.text", "lines.text.gz"])
def test_words_of_lines_of_every_shape(
    spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any, name: str, codegen: bool
) -> None:
    size = 1000  # bytes of a split; one line is longer
    conf(files__maxPartitionBytes=size, files__openCostInBytes=size, files__minPartitionNum=1)
    conf(codegen__wholeStage=codegen, codegen__factoryMode="FALLBACK" if codegen else "NO_CODEGEN")
    lines = ["a b", "", "", "a", "x" * 5 * size + " b", "  a", *(f"w{i} {'y' * (i % 50)}" for i in range(200)), "é ü", "end"]
    text = "".join(line + ("\n", "\r\n", "\r")[number % 3] for number, line in enumerate(lines))
    path = tmp_path / "in" / "p=é" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    read = spark.read.text(str(tmp_path / "in"))
    assert [row.value for row in read.collect()] == lines
    assert (read.rdd.getNumPartitions() == 1) == name.endswith(".gz")
    words = read.selectExpr("p", "explode(filter(split(value, ' '), word -> word <> 'end')) AS word")  # no words of the last line
    captured = write(words.selectExpr("p", "nullif(word, '') AS word").groupBy("p", "word").count())
    assert captured.capture["status"] == "complete", captured.capture["problems"]
    conftest._files[f"file:{path}"] = [{"id": number} for number in range(len(lines))]
    expected: dict[tuple[str, str | None], set[int]] = {}
    for number, line in enumerate(lines[:-1]):
        for word in line.split(" "):
            expected.setdefault(("é", word or None), set()).add(number)
    result = traced(captured, "p", "word")
    assert not result.said
    assert result.ids == {key: [frozenset(numbers)] for key, numbers in expected.items()}


def test_a_large_file_of_bzip2_is_refused_by_name(spark: SparkSession, tmp_path: Path, write: Any, conf: Any) -> None:
    (tmp_path / "in.csv.bz2").write_bytes(bz2.compress("".join(f"{i},{i * 7919 % 10007}\n" for i in range(2000)).encode()))
    frame = spark.read.schema("id long, k long").csv(str(tmp_path / "in.csv.bz2"))
    assert write(frame).capture["status"] == "complete"
    conf(files__maxPartitionBytes=1000, files__openCostInBytes=1000)
    captured = write(frame)
    assert captured.capture["status"] == "refused"
    assert "bzip2" in captured.capture["problems"][0]["reason"]


MULTILINE = [
    {"header": True},
    {"header": False, "sep": ";"},
    {"header": True, "escape": '"'},
    {"header": True, "comment": "#"},
    {"header": True, "ending": "\r\n"},
]


@pytest.mark.parametrize("options", MULTILINE, ids=str)
def test_csv_of_records_that_go_over_lines(spark: SparkSession, tmp_path: Path, write: Any, traced: Any, options: dict[str, Any]) -> None:
    (tmp_path / "in").mkdir()
    given = dict(options)
    end, sep, doubled = given.pop("ending", "\n"), given.get("sep", ","), given.get("escape") == '"'
    for number in range(2):
        lines = [f"id{sep}k{sep}s"] if given.get("header") else []
        for i in range(number * 100, number * 100 + 100):
            quote = '""' if doubled else ""
            text = f'"first {quote}{end}{end}{sep}second{i}"' if i % 3 else f"bare {i}"
            lines += ["# no record"] * (i % 10 == 5 and "comment" in given) + [""] * (i % 10 == 7) + [f"{i}{sep}{i % 7}{sep}{text}"]
        (tmp_path / "in" / f"{number}.multi").write_bytes(end.join(lines).encode())
    frame = spark.read.schema("id long, k long, s string").csv(str(tmp_path / "in"), multiLine=True, **given)
    assert frame.count() == 200
    captured = write(frame.filter("k = 3").select("id", "s"))
    assert captured.capture["status"] == "complete", captured.capture["problems"]
    found = traced(captured, "id")
    assert found.ids == {(i,): [frozenset({i})] for i in range(200) if i % 7 == 3}
    assert not found.said
    counted = traced(write(frame.selectExpr("count(*) as n")), "n")
    assert counted.ids == {(200,): [frozenset(range(200))]}
    least = traced(write(frame.groupBy("k").agg({"s": "max"})), "k", semantics=Semantics.WITNESS)
    assert not least.said
    assert all(len(records) == 1 for (records,) in least.ids.values())


def test_csv_whose_cut_is_not_certain_is_refused_when_traced_forward(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    path = tmp_path / "in.multi"
    path.write_text('0,a\n1,x "quoted" y\n2,b\n')
    captured = write(spark.read.schema("id long, s string").csv(str(path), multiLine=True).select("id"))
    assert captured.capture["status"] == "complete"
    assert {row for written in captured.lineage.written() for row in [record.row for record in written.records]} == {0, 1, 2}
    frame = spark.read.schema("id long, s string").csv(str(path), multiLine=True).groupBy().agg({"s": "max"})
    found = traced(write(frame), "max(s)", semantics=Semantics.WITNESS)
    assert [effect for _, effect in found.said] == ["superset"]
    assert all(records == [frozenset({0, 1, 2})] for records in found.ids.values())


def test_lines_written_are_records_to_a_reader_of_many_lines(
    spark: SparkSession, tmp_path: Path, table: Any, write: Any, traced: Any
) -> None:
    path = table("rows", [{"id": i, "s": f"a,{i}"} for i in range(100)], files=2)
    first = write(spark.read.parquet(path).filter("id % 2 = 0"), kind="csv", out=tmp_path / "mid", header=True)
    assert first.capture["status"] == "complete", first.capture["problems"]
    second = write(spark.read.schema("id long, s string").csv(str(tmp_path / "mid"), multiLine=True, header=True).filter("id % 5 = 0"))
    assert traced(second, "id").ids == {(i,): [frozenset({i})] for i in range(0, 100, 10)}


def test_json_is_written_and_read(spark: SparkSession, tmp_path: Path, table: Any, write: Any, traced: Any) -> None:
    path = table("rows", [{"id": i, "k": i % 5, "s": "two\nlines" if i % 3 else None} for i in range(300)], files=3)
    first = write(spark.read.parquet(path).filter("k < 3"), kind="json", out=tmp_path / "mid")
    assert first.ids("id") == {(i,): [frozenset({i})] for i in range(300) if i % 5 < 3}
    second = write(spark.read.schema("id long, k long, s string").json(str(tmp_path / "mid")).filter("k = 1").select("id"))
    assert traced(second, "id").ids == {(i,): [frozenset({i})] for i in range(300) if i % 5 == 1}


def test_witnesses_are_chosen_by_values_of_json(spark: SparkSession, tmp_path: Path, write: Any, traced: Any) -> None:
    path = tmp_path / "in.json"
    path.write_text("".join(json.dumps({"id": i, "k": i % 4, "d": i * 7 % 101 / 4, "s": f"t{i * 11 % 97:02}"}) + "\n" for i in range(200)))
    frame = spark.read.schema("id long, k long, d decimal(9, 2), s string").json(str(path))
    for column, value in (("d", lambda i: i * 7 % 101), ("s", lambda i: i * 11 % 97)):
        found = traced(write(frame.groupBy("k").agg({column: "max"})), "k", semantics=Semantics.WITNESS)
        firsts = {k: max(range(k, 200, 4), key=lambda i: (value(i), -i)) for k in range(4)}
        assert found.ids == {(k,): [frozenset({i})] for k, i in firsts.items()}
        assert not found.said


@pytest.mark.parametrize(
    "bad", ['{"id": 1, "d": "1.5"}', '{"id": 1, "d": 1, "d": 3}', "{'id': 1, 'd': 2}", '{"id": 1.0, "d": 2}', '{"id": 1, "d": 1e1}']
)
def test_json_that_is_not_certain_makes_a_superset(spark: SparkSession, tmp_path: Path, write: Any, traced: Any, bad: str) -> None:
    path = tmp_path / "in.json"
    path.write_text('{"id": 0, "d": 1}\n' + bad + '\n{"id": 2, "d": 2}\n')
    frame = spark.read.schema("id long, d decimal(9, 2)").json(str(path)).groupBy().agg({"d": "max"})
    captured = write(frame)
    conftest._files[f"file:{path}"] = [{"id": row} for row in range(3)]
    found = traced(captured, semantics=Semantics.WITNESS)
    assert found.ids == {(): [frozenset({0, 1, 2})]}
    assert [effect for _, effect in found.said] == ["superset"]


def test_json_that_was_written_to_be_pretty_has_no_lines(spark: SparkSession, tmp_path: Path, table: Any, write: Any, traced: Any) -> None:
    path = table("rows", [{"id": i} for i in range(30)], files=1)
    first = write(spark.read.parquet(path), kind="json", out=tmp_path / "mid", pretty=True)
    assert first.capture["status"] == "complete"
    second = write(spark.read.schema("id long").json(str(tmp_path / "mid")).selectExpr("id as n"))
    with pytest.raises((UnsupportedError, json.JSONDecodeError)):
        traced(second, "n")


ABOVE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "exchange": lambda frame: frame.repartition(3),
    "filter and exchange": lambda frame: frame.filter("id % 3 = 1").repartition(2),
    "sort": lambda frame: frame.sort("s"),
    "union": lambda frame: frame.filter("id < 50").union(frame.filter("id >= 50")),
    "cache": lambda frame: frame.cache().repartition(2),
}


@pytest.mark.parametrize("codegen", [True, False])
@pytest.mark.parametrize("above", ABOVE)
def test_lines_go_whole_through_each_operator_above_their_scan(
    spark: SparkSession, tmp_path: Path, write: Any, traced: Any, conf: Any, above: str, codegen: bool
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(2):
        (tmp_path / "in" / f"{number}.csv").write_text("".join(f"{i},text {i}\n" for i in range(number * 50, number * 50 + 50)))
    conf(codegen__wholeStage=codegen, codegen__factoryMode="CODEGEN_ONLY" if codegen else "NO_CODEGEN")
    captured = write(ABOVE[above](spark.read.schema("id long, s string").csv(str(tmp_path / "in"))))
    assert captured.capture["status"] == "complete", captured.capture["problems"]
    wanted = [i for i in range(100) if above != "filter and exchange" or i % 3 == 1]
    written = spark.read.parquet(str(captured.out)).collect()
    assert sorted((row.id, row.s) for row in written) == [(i, f"text {i}") for i in wanted]
    assert traced(captured, "id").ids == {(i,): [frozenset({i})] for i in wanted}
    spark.catalog.clearCache()
