"""Runs in the graph, with their job and their pipeline."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import error_message_run, parent_run, schema_dataset
from openlineage.client.serde import Serde

from headwater.backend.projection import event_stamp, project_event
from headwater.errors import InvalidEventError
from headwater.graph.model import EdgeKind
from headwater.graph.views.former_flows import find_former_flows
from tests.backend.projection.events import JOB_ID, RUN, RUN_ID, dataset, graph_of, run_event

PARENT = {
    "run": {"runId": "0198C0DE-0000-7000-8000-00000000000A"},
    "job": {"namespace": "airflow", "name": "daily"},
    "root": {"run": {"runId": "0198c0de-0000-7000-8000-00000000000b"}, "job": {"namespace": "airflow", "name": "all"}},
}


async def test_an_event_of_the_official_client_is_understood(tmp_path: Path) -> None:
    parent = parent_run.ParentRunFacet(parent_run.Run("0198c0de-0000-7000-8000-00000000000a"), parent_run.Job("airflow", "daily"))
    error = error_message_run.ErrorMessageRunFacet("no such file", "PYTHON", "Traceback …")
    schema = schema_dataset.SchemaDatasetFacet([schema_dataset.SchemaDatasetFacetFields("wind", "double")])
    event = RunEvent(
        eventType=RunState.FAIL,
        eventTime="2026-01-01T00:00:05+00:00",
        run=Run(RUN, {"errorMessage": error, "parent": parent}),
        job=Job("flights", "daily.report"),
        producer="https://example.org/producer",
        inputs=[InputDataset("file", "/weather", facets={"schema": schema})],
        outputs=[OutputDataset("file", "/report")],
    )
    async with graph_of(tmp_path, Serde.to_dict(event)) as graph:
        run = await graph.node(RUN_ID)
        assert {name: run.properties[name] for name in ("state", "error", "endedAt", "parentRun")} == {
            "state": "FAIL",
            "error": "no such file",
            "endedAt": "2026-01-01T00:00:05.000000Z",
            "parentRun": "run:0198c0de-0000-7000-8000-00000000000a",
        }
        assert run.properties["errorMessage"]["stackTrace"] == "Traceback …"
        assert await graph.arcs(EdgeKind.READS) == {("dataset:file:/weather", JOB_ID)}
        assert ("dataset:file:/weather", "column:file:/weather:wind") in await graph.arcs(EdgeKind.CONTAINS)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_a_run_ends_in_its_last_state_whatever_the_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Even where the clock of the end is behind that of the start."""
    events = [run_event("START", 20), run_event("RUNNING", 30), run_event("COMPLETE", 10)]
    async with graph_of(tmp_path, *(events[index] for index in order)) as graph:
        run = await graph.node(RUN_ID)
    assert {name: run.properties[name] for name in ("state", "startedAt", "endedAt", "updatedAt")} == {
        "state": "COMPLETE",
        "startedAt": "2026-01-01T00:00:20.000000Z",
        "endedAt": "2026-01-01T00:00:10.000000Z",
        "updatedAt": "2026-01-01T00:00:30.000000Z",
    }


async def test_the_first_start_and_the_last_end_stay(tmp_path: Path) -> None:
    events = [run_event("START", 2), run_event("START", 1), run_event("START", 3), run_event("FAIL", 5), run_event("COMPLETE", 4)]
    async with graph_of(tmp_path, *events) as graph:
        run = await graph.node(RUN_ID)
    assert (run.properties["startedAt"], run.properties["state"]) == ("2026-01-01T00:00:01.000000Z", "FAIL")


@pytest.mark.parametrize("kind", ["OTHER", None])
async def test_other_events_add_facets_but_no_state(tmp_path: Path, kind: str | None) -> None:
    async with graph_of(
        tmp_path, run_event("START", 1), run_event(kind, 2, facets={"spark_properties": {"properties": {"a": "b"}}})
    ) as graph:
        run = await graph.node(RUN_ID)
    assert (run.properties["state"], run.properties["spark_properties"]) == ("START", {"properties": {"a": "b"}})


async def test_pipelines_contain_the_job_and_the_job_its_run(tmp_path: Path) -> None:
    async with graph_of(tmp_path, run_event("START", 1), run_event("COMPLETE", 2, facets={"parent": PARENT})) as graph:
        assert await graph.containers(RUN_ID) == [
            JOB_ID,
            "pipeline:airflow:daily",
            "pipeline:airflow:all",
            "system:flights",
            "system:airflow",
        ]
        run = await graph.node(RUN_ID)
        assert run.properties["rootRun"] == "run:0198c0de-0000-7000-8000-00000000000b"
        assert (await graph.node(JOB_ID)).properties["lastRun"] == RUN_ID


async def test_a_job_remembers_its_last_run_and_the_last_that_succeeded(tmp_path: Path) -> None:
    later = run_event("FAIL", 3) | {"run": {"runId": "0198c0de-0000-7000-8000-00000000000c", "facets": {}}}
    async with graph_of(tmp_path, later, run_event("COMPLETE", 2)) as graph:
        job = await graph.node(JOB_ID)
        assert job.properties["lastRun"] == "run:0198c0de-0000-7000-8000-00000000000c"
        assert job.properties["lastComplete"] == RUN_ID


async def test_a_parent_that_is_its_own_root_is_one_pipeline(tmp_path: Path) -> None:
    parent = PARENT | {"root": {"run": PARENT["run"], "job": PARENT["job"]}}
    async with graph_of(tmp_path, run_event(facets={"parent": parent})) as graph:
        assert ("pipeline:airflow:daily", "pipeline:airflow:daily") not in await graph.arcs(EdgeKind.CONTAINS)
        assert await graph.containers(JOB_ID) == ["pipeline:airflow:daily", "system:flights", "system:airflow"]


