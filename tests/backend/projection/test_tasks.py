"""The stages and tasks of a run from the manifest of its capture, and views that are opened to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import WrittenFile, capture_stamp, event_stamp, fold, project_capture, project_event
from headwater.backend.projection.tasks import MAX_TASKS
from headwater.errors import InvalidEventError, InvalidQueryError
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores import Direction
from headwater.graph.views import ViewOptions, view
from tests.backend.projection.events import JOB_ID, Graph, dataset, graph_of, run_event
from tests.backend.projection.test_captures import manifest

RUN = "0198c0de-0000-7000-8000-00000000000c"
LEFT, RIGHT, SMALL = "dataset:file:/lake/left", "dataset:file:/lake/right", "dataset:file:/lake/small"
SOURCES = {name: [WrittenFile(f"file:{name}/a", 7, 5, 0)] for name in ("/lake/left", "/lake/right", "/lake/small")}

# left ─ group (stage 1) ┐
#                        join ─ sink (stage 4)
# right ─ semi-join ─────┘
#   small ─ match (stage 2)
OPERATORS = [
    {"id": 0, "op": "Write", "children": [1]},
    {"id": 1, "op": "Join", "children": [2, 4]},
    {"id": 2, "op": "Aggregate", "children": [3]},
    {"id": 3, "op": "Scan", "children": [], "source": 0},
    {"id": 4, "op": "Join", "children": [5, 6]},
    {"id": 5, "op": "Scan", "children": [], "source": 1},
    {"id": 6, "op": "Scan", "children": [], "source": 2},
]
BOUNDARIES = [
    {"boundary": 0, "kind": "sink", "operator": 0},
    {"boundary": 1, "kind": "group", "operator": 2},
    {"boundary": 2, "kind": "match", "operator": 4},
]


def segment(boundary: int, stage: int, partition: int, attempt: int, *, again: int = 0, rows: int = 10) -> dict[str, Any]:
    return {
        "name": f"b{boundary}-s{stage}.{again}-p{partition}-a{attempt}.seg", "boundary": boundary, "stage": stage, "stage_attempt": again,
        "partition": partition, "attempt": attempt, "rows": rows, "bytes": 4 * rows, "sha256": "",
    }  # fmt: skip


def part(number: int, attempt: int | None) -> WrittenFile:
    return WrittenFile(f"file:/lake/out/part-{number}", 100, 9, 10, attempt)


def partition(number: int) -> str:
    return f"partition:file%3A/lake/out/part-{number}:100:9"


SEGMENTS = [segment(1, 1, 0, 11), segment(1, 1, 1, 12), segment(2, 2, 0, 21), segment(0, 4, 0, 41), segment(0, 4, 1, 42, rows=5)]
FILES = [part(0, 41), part(1, 42), part(2, 42)]
STAGE = {number: f"stage:capture-c:{number}" for number in (1, 2, 4)}
TASK = {number: f"task:capture-c:{number}" for number in (11, 12, 21, 41, 42)}


async def captured(graph: Graph, segments: list[dict[str, Any]] = SEGMENTS, files: list[WrittenFile] = FILES) -> None:
    recorded = {"operators": OPERATORS, "boundaries": BOUNDARIES, "segments": segments}
    stated = manifest(RUN, reads=SOURCES, writes="/lake/out", **recorded)
    stated["sources"] = [{**source, "source": number} for number, source in enumerate(stated["sources"])]
    await fold(graph.store, graph.tenant, [project_capture(stated, capture_stamp(stated, "key"), files)])


async def shown(graph: Graph, focus: str, **options: Any) -> tuple[set[tuple[str, str]], list[str]]:
    made = await view(graph.store, graph.tenant, ViewOptions(**options).request([focus]))
    return made.all_edges(), list(made.notes)


async def test_a_run_holds_stages_and_those_their_tasks(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await captured(graph)
        assert await graph.containers(TASK[42]) == [STAGE[4], f"run:{RUN}", "job:flights:job-c", "system:flights"]
        stage, task = await graph.node(STAGE[4]), await graph.node(TASK[42])
        assert (stage.name, stage.properties["tasks"], stage.properties["rows"]) == ("stage 4", 2, 15)
        assert (task.name, task.properties["files"]) == ("task 1", [partition(1), partition(2)])


async def test_data_comes_to_the_stage_that_records_it_first_and_goes_on_to_the_next(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await captured(graph)
        edges, notes = await shown(graph, "dataset:file:/lake/out", levels=[NodeKind.STAGE, NodeKind.DATASET])
        out = "dataset:file:/lake/out"
        assert edges == {
            (LEFT, STAGE[1]), (SMALL, STAGE[2]), (RIGHT, STAGE[4]), (STAGE[1], STAGE[4]), (STAGE[2], STAGE[4]), (STAGE[4], out),
        }  # fmt: skip
        assert notes == ["Downstream, runs that state an input without its version or files are missing."]


async def test_a_task_leads_to_the_files_that_it_wrote_alone(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await captured(graph)
        edges, _ = await shown(graph, partition(2), levels=[NodeKind.TASK, NodeKind.PARTITION], direction=Direction.UPSTREAM)
        assert (TASK[42], partition(2)) in edges
        assert {src for src, dst in edges if dst == STAGE[4]} >= {TASK[11], TASK[12], TASK[21]}
        assert TASK[41] not in {end for edge in edges for end in edge}


async def test_a_stage_and_a_task_can_be_looked_at_themselves(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await captured(graph)
        edges, _ = await shown(graph, TASK[41], direction=Direction.DOWNSTREAM)
        assert edges == {(TASK[41], partition(0))}
        edges, _ = await shown(graph, STAGE[1], levels=[NodeKind.STAGE, NodeKind.DATASET], direction=Direction.UPSTREAM)
        assert edges == {(LEFT, STAGE[1])}


async def test_a_version_that_is_shown_by_its_files_stands_not_beside_them_itself(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await captured(graph)
        made = await view(graph.store, graph.tenant, ViewOptions(levels=[NodeKind.PARTITION]).request(["dataset:file:/lake/out"]))
        joined = {end for edge in made.all_edges() for end in edge}
        assert set(made.node_ids()) == joined >= {partition(0), partition(1), partition(2)}
        assert {node.node.id for node in await made.nodes() if node.focus} == {partition(0), partition(1), partition(2)}
        by_version = await view(graph.store, graph.tenant, ViewOptions(levels=[NodeKind.VERSION]).request(["dataset:file:/lake/out"]))
        assert f"version:file:/lake/out:{RUN}" in {node.node.id for node in await by_version.nodes() if node.focus}


async def test_one_run_among_others_can_be_opened(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await captured(graph)
        edges, _ = await shown(graph, f"run:{RUN}", open=[f"run:{RUN}=stage"], levels=[NodeKind.RUN, NodeKind.DATASET])
        assert (LEFT, STAGE[1]) in edges


async def test_an_attempt_of_a_stage_is_a_stage_of_its_own(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await captured(graph, [*SEGMENTS, segment(1, 1, 1, 13, again=1)])
        assert (await graph.node("stage:capture-c:1.1")).properties["attempt"] == 1
        edges, _ = await shown(graph, "dataset:file:/lake/out", levels=[NodeKind.STAGE, NodeKind.DATASET])
        assert {(LEFT, "stage:capture-c:1.1"), ("stage:capture-c:1.1", STAGE[4])} <= edges


async def test_of_many_tasks_some_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    segments = [segment(1, 1, number, 1000 + number) for number in range(50)]
    segments += [segment(0, 4, number, 5000 + number) for number in range(MAX_TASKS + 30)]
    async with graph_of(tmp_path) as graph:
        await captured(graph, segments, [part(number, 5000 + number) for number in range(MAX_TASKS + 30)])
        stage = (await graph.node(STAGE[4])).properties
        assert (stage["tasks"], stage["shown"], len(stage["files"])) == (MAX_TASKS + 30, MAX_TASKS, 30)
        assert len(await graph.arcs(EdgeKind.CONTAINS)) < MAX_TASKS * 3
        levels = [NodeKind.TASK, NodeKind.PARTITION]
        edges, notes = await shown(graph, partition(MAX_TASKS + 1), levels=levels, direction=Direction.UPSTREAM)
        assert (STAGE[4], partition(MAX_TASKS + 1)) in edges
        assert (STAGE[1], STAGE[4]) in edges, "what reaches the stage through tasks that are not kept still does"
        assert "Of 280 tasks 200 are known one by one; what the others wrote is shown with their stages." in notes


def told(*stages: dict[str, Any], capture: str | None = None) -> dict[str, Any]:
    """The facets of an event about stages."""
    ledger = {"status": "refused", "mode": "auto", **({"capture": capture} if capture else {})}
    return {"headwater_capture": ledger, "headwater_stages": {"stages": list(stages), "leftOut": 0}}


def ran(stage: int, *tasks: dict[str, Any], parents: tuple[int, ...] = (), attempt: int = 0, **more: Any) -> dict[str, Any]:
    about = {"stage": stage, "attempt": attempt, "call": f"parquet at job.py:{stage}", "failed": 0, "parents": list(parents)}
    times = {"startedAt": "2026-01-01T00:00:00.000000Z", "endedAt": "2026-01-01T00:00:02.000000Z"}
    return {**about, "tasks": len(tasks), **times, "shown": list(tasks), **more}


def attempted(task: int, partition: int, state: str = "COMPLETE", again: int = 0) -> dict[str, Any]:
    return {"task": task, "partition": partition, "attempt": again, "state": state, "endedAt": "2026-01-01T00:00:01.000000Z"}


COARSE = [
    ran(0, attempted(1, 0, "FAIL"), attempted(2, 0, again=1), tasks=1, failed=1),
    ran(1, attempted(3, 0), attempted(4, 1)),
    ran(5, attempted(9, 0), parents=(1,)),
]


def coarse(*stages: dict[str, Any], job: str = "daily.report", **more: Any) -> dict[str, Any]:
    inputs = [dataset("/lake/left"), dataset("/lake/right")]
    return run_event(second=5, run=RUN, job=job, facets=told(*stages, **more), inputs=inputs, outputs=[dataset("/lake/out")])


async def test_a_run_without_a_capture_holds_the_stages_and_tasks_that_its_event_tells_of(tmp_path: Path) -> None:
    async with graph_of(tmp_path, coarse(*COARSE)) as graph:
        assert await graph.containers(f"task:{RUN}:9") == [f"stage:{RUN}:5", f"run:{RUN}", JOB_ID, "system:flights"]
        stage, task = await graph.node(f"stage:{RUN}:0"), await graph.node(f"task:{RUN}:1")
        assert (stage.name, stage.properties["tasks"], stage.properties["failed"]) == ("stage 0", 1, 1)
        assert stage.properties["call"] == "parquet at job.py:0"
        assert (task.name, task.properties["state"], task.properties["try"]) == ("task 0", "FAIL", 0)
        assert (await graph.node(f"stage:{RUN}:5")).properties["parents"] == [f"stage:{RUN}:1"]
        assert "headwater_stages" not in (await graph.node(f"run:{RUN}")).properties


async def test_the_way_through_a_run_without_a_capture_is_the_one_that_rows_were_shuffled(tmp_path: Path) -> None:
    async with graph_of(tmp_path, coarse(*COARSE)) as graph:
        edges, _ = await shown(graph, "dataset:file:/lake/out", levels=[NodeKind.STAGE, NodeKind.DATASET], direction=Direction.UPSTREAM)
        stage = {number: f"stage:{RUN}:{number}" for number in (0, 1, 5)}
        run = f"run:{RUN}"
        assert edges == {
            ("dataset:file:/lake/left", run), ("dataset:file:/lake/right", run), (run, stage[0]), (run, stage[1]),
            (stage[1], stage[5]), (stage[0], stage[5]), (stage[5], "dataset:file:/lake/out"),
        }  # fmt: skip
        edges, _ = await shown(graph, "dataset:file:/lake/out", levels=[NodeKind.TASK, NodeKind.DATASET], direction=Direction.UPSTREAM)
        ends = {end for edge in edges for end in edge}
        assert {f"task:{RUN}:{task}" for task in (2, 3, 4, 9)} <= ends
        assert f"task:{RUN}:1" not in ends, "an attempt that failed passed nothing on"


async def test_event_and_manifest_tell_of_the_same_stages_in_either_order(tmp_path: Path) -> None:
    stages = [ran(0, attempted(5, 0)), ran(1, attempted(11, 0), attempted(12, 1), parents=(0,)), ran(4, tasks=2, parents=(1,))]
    event = coarse(*stages, job="job-c", capture="capture-c")
    prints = []
    for order in (0, 1):
        folder = tmp_path / str(order)
        folder.mkdir()
        async with graph_of(folder) as graph:
            if order:
                await graph.add(event)
            await captured(graph)
            await graph.add(event)
            stage, task = await graph.node(STAGE[1]), await graph.node(TASK[11])
            assert (stage.properties["call"], stage.properties["rows"], stage.properties["tasks"]) == ("parquet at job.py:1", 20, 2)
            assert (task.properties["rows"], task.properties["state"]) == (10, "COMPLETE")
            assert await graph.containers("task:capture-c:5") == ["stage:capture-c:0", f"run:{RUN}", "job:flights:job-c", "system:flights"]
            edges, _ = await shown(graph, "dataset:file:/lake/out", levels=[NodeKind.STAGE, NodeKind.DATASET])
            assert (STAGE[1], STAGE[4]) in edges
            assert "stage:capture-c:0" not in {end for edge in edges for end in edge}, "it lies between those that recorded"
            prints.append(await graph.fingerprint())
    assert prints[0] == prints[1]


async def test_what_an_event_tells_of_stages_is_bounded(tmp_path: Path) -> None:
    many = [ran(number, *(attempted(1000 * number + task, task) for task in range(40))) for number in range(150)]
    async with graph_of(tmp_path, coarse(*many)) as graph:
        held = await graph.store.children(graph.tenant, f"run:{RUN}", kinds=[NodeKind.STAGE])
        assert held.total == 100
        assert (await graph.store.counts(graph.tenant))["task"] == MAX_TASKS


@pytest.mark.parametrize("stage", [{"stage": "1"}, {"stage": 1.5}, {"attempt": None}, {"parents": ["x"]}])
def test_a_stage_without_a_number_is_refused(stage: dict[str, Any]) -> None:
    event = coarse({**ran(1), **stage})
    with pytest.raises(InvalidEventError, match="whole numbers"):
        project_event(event, event_stamp(event, "key"))


async def test_a_run_that_recorded_nothing_stays_itself_and_has_no_such_level(tmp_path: Path) -> None:
    async with graph_of(tmp_path) as graph:
        await captured(graph, [], [part(0, None)])
        with pytest.raises(InvalidQueryError, match="no stage"):
            await shown(graph, "dataset:file:/lake/out", levels=[NodeKind.STAGE])
