"""Captures in the graph, and how two captures find one another."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import WrittenFile, capture_stamp, fold, project_capture
from headwater.errors import InvalidCaptureError
from headwater.graph.model import EdgeKind
from tests.backend.projection.events import Graph, graph_of, run_event

CLEAN, REPORT = "0198c0de-0000-7000-8000-00000000000c", "0198c0de-0000-7000-8000-00000000000d"
FILE = WrittenFile("file:/lake/clean/part-0.parquet", 1_000, 1_700_000_000_000, 42)
PARTITION = "partition:file%3A/lake/clean/part-0.parquet:1000:1700000000000"


def manifest(run: str, *, reads: dict[str, list[WrittenFile]], writes: str, mode: str = "overwrite", **more: Any) -> dict[str, Any]:
    files = {
        name: [{"ordinal": 0, "path": file.path, "length": file.length, "modified": file.modified} for file in found]
        for name, found in reads.items()
    }
    return {
        "format": 1,
        "capture": f"capture-{run[-1]}",
        "run": {"namespace": "flights", "job": f"job-{run[-1]}", "runId": run},
        "started": "2026-01-01T00:00:00Z",
        "ended": "2026-01-01T00:00:09Z",
        "mode": "active",
        "status": "complete",
        "problems": [],
        "sources": [{"source": 0, "dataset": {"namespace": "file", "name": name}, "files": found} for name, found in files.items()],
        "operators": [
            {"id": 0, "op": "Write", "children": [1], "columns": [5]},
            {"id": 1, "op": "Scan", "children": [], "source": 0, "text": "FileScan csv"},
        ],
        "sink": {
            "boundary": 0,
            "dataset": {"namespace": "file", "name": writes},
            "path": f"file:{writes}",
            "format": "parquet",
            "mode": mode,
        },
    } | more


async def add(graph: Graph, document: dict[str, Any], *files: WrittenFile) -> None:
    await fold(graph.store, graph.tenant, [project_capture(document, capture_stamp(document, document["capture"]), files)])


async def test_a_version_says_what_was_written_and_contains_its_files(tmp_path: Path) -> None:
    source = WrittenFile("file:/data/weather.csv", 77, 5, 0)
    async with graph_of(tmp_path) as graph:
        await add(graph, manifest(CLEAN, reads={"/data/weather.csv": [source]}, writes="/lake/clean"), FILE)
        version = f"version:file:/lake/clean:{CLEAN}"
        assert (await graph.node(version)).properties == {
            "block": "base",
            "path": "file:/lake/clean",
            "format": "parquet",
            "capture": "capture-c",
            "writtenAt": "2026-01-01T00:00:09.000000Z",
            "files": 1,
            "bytes": 1_000,
            "rows": 42,
        }
        partition = await graph.node(PARTITION)
        assert (partition.name, partition.properties) == (
            "part-0.parquet",
            {"path": FILE.path, "length": 1_000, "modified": FILE.modified, "rows": 42},
        )
        assert await graph.containers(PARTITION) == [version, "dataset:file:/lake/clean", "platform:file"]
        assert await graph.containers("partition:file%3A/data/weather.csv:77:5") == ["dataset:file:/data/weather.csv", "platform:file"]
        run = f"run:{CLEAN}"
        assert await graph.arcs(EdgeKind.WRITES) == {("job:flights:job-c", "dataset:file:/lake/clean"), (run, version), (run, PARTITION)}


async def test_a_run_contains_the_operators_of_its_plan_and_keeps_the_ledger(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await add(graph, manifest(CLEAN, reads={}, writes="/lake/clean", mode="append", cost={"rows": 3}))
        assert await graph.containers("operator:capture-c:1") == [f"run:{CLEAN}", "job:flights:job-c", "system:flights"]
        write, scan = await graph.node("operator:capture-c:0"), await graph.node("operator:capture-c:1")
        assert (write.name, write.properties["children"]) == ("Write", ["operator:capture-c:1"])
        assert scan.properties == {"op": "Scan", "text": "FileScan csv", "source": 0, "children": [], "ordinal": 1}
        assert (await graph.node(f"run:{CLEAN}")).properties["capture"]["cost"] == {"rows": 3}
        assert (await graph.node(f"version:file:/lake/clean:{CLEAN}")).properties["block"] == "delta"


WRITER = (manifest(CLEAN, reads={}, writes="/lake/clean"), FILE)
READER = (manifest(REPORT, reads={"/lake/clean": [FILE]}, writes="/lake/report"),)
OTHER = (
    manifest(
        "0198c0de-0000-7000-8000-00000000000e", reads={"/lake/clean": [WrittenFile(FILE.path, 1_000, FILE.modified + 1, 0)]}, writes="/x"
    ),
)


@pytest.mark.parametrize("order", list(itertools.permutations([WRITER, READER, OTHER])))
async def test_a_run_read_the_version_whose_file_it_read_whichever_came_first(tmp_path: Path, order: Any) -> None:
    """A file that was modified since belongs to no version that is known."""
    async with graph_of(tmp_path) as graph:
        for entry in (*order, order[0]):
            await add(graph, *entry)
        version = f"version:file:/lake/clean:{CLEAN}"
        assert {(src, dst) for src, dst in await graph.arcs(EdgeKind.READS) if src.startswith("version:")} == {(version, f"run:{REPORT}")}


async def test_the_order_of_manifests_and_events_leaves_no_trace(tmp_path: Path) -> None:
    events = [run_event("START", 1, run=REPORT, job="job-d"), run_event("COMPLETE", 8, run=REPORT, job="job-d")]
    prints = set()
    for order in itertools.permutations(range(4)):
        async with graph_of(tmp_path) as graph:
            for index in order:
                if index < 2:
                    await graph.add(events[index])
                else:
                    await add(graph, *(WRITER if index == 2 else READER))
            prints.add(await graph.fingerprint())
    assert len(prints) == 1


async def test_a_capture_that_was_refused_still_says_what_ran(tmp_path: Path) -> None:
    problems = [{"operator": "Generate", "reason": "not covered", "kind": "refused"}]
    document = manifest(CLEAN, reads={}, writes="/lake/clean", status="refused", problems=problems, sink=None, operators=[])
    async with graph_of(tmp_path) as graph:
        await add(graph, document)
        assert (await graph.node(f"run:{CLEAN}")).properties["capture"]["problems"] == problems


@pytest.mark.parametrize(
    ("damage", "field"),
    [
        ({"run": {"namespace": "flights", "job": "j"}}, "$.run.runId"),
        ({"capture": None}, "$.capture"),
        ({"sources": [{"dataset": {"namespace": "file"}}]}, "$.sources[0].dataset.name"),
        ({"sink": {"dataset": None}}, "$.sink.dataset.namespace"),
        ({"operators": [{"id": 0}]}, "$.operators[0].op"),
    ],
)
def test_a_manifest_that_names_nothing_is_refused_by_field(damage: dict[str, Any], field: str) -> None:
    document = manifest(CLEAN, reads={}, writes="/lake/clean")
    with pytest.raises(InvalidCaptureError) as refusal:
        project_capture(document | damage, capture_stamp(document, "k"))
    assert refusal.value.field == field


def test_a_manifest_without_its_end_has_no_stamp() -> None:
    with pytest.raises(InvalidCaptureError, match="ended"):
        capture_stamp({"ended": None}, "k")


async def test_a_scan_names_the_dataset_that_it_reads(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await add(graph, manifest(CLEAN, reads={"/lake/raw": [WrittenFile("file:/lake/raw/a", 7, 5, 0)]}, writes="/lake/clean"))
        assert (await graph.node("operator:capture-c:1")).properties["dataset"] == "dataset:file:/lake/raw"
        assert "dataset" not in (await graph.node("operator:capture-c:0")).properties


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_a_capture_by_a_second_run_stands_in_the_place_of_a_refused_one_whichever_comes_first(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    refused = manifest(CLEAN, reads={}, writes="/lake/clean", status="refused", capture="zz-refused")
    again = {"started": "2026-02-01T00:00:00Z", "ended": "2026-02-01T00:00:09Z"}
    found = manifest(CLEAN, reads={}, writes="/lake/clean", capture="aa-found", recaptured=again)
    async with graph_of(tmp_path) as graph:
        for number in order:
            await add(graph, (refused, found)[number], *([FILE] if number else []))
        ledger = (await graph.node(f"run:{CLEAN}")).properties["capture"]
        assert (ledger["capture"], ledger["status"], ledger["recaptured"]) == ("aa-found", "complete", again)
        assert (await graph.node(f"version:file:/lake/clean:{CLEAN}")).properties["capture"] == "aa-found"
