"""Writes of Delta tables by record: which records each row of a table came from, whatever command wrote it; and on to other jobs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pyspark
import pytest

from headwater.graph.trace import Semantics, TraceRequest, trace
from tests.jvm import PATIENTLY
from tests.oracle.laboratory import TENANT, Laboratory
from tests.spark_listener.delta import asked, behind, delta_over_raw, from_raw, rows, written

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with delta_over_raw(tmp_path_factory.mktemp("delta")) as found:
        yield found


@pytest.fixture
def table(laboratory: Laboratory, request: pytest.FixtureRequest) -> str:
    """A path for a table of the test's own."""
    name = "".join(letter if letter.isalnum() else "_" for letter in request.node.name)
    return str(laboratory.folder / name)


WAYS: dict[str, Callable[[Any, str, list[str]], object]] = {
    "save": lambda raw, path, by: raw.write.format("delta").partitionBy(*by).save(path),
    "rolling": lambda raw, path, by: raw.write.format("delta").option("maxRecordsPerFile", 7).partitionBy(*by).save(path),
    "overwrite": lambda raw, path, by: raw.write.format("delta").partitionBy(*by).mode("overwrite").save(path),
}


@pytest.mark.parametrize(
    ("way", "by"), [("save", []), ("save", ["s"]), ("rolling", []), ("rolling", ["k"]), ("rolling", ["k", "s"]), ("overwrite", ["k"])]
)
def test_each_row_of_a_table_came_from_its_record(laboratory: Laboratory, table: str, way: str, by: list[str]) -> None:
    raw = laboratory.spark.table("raw").filter("id < 24").repartition(2)
    capture = written(laboratory, lambda: WAYS[way](raw, table, by))
    assert capture["status"] == "complete", capture["problems"]
    assert rows(laboratory, table) == sorted(((n, n % 4, f"n{n}") for n in range(24)), key=str)
    assert behind(laboratory, table, range(0, 24, 5)) == from_raw(*range(0, 24, 5))
    assert (capture["sink"]["format"], capture["sink"]["version"]) == ("delta", "0")
    (forward,) = asked(laboratory, f"{laboratory.folder}/raw", "id = 7", forward=True, to=table).records
    assert forward.values["id"] == 7


NAMED: dict[str, Callable[[Any, Any, str], object]] = {
    "saveAsTable": lambda _, raw, name: raw.write.format("delta").mode("append").saveAsTable(name),
    "insertInto": lambda _, raw, name: raw.write.insertInto(name),
    "sql": lambda spark, _, name: spark.sql(f"INSERT INTO {name} SELECT * FROM raw WHERE id BETWEEN 10 AND 19"),
    "append": lambda _, raw, name: raw.writeTo(name).append(),
    "replaceWhere": lambda _, raw, name: raw.write.format("delta").mode("overwrite").option("replaceWhere", "k >= 0").saveAsTable(name),
    "dynamic": lambda _, raw, name: raw.writeTo(name).overwritePartitions(),
    "ctas": lambda spark, _, name: spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta AS SELECT * FROM raw WHERE id BETWEEN 10 AND 19"),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", NAMED)
def test_each_way_to_write_a_named_table(laboratory: Laboratory, way: str) -> None:
    name, spark = f"named_{way.lower()}", laboratory.spark
    spark.sql(f"CREATE TABLE {name} (id int, k int, s string) USING delta PARTITIONED BY (k)")
    raw = spark.table("raw").filter("id BETWEEN 10 AND 19")
    capture = written(laboratory, lambda: NAMED[way](spark, raw, name))
    assert capture["status"] == "complete", capture["problems"]
    path = f"{laboratory.folder}/warehouse/{name}"
    assert (capture["sink"]["path"], capture["sink"]["version"]) == (f"file:{path}", "1")
    assert behind(laboratory, path, range(10, 20, 3)) == from_raw(*range(10, 20, 3))


MERGE = """
    MERGE INTO delta.`{t}` t USING changes c ON t.id = c.id
    WHEN MATCHED AND c.k = 9 THEN DELETE
    WHEN MATCHED THEN UPDATE SET s = c.s
    WHEN NOT MATCHED THEN INSERT *
"""