async def test_facets_nobody_knows_are_kept_and_take_no_name_of_ours(tmp_path: Path) -> None:
    facets = {
        "headwater_capture": {"status": "complete"},
        "headwater_invocation": {"argv": ["a.py"]},
        "x_y": {"deep": [1, {"a": None}]},
        "state": {"a": 1},
    }
    event = run_event("COMPLETE", 1, facets=facets | {"by:me": {"b": 2}})
    async with graph_of(tmp_path, event) as graph:
        properties = (await graph.node(RUN_ID)).properties
    assert {name: properties[name] for name in ("headwater_capture", "headwater_invocation", "x_y", "facet:state", "facet:by:me")} == {
        "headwater_capture": {"status": "complete"},
        "headwater_invocation": {"argv": ["a.py"]},
        "x_y": {"deep": [1, {"a": None}]},
        "facet:state": {"a": 1},
        "facet:by:me": {"b": 2},
    }
    assert properties["state"] == "COMPLETE"


async def test_a_facet_that_is_deleted_goes(tmp_path: Path) -> None:
    owned = {"ownership": {"owners": [{"name": "team"}]}}
    gone = {"ownership": {"_deleted": True}}
    async with graph_of(
        tmp_path, run_event(second=2, outputs=[dataset("/out", facets=gone)]), run_event(second=1, outputs=[dataset("/out", facets=owned)])
    ) as graph:
        assert "ownership" not in (await graph.node("dataset:file:/out")).properties


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"eventTime": "2026-01-01T00:00:00Z"}, "$"),
        (run_event() | {"run": {}}, "$.run.runId"),
        (run_event() | {"run": None}, "$.run.runId"),
        (run_event() | {"job": {"namespace": "x"}}, "$.job.name"),
        (run_event(outputs=[dataset("/a"), {"name": "/b"}]), "$.outputs[1].namespace"),
        (run_event(inputs=[{"namespace": 3, "name": "/b"}]), "$.inputs[0].namespace"),
        ({"dataset": {}}, "$.dataset.namespace"),
    ],
)
def test_an_event_that_names_nothing_is_refused_by_field(event: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidEventError) as refusal:
        project_event(event, event_stamp(run_event(), "k"))
    assert refusal.value.field == field


@pytest.mark.parametrize("time", [None, "", "soon", 7])
def test_an_event_without_a_time_has_no_stamp(time: object) -> None:
    with pytest.raises(InvalidEventError) as refusal:
        event_stamp({"eventTime": time}, "k")
    assert refusal.value.field == "$.eventTime"


async def test_a_committed_replay_replaces_a_version_and_is_not_the_last_run_of_its_job(tmp_path: Path) -> None:
    replay, old = "0198c0de-0000-7000-8000-0000000000ff", f"version:file:/report:{RUN}"
    output = {"namespace": "file", "name": "/report"}
    block = {"mode": "base", "writtenAt": "2026-01-02T00:00:00Z", "replaces": old, "replay": "a"}
    facets = {"headwater_replay": {"replaces": [RUN], "through": ["dataset:file:/raw", "job:x:y", 7]}}
    again = run_event(run=replay, second=9, facets=facets, outputs=[{**output, "facets": {"headwater_block": block}}])
    undo = run_event(
        "OTHER", run=replay, second=20, facets={"headwater_replay": {"replay": "a"}},
        outputs=[{**output, "facets": {"headwater_block": {"undoneAt": "2026-01-03T00:00:00Z"}}}],
    )  # fmt: skip
    async with graph_of(tmp_path, run_event(outputs=[output]), again, undo) as graph:
        assert {name: (await graph.node(JOB_ID)).properties[name] for name in ("lastRun", "lastComplete")} == {
            "lastRun": RUN_ID, "lastComplete": RUN_ID,
        }  # fmt: skip
        assert await graph.arcs(EdgeKind.REPLAYS) == {(RUN_ID, f"run:{replay}")}
        run = await graph.node(f"run:{replay}")
        assert [name for name in run.properties if name.startswith("input:")] == ["input:dataset:file:/raw"]
        version = (await graph.node(f"version:file:/report:{replay}")).properties
        assert {name: version[name] for name in ("writtenAt", "undoneAt", "replaces", "block")} == {
            "writtenAt": "2026-01-02T00:00:00.000000Z", "undoneAt": "2026-01-03T00:00:00.000000Z", "replaces": old, "block": "base",
        }  # fmt: skip
        assert ("dataset:file:/raw", JOB_ID) not in await graph.arcs(EdgeKind.READS)


async def test_a_job_keeps_the_flows_for_which_its_committed_replay_had_data_of_its_own(tmp_path: Path) -> None:
    clean, report, other = ({"namespace": "file", "name": name} for name in ("/clean", "/report", "/other"))
    facets = {"headwater_replay": {"replaces": [RUN], "alsoReads": ["dataset:file:/clean", 7], "alsoWrites": ["dataset:file:/other"]}}
    again = run_event(
        run="0198c0de-0000-7000-8000-0000000000ff",
        second=9,
        facets=facets,
        inputs=[{"namespace": "file", "name": "/raw"}],
        outputs=[report],
    )
    first = run_event(inputs=[clean, {"namespace": "file", "name": "/raw"}], outputs=[report, other])
    async with graph_of(tmp_path, first, again) as graph:
        assert await find_former_flows(graph.store, graph.tenant, [JOB_ID]) == set()
        run = await graph.node("run:0198c0de-0000-7000-8000-0000000000ff")
        assert [name for name in run.properties if name.startswith("input:")] == ["input:dataset:file:/raw"]
