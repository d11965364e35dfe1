"""Reads of Delta tables by record: the row and data file behind each row of a Parquet sink, for every feature of tables."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater.errors import NotFoundError
from headwater.graph.trace import TraceRequest, trace
from headwater.graph.trace.version_diff.answer import DiffRequest
from headwater.graph.trace.version_diff.engine import diff
from tests.oracle.laboratory import TENANT, Laboratory
from tests.spark_listener.delta import delta_in, each, made, traced

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
    """Its mode is auto, with time for traces: what of a table could be left to be found again is written all the same."""
    with delta_in(tmp_path_factory.mktemp("delta"), budget=10.0) as found:
        yield found


TABLES: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[int, ...]]] = {
    "plain": ({}, (), tuple(range(12))),
    "partitioned": ({"by": "PARTITIONED BY (k)"}, (), tuple(range(12))),
    "deleted": ({"enableDeletionVectors": "true"}, ("DELETE FROM {t} WHERE id IN (2, 3, 9)",), (0, 1, 4, 5, 6, 7, 8, 10, 11)),
    "deleted_partitioned": (
        {"enableDeletionVectors": "true", "by": "PARTITIONED BY (k)"}, ("DELETE FROM {t} WHERE id IN (2, 3, 9)",),
        (0, 1, 4, 5, 6, 7, 8, 10, 11),
    ),
    "mapped": ({"columnMapping.mode": "name"}, ("ALTER TABLE {t} RENAME COLUMN s TO text",), tuple(range(12))),
    "mapped_by_id": ({"columnMapping.mode": "id"}, (), tuple(range(12))),
    "mapped_and_deleted": (
        {"columnMapping.mode": "name", "enableDeletionVectors": "true", "by": "PARTITIONED BY (k)"},
        ("ALTER TABLE {t} RENAME COLUMN id TO number", "ALTER TABLE {t} RENAME COLUMN number TO id", "DELETE FROM {t} WHERE id = 4"),
        (0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11),
    ),
    "evolved": ({}, ("ALTER TABLE {t} ADD COLUMN more int", "INSERT INTO {t} VALUES (12, 0, 'n12', 7)"), tuple(range(13))),
    "updated": ({}, ("UPDATE {t} SET s = 'u' WHERE id = 3", "DELETE FROM {t} WHERE id = 1"), (0, *range(2, 12))),
}  # fmt: skip


# Another table has the feature of each of these, together with partitions or deletion vectors.
_LONG = {"plain", "deleted", "mapped", "mapped_by_id"}
_torture = pytest.mark.torture


@pytest.mark.parametrize("name", [pytest.param(name, marks=_torture if name in _LONG else ()) for name in TABLES])
def test_each_row_comes_from_its_record(laboratory: Laboratory, name: str) -> None:
    options, statements, ids = TABLES[name]
    path = made(laboratory, name, *statements, **options)
    frame = laboratory.spark.read.format("delta").load(path)
    assert traced(laboratory, frame, f"{name}_out") == each(*ids)
    assert traced(laboratory, frame.filter("id > 4"), f"{name}_some") == each(*(i for i in ids if i > 4))
    counted = traced(laboratory, frame.groupBy("k").count(), f"{name}_counted", key="k")
    assert counted == {k: {i for i in ids if i % 3 == k} for k in range(3)}


def asked(laboratory: Laboratory, dataset: str, where: str, **request: Any) -> Any:
    return asyncio.run(trace(None, laboratory.store, TENANT, TraceRequest(dataset=dataset, where=where, **request)))


def compared(laboratory: Laboratory, dataset: str, before: str, after: str) -> set[tuple[str, int]]:
    """The `id` of each record in which two versions differ."""
    request = DiffRequest(dataset=dataset, before=before, after=after, key=["id"])
    found = asyncio.run(diff(None, laboratory.store, TENANT, request))
    assert found.exact
    place = [name for name, _ in found.columns].index("id")
    return {(str(entry.change), (entry.after or entry.before).values[place]) for entry in found.entries}  # type: ignore[union-attr]


def test_an_earlier_version_is_read_as_it_was(laboratory: Laboratory) -> None:
    path = made(laboratory, "travelled", "UPDATE {t} SET s = 'new' WHERE id < 3")
    before = laboratory.spark.read.format("delta").option("versionAsOf", 2).load(path)
    assert traced(laboratory, before.filter("id < 2"), "before_out", values="s") == {0: {"n0"}, 1: {"n1"}}
    now = laboratory.spark.read.format("delta").load(path)
    assert traced(laboratory, now.filter("id < 2"), "now_out", values="s") == {0: {"new"}, 1: {"new"}}


@pytest.mark.slow
def test_a_table_is_asked_for_the_records_that_it_holds_now(laboratory: Laboratory) -> None:
    path = made(
        laboratory, "held", "DELETE FROM {t} WHERE id IN (2, 3, 9)", "UPDATE {t} SET s = 'u' WHERE id = 5", enableDeletionVectors="true"
    )
    frame = laboratory.spark.read.format("delta").load(path)
    assert set(traced(laboratory, frame, "held_out")) == {0, 1, 4, 5, 6, 7, 8, 10, 11}
    selected = {record.values["id"]: record.values["s"] for record in asked(laboratory, path, "id < 6", forward=True).selected}
    assert selected == {0: "n0", 1: "n1", 4: "n4", 5: "u"}  # the file still holds 2, 3 and the former 5
    forward = asked(laboratory, path, "id = 5", forward=True)
    assert [record.values["s"] for record in forward.records] == ["u"]
    assert forward.exact


@pytest.mark.slow
@pytest.mark.parametrize("vectors", ["true", pytest.param("false", marks=_torture)])
def test_a_trace_begins_with_the_rows_of_a_version(laboratory: Laboratory, vectors: str) -> None:
    path = made(
        laboratory, f"asked_{vectors}", "DELETE FROM {t} WHERE id IN (2, 9)", "UPDATE {t} SET s = 'u' WHERE id = 3",
        "ALTER TABLE {t} RENAME COLUMN s TO text", "OPTIMIZE {t}", **{"enableDeletionVectors": vectors, "columnMapping.mode": "name"},
        by="PARTITIONED BY (k)",
    )  # fmt: skip
    traced(laboratory, laboratory.spark.sql(f"SELECT id FROM delta.`{path}`"), f"read_asked_{vectors}")

    def held(where: str = "true", **asked: Any) -> list[tuple[int, str]]:
        answer = asyncio.run(trace(None, laboratory.store, TENANT, TraceRequest(**{"dataset": path, "where": where, **asked})))
        assert answer.as_of is not None
        return sorted((record.values["id"], record.values["text"]) for record in answer.selected)

    then = [(i, f"n{i}") for i in range(12)]
    left = [(i, "u" if i == 3 else f"n{i}") for i in range(12) if i not in (2, 9)]
    versions = {version: held(as_of=version) for version in ("0", "1", "2", "3", "4", "6")}
    assert versions == {
        "0": [], "1": then[:6], "2": then, "3": [row for row in then if row[0] not in (2, 9)], "4": left, "6": left,
    }  # fmt: skip
    assert held("k = 0 AND text = 'n3'", dataset=f"{path}@2") == [(3, "n3")]
    assert held(as_of="2999-01-01") == left
    for wrong in ("17", "main", "2000-01-01"):
        with pytest.raises(NotFoundError):
            held(as_of=wrong)
    assert compared(laboratory, path, "2", "3") == {("removed", 2), ("removed", 9)}
    assert compared(laboratory, path, "3", "4") == {("changed", 3)}
    assert compared(laboratory, path, "4", "6") == compared(laboratory, path, "4", "now") == set()  # OPTIMIZE moved rows, and changed none
    assert compared(laboratory, path, "6", "1") == {("added", 2), ("changed", 3), *(("removed", i) for i in range(6, 12) if i != 9)}


@pytest.mark.slow
@pytest.mark.parametrize("form", [pytest.param("json", marks=_torture), "parquet"])
def test_checkpoints_of_version_2_are_read(laboratory: Laboratory, form: str) -> None:
    laboratory.spark.conf.set("spark.databricks.delta.checkpointV2.topLevelFileFormat", form)
    path = made(
        laboratory, f"checkpointed_{form}", "DELETE FROM {t} WHERE id IN (2, 9)", "INSERT INTO {t} VALUES (12, 0, 'n12')",
        by="PARTITIONED BY (k)", checkpointPolicy="v2", checkpointInterval="3", enableDeletionVectors="true",
    )  # fmt: skip
    laboratory.spark.conf.unset("spark.databricks.delta.checkpointV2.topLevelFileFormat")
    (checkpoint,) = Path(path, "_delta_log").glob("0*.checkpoint.*")
    assert checkpoint.suffix == f".{form}"
    for commit in Path(path, "_delta_log").glob("*.json"):  # as a table does away with them, in time
        if commit.name < checkpoint.name and commit != checkpoint:
            commit.unlink()
    traced(laboratory, laboratory.spark.sql(f"SELECT id FROM delta.`{path}`"), f"read_{form}")
    selected = {record.values["id"]: int(record.values["k"]) for record in asked(laboratory, path, "true", forward=True).selected}
    assert selected == {i: i % 3 for i in range(13) if i not in (2, 9)}


def test_vectors_of_every_kind_are_read(laboratory: Laboratory) -> None:
    table = f"delta.`{laboratory.folder}/many`"
    sql = laboratory.spark.sql
    sql(f"CREATE TABLE {table} (id bigint) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    sql(f"INSERT INTO {table} SELECT id FROM range(0, 200000, 1, 1)")
    sql(f"DELETE FROM {table} WHERE id % 2 = 0 OR id BETWEEN 70000 AND 90000 OR id > 190000")  # lists, bitmaps and runs
    laboratory.forget()
    frame = laboratory.spark.read.format("delta").load(f"{laboratory.folder}/many").filter("id % 9001 = 0")
    there = {id_ for id_ in range(0, 200_000, 9001) if not (id_ % 2 == 0 or 70_000 <= id_ <= 90_000 or id_ > 190_000)}
    assert traced(laboratory, frame, "many_out") == each(*there)
    selected = asked(laboratory, f"{laboratory.folder}/many", "id % 9001 = 0", forward=True, limit=100).selected
    assert {record.values["id"] for record in selected} == there


@pytest.mark.slow
def test_a_table_read_in_rows_and_beside_itself(laboratory: Laboratory) -> None:
    path = made(laboratory, "rows", "DELETE FROM {t} WHERE id = 2", enableDeletionVectors="true")
    frame = laboratory.spark.read.format("delta").load(path)
    joined = frame.alias("a").join(frame.alias("b"), "k").selectExpr("a.id * 100 + b.id AS pair", "a.id AS id", "b.id AS other")
    found = traced(laboratory, joined, "beside_out", key="pair")
    assert found == {a * 100 + b: {a, b} for a in range(12) for b in range(12) if a % 3 == b % 3 and 2 not in (a, b)}
    for name in ("spark.sql.parquet.enableVectorizedReader", "spark.databricks.delta.deletionVectors.useMetadataRowIndex"):
        laboratory.spark.conf.set(name, "false")
        try:
            assert traced(laboratory, frame, f"{name[-9:]}_out") == each(0, 1, *range(3, 12))
        finally:
            laboratory.spark.conf.unset(name)


@pytest.mark.slow
def test_what_is_not_followed_is_refused_by_name(laboratory: Laboratory) -> None:
    path = made(laboratory, "fed", "DELETE FROM {t} WHERE id = 2", enableChangeDataFeed="true")
    frame = laboratory.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1).load(path)
    frame.drop("_commit_timestamp").write.parquet(f"{laboratory.folder}/fed_out")
    capture = laboratory.captured()
    assert (capture["status"], capture["problems"][0]["operator"]) == ("refused", "DeltaCDFRelation")
