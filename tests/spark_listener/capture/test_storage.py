"""Storage that a trace cannot read: capture leaves nothing to be found again there, and records are traced by file and row, unseen.

A mount of Hadoop's view file system stands for an object store: another scheme, whose files lie on this disk so that the test can look.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.truth.published import publish
from headwater.errors import UnsupportedError
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from headwater.graph.trace.preview import preview
from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY

pytestmark = pytest.mark.spark

LAKE = "viewfs://lake/data"
ROWS = [{"id": n, "k": n % 7, "v": n % 11} for n in range(500)]

Grouped = Callable[..., dict[str, Any]]


@pytest.fixture
def grouped(spark: SparkSession, table: Any, tmp_path: Path) -> Grouped:
    """The capture of a group by from one folder into another, in a mode without a budget."""
    table("facts", ROWS)
    conf = spark._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.lake.link./data", f"file:{tmp_path}")
    conf.set("fs.viewfs.impl.disable.cache", "true")  # each test has a mount of its own
    number = iter(range(100))

    def run(mode: str, source: str, target: str, overwritten: Sequence[str] = ()) -> dict[str, Any]:
        session, place = spark.newSession(), next(number)
        bridge = Bridge.install(session, mode=mode, segments=str(tmp_path / "segments"), budget=math.inf, overwritten=overwritten)
        try:
            session.read.parquet(f"{source}/facts").groupBy("k").count().coalesce(1).write.parquet(f"{target}/out{place}")
            assert bridge.flush(PATIENTLY)
            (end,) = [event for event in bridge.drain(1000) if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
        finally:
            bridge.close()
        assert end["capture"]["status"] == "complete", end["capture"]["problems"]
        captured: dict[str, Any] = end["capture"]
        return captured

    return run


def _left(capture: dict[str, Any]) -> int:
    return sum("derived" in boundary for boundary in capture["boundaries"])


def test_groups_of_storage_that_a_trace_cannot_read_are_written(grouped: Grouped, tmp_path: Path) -> None:
    local = f"file:{tmp_path}"
    for mode in ("auto", "lazy"):
        assert _left(grouped(mode, local, local)) > 0
        assert _left(grouped(mode, local, LAKE)) > 0
        assert _left(grouped(mode, LAKE, local)) == 0
        assert _left(grouped(mode, LAKE, LAKE)) == 0


def test_groups_over_a_folder_that_a_known_job_overwrites_are_written(grouped: Grouped, tmp_path: Path) -> None:
    local = f"file:{tmp_path}"
    for overwritten in (f"{tmp_path}/facts", str(tmp_path), f"{tmp_path}/facts/part"):
        assert _left(grouped("auto", local, local, [overwritten])) == 0
    assert _left(grouped("auto", local, local, [f"{tmp_path}/fact", f"{tmp_path}/out"])) > 0


def test_records_of_it_are_traced_by_file_and_row_both_ways_and_values_are_said_to_be_missing(grouped: Grouped, tmp_path: Path) -> None:
    capture = grouped("auto", LAKE, LAKE)
    (out,) = {Path(path) for path in tmp_path.glob("out*/*.parquet")}
    written = pq.read_table(out).to_pylist()
    with closing(AssociationStore(tmp_path / "associations", sources=DataRoots.of(["/"]))) as store:
        publish(store, "default", capture, tmp_path / "segments")

        def ask(**request: Any) -> TraceAnswer:
            return asyncio.run(trace(None, store, "default", TraceRequest(**request)))

        dataset, file = f"{LAKE}/{out.parent.name}", f"{LAKE}/{out.parent.name}/{out.name}"
        answer = ask(dataset=dataset, rows=[(file, 3)])
        sources = {str(record.file): pq.read_table(tmp_path / Path(str(record.file)).relative_to(LAKE)) for record in answer.records}
        found = [sources[str(record.file)].to_pylist()[int(str(record.row))] for record in answer.records]
        assert sorted(row["id"] for row in found) == [row["id"] for row in ROWS if row["k"] == written[3]["k"]]
        assert answer.exact
        assert not any(record.values for record in (*answer.records, *answer.selected))
        assert {entry.effect for entry in answer.incomplete} == {"unreadable"}
        assert all("is not on a local file system" in entry.reason for entry in answer.incomplete)
        source = answer.records[0]
        forward = ask(dataset=f"{LAKE}/facts", rows=[(str(source.file), int(str(source.row)))], forward=True)
        assert [(record.file, record.row) for record in forward.records] == [(file, 3)]
        with pytest.raises(UnsupportedError, match=r"not on a local file system.*by file and row"):
            ask(dataset=dataset, where="k = 3")
        page = asyncio.run(preview(None, store, "default", dataset))
        assert (page.rows, page.total, "not on a local file system" in str(page.note)) == ((), 0, True)
