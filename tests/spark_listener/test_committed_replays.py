"""Replays that took the place of real data: their records are traced as exactly as those of an ordinary run, and an undo brings the old
lineage back."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.graph.model import EdgeKind
from headwater.graph.prov.export import export_dataset
from headwater.graph.prov.model import Kind
from headwater.graph.stores import Direction
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest
from headwater.graph.versions.blocks import list_blocks
from tests.spark_listener.spark import environment, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

# Parquet between the programs, CSV at the end. The sum without keys reads all records of its input.
CLEAN = """
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("Clean").getOrCreate()
    raw = spark.read.option("header", "true").schema("id int, k int, v int").csv("raw")
    raw.filter("v > 2").write.mode("overwrite").parquet("out/clean")
    spark.stop()
"""
REPORT = """
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("Report").getOrCreate()
    clean = spark.read.parquet("out/clean")
    sums = clean.groupBy("k").agg(F.sum("v").alias("total"))
    sums.join(clean.agg(F.count("*").alias("of")), F.lit(True), "cross").coalesce(1).write.mode("overwrite").csv("out/report", header=True)
    spark.stop()
"""
RAW = [(i, i % 3, i % 5) for i in range(1, 13)]
GROUP = {i for i, k, v in RAW if k == 0 and v > 2}
ALL = {i for i, _, v in RAW if v > 2}


class Pipeline:
    """A home in which both programs have run."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.home, self._environment = folder, folder / "home", environment(root)
        (folder / "raw").mkdir()
        (folder / "raw" / "a.csv").write_text("\n".join(["id,k,v", *(",".join(map(str, row)) for row in RAW), ""]))
        for name, text in (("clean.py", CLEAN), ("report.py", REPORT)):
            self.headwater("run", script(folder, name, text).name)

    def headwater(self, *arguments: str) -> str:
        command = ["-m", "headwater", arguments[0], "--home", str(self.home), *arguments[1:]]
        done = run(command, self.folder, self._environment)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def replay(self, *arguments: str) -> str:
        """Run a replay, commit it, and return its id."""
        return str(json.loads(self.headwater("replay", "out/report", *arguments, "--format", "json", "--commit"))["id"])

    def trace(self, dataset: str, where: str, **more: Any) -> TraceAnswer:
        async def ask() -> TraceAnswer:
            async with await Workspace.open(load_settings(home=self.home)) as workspace:
                await workspace.take_in()
                return await workspace.trace("default", TraceRequest(dataset=str(self.folder / dataset), where=where, **more))

        return asyncio.run(ask())

    def ids(self, answer: TraceAnswer) -> set[int]:
        """The ids of the records in an answer. They must all be records of the source."""
        assert {Path(record.file or "").name for record in answer.records} <= {"a.csv"}, answer
        return {int(record.values["id"]) for record in answer.records}

    def reached(self, answer: TraceAnswer) -> list[tuple[str, Any]]:
        return sorted((record.dataset.rpartition("/")[2], record.values.get("k")) for record in answer.records)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Pipeline:
    return Pipeline(tmp_path_factory.mktemp("committed"), root)


