"""Datasets that only failed runs were to write differ from datasets with content."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.graph.model import NodeKind, node_id
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.views import find_failed_writes
from tests.graph.views.history import APR, FEB, JAN, MAR, named, ran

TENANT = "t"
RUNS = [f"0198a1b2-0000-7000-8000-00000000000{number}" for number in range(8)]
OUT = node_id(NodeKind.DATASET, "file", "/out")


@pytest.mark.parametrize(
    ("ends", "is_unwritten"),
    [
        (["FAIL"], True),
        (["ABORT", "FAIL"], True),
        (["COMPLETE", "FAIL"], False),
        (["FAIL", "COMPLETE"], False),
        (["START"], False),
        (["FAIL", "START"], False),
    ],
)
async def test_a_dataset_is_unwritten_where_every_run_failed(ends: list[str], is_unwritten: bool, tmp_path: Path) -> None:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    for run, at, end in zip(RUNS, (JAN, FEB, MAR), ends, strict=False):
        for kind in dict.fromkeys(("START", end)):
            await ran(graph, TENANT, at, "job", run, [named("/in")], [named("/out")], kind)
    found = await find_failed_writes(graph, TENANT, [OUT, node_id(NodeKind.DATASET, "file", "/in"), node_id(NodeKind.JOB, "air", "job")])
    assert found == ({OUT} if is_unwritten else set())
    versions = [node_id(NodeKind.VERSION, "file", "/out", run) for run in RUNS[: len(ends)]]
    failed = {version for version, end in zip(versions, ends, strict=True) if end in ("FAIL", "ABORT")}
    assert await find_failed_writes(graph, TENANT, versions) == failed
    await graph.close()


async def test_data_that_a_completed_run_read_or_a_failed_run_counted_is_there(tmp_path: Path) -> None:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    await ran(graph, TENANT, JAN, "append", RUNS[0], [], [named("/old")], "FAIL")
    await ran(graph, TENANT, FEB, "report", RUNS[1], [named("/old")], [named("/report")])
    counted = {**named("/counted"), "outputFacets": {"outputStatistics": {"rowCount": 2000}}}
    await ran(graph, TENANT, MAR, "load", RUNS[2], [], [counted], "FAIL")
    assert await find_failed_writes(graph, TENANT, [node_id(NodeKind.DATASET, "file", name) for name in ("/old", "/counted")]) == set()
    await graph.close()


async def test_an_output_of_a_failed_run_is_told_apart_from_another_of_its_job(tmp_path: Path) -> None:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    await ran(graph, TENANT, JAN, "job", RUNS[0], [], [named("/lost")], "FAIL")
    await ran(graph, TENANT, FEB, "job", RUNS[1], [], [named("/out")])
    await ran(graph, TENANT, MAR, "other", RUNS[2], [named("/out")], [named("/out")], "FAIL")
    await ran(graph, TENANT, APR, "other", RUNS[3], [named("/out")], [named("/elsewhere")], "FAIL")
    names = ("/lost", "/out", "/elsewhere")
    found = await find_failed_writes(graph, TENANT, [node_id(NodeKind.DATASET, "file", name) for name in names])
    assert found == {node_id(NodeKind.DATASET, "file", name) for name in ("/lost", "/elsewhere")}
    await graph.close()
