"""The run that gets the lineage: the last that completed and wrote the dataset, with the registered program of its application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import fold
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.rerun.recapture.original_run import last_writer
from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.model import NodeKind, node_id
from headwater.graph.stores.sqlite import SqliteStore
from tests.backend.events import facet, run_event
from tests.graph.jobs import TENANT

APPLICATION = "0190a6f2-0000-7000-8000-00000000000a"
FIRST, SECOND, FAILED = (f"0190a6f2-0000-7000-8000-00000000010{number}" for number in range(3))
OUT = {"namespace": "file", "name": "/lake/out"}
DATASET = node_id(NodeKind.DATASET, "file", "/lake/out")
PARENT = facet(run={"runId": APPLICATION}, job={"namespace": "team", "name": "app"})


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(str(tmp_path / "graph.db"))
    await store.open()
    yield store
    await store.close()


async def told(graph: SqliteStore, *events: dict[str, Any]) -> None:
    for number, event in enumerate(events):
        await fold(graph, TENANT, [project_event(event, event_stamp(event, str(number)))])


def of_job(kind: str, run: str, time: str, *outputs: dict[str, str]) -> dict[str, Any]:
    job = {"namespace": "team", "name": "app.save.out"}
    run_facet = {"runId": run, "facets": {"parent": PARENT}}
    return run_event(eventType=kind, eventTime=f"2026-01-01T00:00:{time}Z", run=run_facet, job=job, inputs=[], outputs=list(outputs))


def of_application() -> dict[str, Any]:
    job = {"namespace": "team", "name": "app"}
    return run_event(eventType="START", eventTime="2026-01-01T00:00:00Z", run={"runId": APPLICATION}, job=job, inputs=[], outputs=[])


async def test_the_last_run_that_completed_and_wrote_there_is_taken(graph) -> None:
    await told(
        graph, of_application(), of_job("START", FIRST, "01", OUT), of_job("COMPLETE", FIRST, "02", OUT),
        of_job("START", SECOND, "03", OUT), of_job("COMPLETE", SECOND, "05", OUT),
        of_job("START", FAILED, "06", OUT), of_job("FAIL", FAILED, "07", OUT),
    )  # fmt: skip
    found = await last_writer(graph, TENANT, DATASET)
    assert (found.run_id, found.job, found.application) == (SECOND, ("team", "app.save.out"), f"run:{APPLICATION}")
    assert [time[17:19] for time in (found.began, found.started, found.ended)] == ["00", "03", "05"]
    assert found.ended_ms - found.began_ms == 5_000


async def test_a_run_of_the_job_that_wrote_another_dataset_is_not_taken(graph) -> None:
    await told(graph, of_application(), of_job("START", FIRST, "01", OUT), of_job("START", SECOND, "03"), of_job("COMPLETE", SECOND, "05"))
    with pytest.raises(NotFoundError, match="No run that completed"):
        await last_writer(graph, TENANT, DATASET)


def _part(day: int) -> dict[str, Any]:
    condition = {"type": "partition", "partitions": [{"dimensions": {"day": str(day)}}]}
    return {**OUT, "outputFacets": {"subset": facet(outputCondition=condition)}}


async def test_the_last_run_that_wrote_a_partition_is_taken_for_it(graph) -> None:
    await told(graph, of_application())
    for number, (run, day) in enumerate([(FIRST, 1), (SECOND, 2)]):
        await told(graph, of_job("START", run, f"{number}1", _part(day)), of_job("COMPLETE", run, f"{number}2", _part(day)))
    await told(graph, of_job("START", FAILED, "31", _part(1)), of_job("FAIL", FAILED, "32", _part(1)))
    assert [(await last_writer(graph, TENANT, DATASET, place)).run_id for place in ("day=1", "day=2", "day=2/hour=3", "")] == [
        FIRST, SECOND, SECOND, SECOND,
    ]  # fmt: skip
    with pytest.raises(NotFoundError, match="written day=3 of /lake/out"):
        await last_writer(graph, TENANT, DATASET, "day=3")


async def test_what_nobody_wrote_has_no_run(graph) -> None:
    with pytest.raises(NotFoundError, match="No run that completed"):
        await last_writer(graph, TENANT, DATASET)


async def test_a_run_of_which_the_times_are_not_known_is_refused(graph) -> None:
    await told(graph, of_job("COMPLETE", FIRST, "02", OUT))
    with pytest.raises(UnsupportedError, match="is not known"):
        await last_writer(graph, TENANT, DATASET)
