"""Replays of an output that several runs of one job made: one run overwrote it, and a later one appended to it."""

import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import fold
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.rerun.replay import ReplayRequest
from headwater.backend.rerun.replay.invocations import upstream_of
from headwater.backend.rerun.replay.kinds import Sources
from headwater.backend.rerun.replay.results import dataset_differences
from headwater.backend.rerun.replay.service import Replays
from headwater.backend.rerun.replay.starting_point import find_starting_point
from headwater.errors import UnsupportedError
from headwater.graph.model import Edge, NodeKind, node_id
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from headwater.spark_listener.invocation import script_sha256
from headwater.spark_listener.registry import Program, Registry
from tests.backend.events import facet, run_event
from tests.captured import project_captures
from tests.graph.jobs import TENANT, Job
from tests.graph.trace.test_as_of import ran

FIRST, SECOND = "0190a6f2-0000-7000-8000-00000000000a", "0190a6f2-0000-7000-8000-00000000000b"


class Here:
    """A home with two runs of the job `copy`: the first read `1.csv`, the second read `2.csv` or, if it was not captured, `1.csv`."""

    def __init__(self, folder: Path, graph: SqliteStore) -> None:
        (folder / "home").mkdir()
        self.folder, self.graph = folder, graph
        self.data = folder / "data"
        self.roots = DataRoots.of([self.data], never=[folder / "home"])
        self.store, self.registry = AssociationStore(folder / "home" / "associations", sources=self.roots), Registry(folder / "home")
        self.replays = Replays(folder / "home" / "replays", graph, self._trace, self.registry, self.roots)
        self.runs: list[Job] = []

    async def _trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        return await trace(self.graph, self.store, tenant, request)

    async def ran(self, *applications: str, captures: int = 2) -> None:
        self.runs = [
            ran(self.store, self.data, 1, [["a", 1], ["b", 2]]),
            *([ran(self.store, self.data, 2, [["c", 3]], mode="append")] if captures == 2 else []),
        ]
        await project_captures(self.graph, self.store)
        script = self.folder / "job.py"
        script.write_text("")
        digest = script_sha256(str(script)) or ""
        ids = [*(run.run for run in self.runs), "0190a6f2-0000-7000-8000-00000000000c"]
        (entry, *_) = self.store.catalog.captures(TENANT)
        for number, application in enumerate(applications):
            parent = {"run": {"runId": application}, "job": {"namespace": "tests", "name": "pipeline"}}
            flows = [{"namespace": "file", "name": str(self.data / name)} for name in (f"raw/{min(number + 1, captures)}.csv", "out")]
            event = run_event(
                number, job={"namespace": entry.job_namespace, "name": entry.job_name},
                run={"runId": ids[number], "facets": {"parent": facet(**parent)}}, inputs=flows[:1], outputs=flows[1:],
            )  # fmt: skip
            await fold(self.graph, TENANT, [project_event(event, event_stamp(event, str(number)))])
            program = Program(
                namespace="tests", job="pipeline", argv=["job.py"], script=str(script), script_sha256=digest,
                working_directory=str(self.folder), environment={},
            )  # fmt: skip
            self.registry.register(program, application)

    def request(self, file: str, **changes: str | None) -> ReplayRequest:
        return ReplayRequest(**{"output": str(self.data / "out"), "dataset": str(self.data / "raw" / file), "where": "v > 0", **changes})


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    found = Here(tmp_path, graph)
    yield found
    found.registry.close()
    found.store.close()
    await graph.close()


async def test_records_that_only_an_earlier_run_read_are_refused_before_anything_runs(here: Here) -> None:
    await here.ran(FIRST, SECOND)
    reason = r"Several runs of the job \S+ made its output\. .* the latest, which did not read file:\S+/raw/1\.csv\. .*all of its inputs"
    requests = {
        "exclusive": here.request("1.csv"),
        "what-if": ReplayRequest(
            output=str(here.data / "out"), dataset=str(here.data / "raw" / "1.csv"), where="v > 0", set_values={"v": "7"}
        ),
        "selective": here.request("1.csv", dataset=None, where="k = 'a'"),
    }
    for kind, request in requests.items():
        for answer in (here.replays.dry_run, here.replays.start_kind):
            with pytest.raises(UnsupportedError, match=reason):
                await answer(TENANT, kind=kind, request=request)
    assert await here.replays.list(TENANT, 10) == []