@pytest.mark.parametrize(("by", "vectors"), [("", "true"), ("PARTITIONED BY (k)", "false")])
def test_a_table_that_is_changed_knows_where_each_row_is_from(laboratory: Laboratory, table: str, by: str, vectors: str) -> None:
    sql, name = laboratory.spark.sql, Path(table).name
    properties = f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')"
    sql(f"CREATE TABLE delta.`{table}` (id int, k int, s string) USING delta {by} {properties}")
    assert written(laboratory, lambda: sql(f"INSERT INTO delta.`{table}` SELECT * FROM raw WHERE id < 12"))["status"] == "complete"
    capture = written(laboratory, lambda: sql(f"UPDATE delta.`{table}` SET s = 'u' WHERE id IN (2, 3)"))
    assert capture["status"] == "complete", capture["problems"]
    assert behind(laboratory, table, (2, 3, 4)) == from_raw(2, 3, 4)
    laboratory.forget()
    sql(f"DELETE FROM delta.`{table}` WHERE id = 5")
    if vectors == "false":
        capture = laboratory.captured()
        assert capture["status"] == "complete", capture["problems"]
        laboratory.publish(capture)
    assert behind(laboratory, table, (1, 4, 6)) == from_raw(1, 4, 6)
    changes = [(1, 1, "m1"), (2, 9, "gone"), (40, 0, "m40")]
    with laboratory.without_capture():
        laboratory.spark.createDataFrame(changes, "id int, k int, s string").coalesce(1).write.parquet(f"{table}_changes")
    laboratory.spark.read.parquet(f"{table}_changes").createOrReplaceTempView("changes")
    capture = written(laboratory, lambda: sql(MERGE.format(t=table)))
    assert capture["status"] == "complete", json.dumps(capture["problems"])
    there = {row[0]: row[2] for row in rows(laboratory, table)}
    assert there == {n: {1: "m1", 3: "u", 40: "m40"}.get(n, f"n{n}") for n in [0, 1, 3, 4, *range(6, 12), 40]}
    carried = from_raw(*(n for n in there if n not in (1, 40)))
    assert behind(laboratory, table, there) == {
        **carried, 1: {("raw", 1), (f"{name}_changes", 1)}, 40: {(f"{name}_changes", 40)},
    }  # fmt: skip
    done = {number: merged(asked(laboratory, table, f"id = {number}")) for number in there}
    assert (done.pop(1), done.pop(40)) == (["MERGE: matched and updated"], ["MERGE: inserted"])
    rewritten = [found for found in done.values() if found]
    assert rewritten == [["MERGE: carried over"]] * len(rewritten)
    assert bool(rewritten) == (vectors == "false")  # with vectors the other rows stay in their files


def merged(answer: Any) -> list[str]:
    """The actions of MERGE in a trace."""
    return [operation for hop in answer.path for operation in hop.operations if operation.startswith("MERGE")]