def test_a_committed_replay_is_traced_exactly_and_an_undo_brings_the_old_lineage_back(pipeline: Pipeline) -> None:
    forward_before = pipeline.trace("raw", "id = 3", forward=True)
    assert pipeline.ids(pipeline.trace("out/report", "k = 0")) == ALL
    before = datetime.now(UTC).isoformat()

    identifier = pipeline.replay("--without", "raw", "--where", "id = 3")
    answer = pipeline.trace("out/report", "k = 0")
    assert (answer.exact, pipeline.ids(answer)) == (True, ALL - {3})
    witness = pipeline.ids(pipeline.trace("out/report", "k = 0", column="total", semantics=Semantics.WITNESS))
    assert (GROUP - {3} <= witness, 3 in witness) == (True, False)  # and one record of the count, without which there is no row
    forward = pipeline.trace("raw", "id = 3", forward=True, to=str(pipeline.folder / "out/report"))
    assert (forward.exact, list(forward.records)) == (True, [])
    between = pipeline.trace("out/report", "k = 0", to=str(pipeline.folder / "out/clean"))
    assert (between.exact, {record.values["id"] for record in between.records}) == (True, ALL - {3})
    assert {Path(record.file or "").parent.name for record in between.records} == {f"clean.replay-{identifier[:12]}"}
    from_between = pipeline.trace("out/clean", "id = 9", forward=True, to=str(pipeline.folder / "out/report"))
    assert (from_between.exact, [entry.effect for entry in from_between.incomplete][-1]) == (False, "missing")
    kept = pipeline.trace("raw", "id = 9", forward=True, to=str(pipeline.folder / "out/report"))
    assert (kept.exact, pipeline.reached(kept)) == (True, [("report", 0), ("report", 1), ("report", 2)])
    earlier = pipeline.trace("out/report", "k = 0", as_of=before)
    assert (earlier.exact, pipeline.ids(earlier)) == (True, ALL)

    pipeline.headwater("replay", "undo", identifier)
    back = pipeline.trace("out/report", "k = 0")
    assert (back.exact, pipeline.ids(back)) == (True, ALL)
    now = pipeline.trace("out/report", "k = 0", as_of=datetime.now(UTC).isoformat())
    assert (now.exact, pipeline.ids(now)) == (True, ALL)
    again = pipeline.trace("raw", "id = 3", forward=True)
    assert (again.exact, list(again.records)) == (True, list(forward_before.records))
    assert [hop.run for hop in again.path] == [hop.run for hop in forward_before.path]


@pytest.mark.slow
def test_edited_records_are_stated_and_the_version_is_a_revision(pipeline: Pipeline) -> None:
    pipeline.replay("--edit", "raw", "--where", "id = 9", "--set", "v = 40")
    pipeline.replay("--edit", "raw", "--where", "id = 3", "--set", "v = 40")  # a later replay repeats the registered program
    answer = pipeline.trace("out/report", "k = 0", column="total", semantics=Semantics.WITNESS)
    assert (answer.exact, pipeline.ids(answer) >= GROUP) == (True, True)
    file = (pipeline.folder / "raw" / "a.csv").as_posix()
    stated = [(entry.what, entry.reason.partition(" read ")[2]) for entry in answer.incomplete]
    assert stated == [(f"file:{file}", 'record 2 with edited values: v = "40"')]
    asyncio.run(_check_graph(pipeline))


async def _check_graph(pipeline: Pipeline) -> None:
    async with await Workspace.open(load_settings(home=pipeline.home)) as workspace:
        await workspace.take_in()
        graph, dataset = workspace.graph, f"dataset:file:{pipeline.folder}/out/report"
        first, edited, twice = await list_blocks(graph, "default", dataset)  # without the commit that was undone
        versions = {node.id: node.properties.get("replaces") for node in await graph.get("default", [edited.version, twice.version])}
        assert versions == {edited.version: first.version, twice.version: edited.version}
        replays = await graph.neighbours("default", [edited.run], direction=Direction.BOTH, kinds=[EdgeKind.REPLAYS])
        assert {(edge.src, edge.dst) for edge in replays} == {(first.run, edited.run), (edited.run, twice.run)}
        jobs = {node.properties.get("lastRun") for node in await graph.get("default", [f"job:default:{await _job(workspace, first.run)}"])}
        assert jobs == {first.run}
        export = await export_dataset(graph, "default", dataset)
        stated = {(each.kind, *(str(name).rpartition(":")[2] for name in each.args[:2])) for each in export.statements.buffer}
        pair = tuple(run.rpartition(":")[2] for run in (twice.run, edited.run))
        assert {(Kind.ALTERNATE, *pair), (Kind.DERIVATION, *pair)} <= stated
        assert not [node async for node in _datasets(workspace) if ".replay-" in node]


async def _job(workspace: Workspace, run_id: str) -> str:
    above = (await workspace.graph.ancestors("default", [run_id]))[run_id]
    return next(node.name for node in above if node.id.startswith("job:"))


async def _datasets(workspace: Workspace) -> Any:
    page = await workspace.graph.children("default", "platform:file", kinds=None, first=100)
    for node in page.nodes:
        yield node.id