async def test_records_that_the_latest_run_read_are_accepted(here: Here) -> None:
    await here.ran(FIRST, SECOND)
    planned = await here.replays.dry_run(TENANT, kind="exclusive", request=here.request("2.csv"))
    assert (len(planned.steps), planned.excluded) == (1, 1)


async def test_a_program_that_runs_one_job_several_times_is_accepted(here: Here) -> None:
    await here.ran(FIRST, FIRST)
    for file in ("1.csv", "2.csv"):
        assert len((await here.replays.dry_run(TENANT, kind="exclusive", request=here.request(file))).steps) == 1


async def test_a_latest_run_whose_files_are_not_known_is_accepted(here: Here) -> None:
    await here.ran(FIRST, SECOND, captures=1)
    assert len((await here.replays.dry_run(TENANT, kind="exclusive", request=here.request("1.csv"))).steps) == 1


async def test_the_starting_point_asks_for_the_files_of_a_run_once(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    await here.ran(FIRST, SECOND)
    upstream = await upstream_of(here.graph, TENANT, node_id(NodeKind.DATASET, "file", str(here.data / "out")))
    asked: list[str] = []
    neighbours = here.graph.neighbours

    async def count(tenant: str, ids: Sequence[str], **more: Any) -> list[Edge]:
        asked.extend(ids)
        return await neighbours(tenant, ids, **more)

    monkeypatch.setattr(here.graph, "neighbours", count)
    sources = Sources(TENANT, here.graph, here.roots, here._trace)
    start = await find_starting_point(upstream, {flow.application for flow in upstream.flows}, sources)
    assert len(start.datasets) == 2
    assert asked == [f"run:{here.runs[1].run}"]


@pytest.mark.parametrize("second", [SECOND, FIRST])
async def test_an_output_with_data_of_other_runs_is_not_committed(here: Here, second: str) -> None:
    await here.ran(FIRST, second)
    planned = here.replays.plan_kind(TENANT, kind="exclusive", request=here.request("2.csv"), commits=True)
    if second == FIRST:  # one program made all of it, and the replay repeats the program
        assert (await planned).joint == []
        return
    with pytest.raises(UnsupportedError, match=r"/out also has data of runs that the replay does not repeat"):
        await planned
    replay = await here.replays.plan_kind(TENANT, kind="exclusive", request=here.request("2.csv"))
    written = sorted(file.block.path for file in here.store.files(TENANT, here.runs[1].capture))
    assert replay.own_files == {node_id(NodeKind.DATASET, "file", str(here.data / "out")): written}
    assert replay.joint == list(replay.own_files)
    assert sum("Only the files of the repeated runs are compared" in note for note in replay.notes) == 1
    assert (await here.replays.dry_run(TENANT, kind="exclusive", request=here.request("2.csv"))).notes == replay.notes


async def test_only_the_data_of_the_repeated_run_is_compared(here: Here) -> None:
    await here.ran(FIRST, SECOND)
    replay = await here.replays.plan_kind(TENANT, kind="exclusive", request=here.request("2.csv"))
    _copy_files(replay.own_files[replay.output], Path(f"{replay.shadow}{here.data / 'out'}"))
    assert dataset_differences(replay, replay.output, here.roots, here.folder) == ([], 0)
    replay.own_files = {}
    with pytest.raises(UnsupportedError, match="which of its files the repeated runs wrote is not known"):
        dataset_differences(replay, replay.output, here.roots, here.folder)


def _copy_files(files: Sequence[str], folder: Path) -> None:
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file.removeprefix("file:"), folder)
    (folder / "_SUCCESS").touch()
