"""OPTIMIZE of Delta tables by record: a trace goes through it, to what each row was made of before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

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
    with delta_over_raw(tmp_path_factory.mktemp("delta"), compiled=False) as found:
        yield found


def made(laboratory: Laboratory, name: str, by: str, **properties: str) -> str:
    """A table of 24 rows in several files a partition."""
    path = str(laboratory.folder / name)
    listed = ", ".join(f"'delta.{key}' = '{value}'" for key, value in properties.items())
    sql = laboratory.spark.sql
    sql(f"CREATE TABLE delta.`{path}` (id int, k int, s string) USING delta {by} " + (f"TBLPROPERTIES ({listed})" if listed else ""))
    for begin in (0, 8, 16):
        insert = f"INSERT INTO delta.`{path}` SELECT * FROM raw WHERE id BETWEEN {begin} AND {begin + 7}"
        capture = written(laboratory, partial(sql, insert))
        assert capture["status"] == "complete", capture["problems"]
    return path


def files(capture: Mapping[str, Any]) -> set[str]:
    """The files that a capture wrote."""
    return {file["path"] for segment in capture["segments"] for file in segment.get("files", ())}


@pytest.mark.parametrize("by", [pytest.param("", marks=pytest.mark.torture), "PARTITIONED BY (k)"])
def test_a_trace_goes_through_a_compaction(laboratory: Laboratory, by: str) -> None:
    """Without partitions in the torture: other compactions here have none."""
    path = made(laboratory, f"compacted{len(by)}", by, enableDeletionVectors="true")
    before = rows(laboratory, path)
    laboratory.spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 5")
    capture = written(laboratory, lambda: laboratory.spark.sql(f"OPTIMIZE delta.`{path}`"))
    assert capture["status"] == "complete", capture["problems"]
    assert len(files(capture)) == (4 if by else 1)
    assert (capture["sink"]["mode"], capture["sink"]["version"]) == ("change", "5")
    assert rows(laboratory, path) == [row for row in before if row[0] != 5]
    left = range(1, 24, 3)
    assert behind(laboratory, path, left) == from_raw(*left)


@pytest.mark.slow
@pytest.mark.parametrize("mapped", [pytest.param(False, marks=pytest.mark.torture), True])
def test_the_witness_of_a_column_stays_narrow_through_a_compaction(laboratory: Laboratory, mapped: bool) -> None:
    path, sql = str(laboratory.folder / f"narrow{mapped}"), laboratory.spark.sql
    properties = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" if mapped else ""
    sql(f"CREATE TABLE delta.`{path}` (k int, most int, kinds bigint) USING delta {properties}")
    made = "SELECT k, max(id) AS most, count(DISTINCT s) AS kinds FROM raw WHERE id < 20 GROUP BY k"
    for statement in (f"INSERT INTO delta.`{path}` {made}", f"INSERT INTO delta.`{path}` SELECT 9, id, 1 FROM raw WHERE id = 30"):
        assert written(laboratory, partial(sql, statement))["status"] == "complete"
    if mapped:
        sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN most TO greatest")
    assert written(laboratory, lambda: sql(f"OPTIMIZE delta.`{path}`"))["status"] == "complete"
    laboratory.spark.read.format("delta").load(path).write.parquet(f"{path}-out")
    laboratory.take()
    column = "greatest" if mapped else "most"
    asked = TraceRequest(dataset=f"{path}-out", where="k < 9", column=column, semantics=Semantics.WITNESS)
    answer = asyncio.run(trace(None, laboratory.store, TENANT, asked))
    assert answer.exact, answer.incomplete
    assert sorted(record.values["id"] for record in answer.records) == [16, 17, 18, 19]


@pytest.mark.slow
def test_a_partition_of_many_files_is_compacted_in_parts(laboratory: Laboratory) -> None:
    path = made(laboratory, "parts", "")
    sizes = [file.stat().st_size for file in Path(path).glob("*.parquet")]
    before, setting = rows(laboratory, path), "spark.databricks.delta.optimize.maxFileSize"
    laboratory.spark.conf.set(setting, 2 * max(sizes) + 10)
    try:
        capture = written(laboratory, lambda: laboratory.spark.sql(f"OPTIMIZE delta.`{path}`"))
    finally:
        laboratory.spark.conf.unset(setting)
    assert capture["status"] == "complete", capture["problems"]
    assert 1 < len(files(capture)) < len(sizes)
    assert len(capture["sources"]) == 1
    assert rows(laboratory, path) == before
    assert behind(laboratory, path, range(0, 24, 2)) == from_raw(*range(0, 24, 2))


@pytest.mark.slow
def test_a_trace_goes_through_an_ordering_of_a_table(laboratory: Laboratory) -> None:
    path = made(laboratory, "ordered", "")
    capture = written(laboratory, lambda: laboratory.spark.sql(f"OPTIMIZE delta.`{path}` ZORDER BY (k, s)"))
    assert capture["status"] == "complete", capture["problems"]
    assert behind(laboratory, path, range(0, 24, 3)) == from_raw(*range(0, 24, 3))


@pytest.mark.slow
def test_a_compaction_that_follows_a_write_by_itself_is_said(laboratory: Laboratory) -> None:
    path = made(laboratory, "automatic", "")
    sql = laboratory.spark.sql
    sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')")
    laboratory.spark.conf.set("spark.databricks.delta.autoCompact.minNumFiles", 2)
    laboratory.forget()
    try:
        sql(f"INSERT INTO delta.`{path}` SELECT * FROM raw WHERE id > 40")
    finally:
        laboratory.spark.conf.unset("spark.databricks.delta.autoCompact.minNumFiles")
    capture = laboratory.captured()
    assert capture["status"] == "partial"
    assert [problem["operator"] for problem in capture["problems"]] == ["OPTIMIZE"]


@pytest.mark.slow
def test_a_compaction_that_has_nothing_to_do_is_no_capture(laboratory: Laboratory) -> None:
    path = made(laboratory, "small", "")
    assert written(laboratory, lambda: laboratory.spark.sql(f"OPTIMIZE delta.`{path}`"))["status"] == "complete"
    laboratory.forget()
    laboratory.spark.sql(f"OPTIMIZE delta.`{path}`")
    assert laboratory.bridge.flush(PATIENTLY)
    assert not [event for event in laboratory.bridge.drain(5_000) if event.get("capture")]


@pytest.mark.slow
def test_files_that_were_vacuumed_are_said(laboratory: Laboratory) -> None:
    path, out = f"{laboratory.folder}/swept", f"{laboratory.folder}/swept_out"
    with laboratory.without_capture():
        laboratory.spark.table("raw").write.format("delta").save(path)
    written(laboratory, lambda: laboratory.spark.read.format("delta").load(path).filter("id < 9").write.parquet(out))
    before = asked(laboratory, out, "id = 7")
    assert [record.values["s"] for record in before.records] == ["n7"]
    with laboratory.without_capture():
        laboratory.spark.sql(f"UPDATE delta.`{path}` SET s = 'u'")
        laboratory.spark.sql("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
        laboratory.spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
    request = TraceRequest(dataset=out, where="id = 7", semantics=Semantics.INFLUENCE)
    after = asyncio.run(trace(None, laboratory.store, TENANT, request))
    assert [(record.file, record.row) for record in after.records] == [(record.file, record.row) for record in before.records]
    assert not after.records[0].values
    (said,) = after.incomplete
    assert said.effect == "unreadable"
    assert "VACUUM deletes files that the table does not hold any more" in said.reason