@pytest.mark.slow
def test_a_clause_that_need_not_take_a_row_makes_a_superset(laboratory: Laboratory, table: str) -> None:
    sql = laboratory.spark.sql
    sql(f"CREATE TABLE delta.`{table}` (id int, k int, s string) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    written(laboratory, lambda: sql(f"INSERT INTO delta.`{table}` SELECT * FROM raw WHERE id < 6"))
    change = "WHEN MATCHED AND c.k = 1 THEN UPDATE SET s = 'taken' WHEN NOT MATCHED BY SOURCE AND t.id = 5 THEN UPDATE SET s = 'alone'"
    source = "(SELECT * FROM raw WHERE id IN (1, 2))"
    capture = written(laboratory, lambda: sql(f"MERGE INTO delta.`{table}` t USING {source} c ON t.id = c.id {change}"))
    assert capture["status"] == "complete"
    request = {"semantics": Semantics.INFLUENCE, "limit": 100}
    for number, text in ((1, "MERGE: matched, and updated or carried over"), (2, "MERGE: matched, and updated or carried over")):
        answer = asyncio.run(trace(None, laboratory.store, TENANT, TraceRequest(dataset=table, where=f"id = {number}", **request)))
        assert not answer.exact
        assert [(entry.what, entry.effect) for entry in answer.incomplete] == [("MergeIntoCommand", "superset")]
        assert merged(answer) == [text]
    for number in (4, 5):
        answer = asyncio.run(trace(None, laboratory.store, TENANT, TraceRequest(dataset=table, where=f"id = {number}", **request)))
        assert {record.values["id"] for record in answer.records} == {number}
        assert merged(answer) == ["MERGE: carried over or changed, as no row of the source matched"]
    many = asyncio.run(trace(None, laboratory.store, TENANT, TraceRequest(dataset=table, where="id > 0", **request)))
    assert merged(many) == []  # not the same for all


def test_two_jobs_are_linked_by_a_table(laboratory: Laboratory, table: str) -> None:
    spark = laboratory.spark
    spark.sql(f"CREATE TABLE delta.`{table}` (id int, k int, s string) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    raw = spark.table("raw").filter("id < 30")
    assert written(laboratory, lambda: raw.write.format("delta").mode("append").save(table))["status"] == "complete"
    spark.sql(f"ALTER TABLE delta.`{table}` RENAME COLUMN k TO kind")
    spark.sql(f"ALTER TABLE delta.`{table}` RENAME COLUMN s TO k")  # another column's name before
    sums = spark.read.format("delta").load(table).filter("id >= 10").groupBy("kind").agg({"id": "sum", "k": "max"})
    out = f"{table}_sums"
    capture = written(laboratory, lambda: sums.toDF("kind", "total", "most").write.parquet(out))
    assert capture["status"] == "complete", capture["problems"]
    answer = asked(laboratory, out, "kind = 3")
    assert {record.values["id"] for record in answer.records} == {n for n in range(10, 30) if n % 4 == 3}
    assert {Path(record.dataset.split("%2F")[-1]).name for record in answer.records} == {"raw"}
    witness = asyncio.run(trace(None, laboratory.store, TENANT, TraceRequest(
        dataset=out, where="kind = 3", semantics=Semantics.WITNESS, column="most",
    )))  # fmt: skip
    assert {record.values["s"] for record in witness.records} == {"n27"}
    forward = asked(laboratory, f"{laboratory.folder}/raw", "id = 11", forward=True, to=out)
    assert [record.values["kind"] for record in forward.records] == [3]


def files(path: str) -> list[tuple[str, list[int]]]:
    """The partition's values and the ids of each file that the first commit of a table added, in its order."""
    entries = map(json.loads, (Path(path) / "_delta_log" / f"{0:020}.json").read_text().splitlines())
    added = [entry["add"] for entry in entries if "add" in entry]
    return [
        (str(add["partitionValues"]), pq.read_table(f"{path}/{unquote(add['path'])}", partitioning=None)["id"].to_pylist()) for add in added
    ]


@pytest.mark.slow
def test_files_are_those_that_delta_writes_without_capture(laboratory: Laboratory, table: str) -> None:
    texts = " ".join(f"WHEN {n} THEN {text}" for n, text in enumerate(["'a'", "''", "NULL", "'b c'"]))
    frame = laboratory.spark.sql(f"SELECT id, CASE id % 4 {texts} END p, id * 7 % 10 v FROM raw")
    writer = frame.write.format("delta").partitionBy("p").option("maxRecordsPerFile", 4)
    capture = written(laboratory, lambda: writer.save(table))
    assert capture["status"] == "complete", capture["problems"]
    with laboratory.without_capture():
        writer.save(f"{table}_plain")
    assert files(table) == files(f"{table}_plain")
    assert behind(laboratory, table, range(0, 60, 7)) == from_raw(*range(0, 60, 7))


@pytest.mark.slow
def test_what_a_stream_writes_is_no_capture(laboratory: Laboratory, table: str) -> None:
    spark = laboratory.spark
    batches = spark.readStream.schema("id int, k int, s string").parquet(f"{laboratory.folder}/raw")
    into = batches.writeStream.trigger(availableNow=True)
    laboratory.forget()
    into.format("delta").option("checkpointLocation", f"{table}_c").start(table).awaitTermination()

    def fold(batch: Any, _: int) -> None:
        batch.createOrReplaceTempView("batch")
        merge = f"MERGE INTO delta.`{table}` t USING batch b ON t.id = b.id + 30 WHEN NOT MATCHED THEN INSERT *"
        batch.sparkSession.sql(merge)
        batch.write.format("delta").mode("append").save(table)

    into.option("checkpointLocation", f"{table}_f").foreachBatch(fold).start().awaitTermination()
    assert laboratory.bridge.flush(PATIENTLY)
    captures = [event["capture"] for event in laboratory.bridge.drain(5_000) if event["event"] == "query_end"]
    assert not [capture for capture in captures if capture and capture["status"] != "refused"]
    assert len(rows(laboratory, table)) == 60 + 30 + 60
