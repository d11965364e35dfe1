"""A second run is proposed only if no known fact would make it fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import fold
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.rerun.recapture.candidates import recapturable
from headwater.graph.model import NodeKind, node_id
from headwater.graph.stores.sqlite import SqliteStore
from headwater.spark_listener.invocation import script_sha256
from headwater.spark_listener.registry import Program, Registry
from headwater.spark_listener.second_run import NO_RDD_RECORDS
from tests.backend.events import facet, run_event
from tests.graph.jobs import TENANT

APPLICATION, RUN = "0190a6f2-0000-7000-8000-00000000000a", "0190a6f2-0000-7000-8000-000000000100"
BY_MODE = {"operator": "auto", "reason": "it costs too much; mode active does it", "kind": "refused"}
NOT_COVERED = {"operator": "Generate", "reason": "not covered yet", "kind": "refused"}


class Home:
    """A program that read `in.txt` and wrote `out`, once."""

    def __init__(self, folder: Path, graph: SqliteStore) -> None:
        self.graph = graph
        self.output, self.input, self.script = folder / "out", folder / "in.txt", folder / "job.py"
        self.output.mkdir()
        for path in (self.input, self.script):
            path.write_text("x")
        (folder / "home").mkdir()
        self.registry = Registry(folder / "home")
        self.dataset = node_id(NodeKind.DATASET, "file", str(self.output))

    def register(self) -> None:
        sha256 = script_sha256(str(self.script)) or ""
        program = Program(
            namespace="team", job="app", argv=["job.py"], script=str(self.script), script_sha256=sha256, working_directory="/"
        )
        self.registry.register(program, APPLICATION)

    async def ran(self, *problems: dict[str, str], source: dict[str, Any] | None = None, streaming: bool = False, at: str = "2100") -> None:
        """The application began in the year `at`: whatever is there is older than one of 2100."""
        parent = facet(run={"runId": APPLICATION}, job={"namespace": "team", "name": "app"})
        capture = facet(status="refused", mode="auto", problems=list(problems))
        job: dict[str, Any] = {"namespace": "team", "name": "app.save.out"}
        if streaming:
            job["facets"] = {"jobType": facet(processingType="STREAMING", integration="SPARK", jobType="JOB")}
        inputs = [source or {"namespace": "file", "name": str(self.input)}]
        outputs = [{"namespace": "file", "name": str(self.output)}]
        run_facet = {"runId": RUN, "facets": {"parent": parent, "headwater_capture": capture}}
        events = [
            run_event(
                kind="START",
                job={"namespace": "team", "name": "app"},
                run={"runId": APPLICATION},
                eventTime=f"{at}-01-01T00:00:00Z",
                inputs=[],
                outputs=[],
            ),
            run_event(kind="START", job=job, run=run_facet, inputs=inputs, outputs=outputs, eventTime=f"{at}-01-01T00:00:01Z"),
            run_event(kind="COMPLETE", job=job, run=run_facet, inputs=inputs, outputs=outputs, eventTime=f"{at}-01-01T00:00:02Z"),
        ]
        for number, event in enumerate(events):
            await fold(self.graph, TENANT, [project_event(event, event_stamp(event, str(number)))])

    async def proposed(self, *, looks_at_files: bool = True) -> list[str]:
        elsewhere = [node_id(NodeKind.DATASET, "s3://b", "out"), node_id(NodeKind.DATASET, "file", "/nobody")]
        asked = [self.dataset, self.dataset, *elsewhere]
        return await recapturable(self.graph, TENANT, asked, self.registry, looks_at_files=looks_at_files)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    made = Home(tmp_path, graph)
    yield made
    made.registry.close()
    await graph.close()


@pytest.mark.parametrize("problems", [[], [BY_MODE], [NO_RDD_RECORDS]])
async def test_a_registered_program_is_proposed(home: Home, problems: list[dict[str, str]]) -> None:
    await home.ran(*problems)
    assert await home.proposed() == []
    home.register()
    assert await home.proposed() == [home.dataset]


@pytest.mark.parametrize(
    "ran",
    [
        {"streaming": True},
        {"source": {"namespace": "kafka://broker:9092", "name": "topic"}},
        {"source": {"namespace": "s3://bucket", "name": "in"}},
        {"source": {"namespace": "file", "name": "/lake/t", "facets": {"storage": facet(storageLayer="file", fileFormat="delta")}}},
    ],
)
async def test_a_stream_and_a_source_that_may_have_changed_are_not_proposed(home: Home, ran: dict[str, Any]) -> None:
    home.register()
    await home.ran(BY_MODE, **ran)
    assert await home.proposed(looks_at_files=False) == []


async def test_what_is_not_covered_in_any_mode_is_not_proposed(home: Home) -> None:
    home.register()
    await home.ran(BY_MODE, NOT_COVERED)
    assert await home.proposed() == []


async def test_a_program_that_has_changed_is_not_proposed(home: Home) -> None:
    home.register()
    await home.ran(BY_MODE)
    home.script.write_text("y")
    assert await home.proposed(looks_at_files=False) == []


async def test_inputs_that_have_changed_since_and_an_output_that_is_gone_are_seen_where_files_are_looked_at(home: Home) -> None:
    home.register()
    await home.ran(BY_MODE)
    home.output.rename(f"{home.output}.away")
    assert (await home.proposed(), await home.proposed(looks_at_files=False)) == ([], [home.dataset])


async def test_an_input_that_is_newer_than_the_application_is_not_proposed(home: Home) -> None:
    home.register()
    await home.ran(BY_MODE, at="2000")
    assert (await home.proposed(), await home.proposed(looks_at_files=False)) == ([], [home.dataset])
