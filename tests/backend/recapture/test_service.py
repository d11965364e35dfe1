"""What a recapture starts, and what it leaves behind: programs without Spark, from whose captures nothing can be kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from headwater.backend.delivery import LogDelivery
from headwater.backend.projection import fold
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.recapture.pairs import DiffersError
from headwater.backend.recapture.service import Recaptures
from headwater.backend.replay.runner import ReplayFailedError
from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.stores.sqlite import SqliteStore
from headwater.spark_listener.registry import Program, Registry
from tests.backend.events import facet, run_event
from tests.graph.jobs import TENANT

APPLICATION, RUN = "0190a6f2-0000-7000-8000-00000000000a", "0190a6f2-0000-7000-8000-00000000000b"
# What Spark would do in its place: it writes into the shadow that its order names.
PROGRAM = """
import json, os, pathlib, sys
order = json.loads(pathlib.Path(os.environ["HEADWATER_REPLAY"]).read_text())
told = {{name: value for name, value in os.environ.items() if name.startswith(("HEADWATER_", "OPENLINEAGE_", "TZ"))}}
pathlib.Path({marker!r}).write_text(json.dumps({{"order": order, "told": told, "argv": sys.argv[1:]}}))
out = pathlib.Path(order["shadow"] + {out!r})
out.mkdir(parents=True)
(out / "part-00000").write_text({content!r})
(out / "_SUCCESS").touch()
{then}
"""


class Recapturing:
    """A home in whose graph a run wrote `out`."""

    def __init__(self, folder: Path, graph: SqliteStore) -> None:
        (folder / "home").mkdir()
        self.folder, self.graph = folder, graph
        self.out, self.marker, self.replays = folder / "data" / "out", folder / "it-ran", folder / "home" / "replays"
        self.dataset = node_id(NodeKind.DATASET, "file", str(self.out))
        self.registry = Registry(folder / "home")
        self.records = AssociationStore(folder / "home" / "associations", sources=DataRoots.of([folder / "data"], never=[folder / "home"]))
        nothing = cast("LogDelivery", None)  # whoever would deliver something fails
        self.service = Recaptures(self.replays, graph, self.registry, self.records, nothing)

    async def wrote(self) -> None:
        """The run: it began, wrote the file, and ended."""
        began = datetime.now(UTC).isoformat()
        self.out.mkdir(parents=True)
        (self.out / "part-00000").write_text("same")
        output = {"namespace": "file", "name": str(self.out)}
        parent = facet(run={"runId": APPLICATION}, job={"namespace": "team", "name": "app"})
        job = {"namespace": "team", "name": "app.save.out"}
        run = {"runId": RUN, "facets": {"parent": parent}}
        events = [
            run_event(
                eventType="START",
                eventTime=began,
                run={"runId": APPLICATION},
                job={"namespace": "team", "name": "app"},
                inputs=[],
                outputs=[],
            ),
            run_event(eventType="START", eventTime=began, run=run, job=job, inputs=[], outputs=[output]),
            run_event(eventType="COMPLETE", eventTime=datetime.now(UTC).isoformat(), run=run, job=job, inputs=[], outputs=[output]),
        ]
        for number, event in enumerate(events):
            await fold(self.graph, TENANT, [project_event(event, event_stamp(event, str(number)))])

    def register(self, *, content: str = "same", then: str = "", **environment: str) -> Path:
        script = self.folder / "job.py"
        script.write_text(PROGRAM.format(marker=str(self.marker), out=str(self.out), content=content, then=then))
        digest = hashlib.sha256(script.read_bytes()).hexdigest()
        program = Program(
            namespace="team", job="app", argv=["job.py", "--day", "1"], script=str(script), script_sha256=digest,
            working_directory=str(self.folder), environment=environment,
        )  # fmt: skip
        self.registry.register(program, APPLICATION)
        return script

    def seen(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.marker.read_text())
        return found


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Recapturing]:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    found = Recapturing(tmp_path, graph)
    await found.wrote()
    yield found
    found.registry.close()
    found.records.close()
    await graph.close()


async def test_what_is_not_registered_changed_or_gone_is_not_run(here: Recapturing) -> None:
    with pytest.raises(UnsupportedError, match=r"job app \(namespace team\) is not registered on this home"):
        await here.service.plan(TENANT, here.dataset)
    script = here.register()
    plan = await here.service.plan(TENANT, here.dataset)
    assert (plan.invocation.script, plan.run.run_id) == (str(script), RUN)
    script.write_text("pass")
    with pytest.raises(UnsupportedError, match="has changed since it was registered"):
        await here.service.plan(TENANT, here.dataset)
    with pytest.raises(UnsupportedError, match="has changed since it was registered"):
        await here.service.run(TENANT, plan)
    (here.out / "part-00000").unlink()
    with pytest.raises(NotFoundError, match="holds no file of data any more"):
        await here.service.plan(TENANT, here.dataset)
    assert not here.marker.exists()
    assert list(here.replays.iterdir()) == []


async def test_an_output_on_remote_storage_is_refused(here: Recapturing) -> None:
    with pytest.raises(UnsupportedError, match="on no local disk"):
        await here.service.plan(TENANT, node_id(NodeKind.DATASET, "s3://lake", "out"))


async def test_the_program_runs_with_capture_in_a_home_of_its_own_and_without_recorded_lineage_nothing_is_kept(here: Recapturing) -> None:
    here.register(TZ="UTC", HEADWATER_URL="http://127.0.0.1:9", OPENLINEAGE_URL="http://127.0.0.1:9")
    plan = await here.service.plan(TENANT, here.dataset)
    with pytest.raises(UnsupportedError, match="could not be captured: the second run recorded nothing of it"):
        await here.service.run(TENANT, plan)
    seen = here.seen()
    assert (seen["order"]["captures"], seen["order"]["exclude"], seen["argv"]) == (True, {}, ["--day", "1"])
    place = Path(seen["order"]["shadow"]).parent
    assert place.parent == here.replays
    assert seen["told"] == {
        "HEADWATER_HOME": str(place / "home"), "HEADWATER_MODE": "active", "HEADWATER_RDD_RECORDS": "true",
        "HEADWATER_REPLAY": str(place / "order.json"), "TZ": "UTC",
    }  # fmt: skip
    assert list(here.replays.iterdir()) == []
    assert (here.out / "part-00000").read_text() == "same"


async def test_a_difference_is_named_and_nothing_is_left(here: Recapturing) -> None:
    here.register(content="other")
    plan = await here.service.plan(TENANT, here.dataset)
    with pytest.raises(DiffersError, match=r"out/part-00000 holds other bytes"):
        await here.service.run(TENANT, plan)
    assert list(here.replays.iterdir()) == []


async def test_of_a_program_that_fails_the_log_is_left_alone(here: Recapturing) -> None:
    here.register(then="raise LookupError('the day')")
    plan = await here.service.plan(TENANT, here.dataset)
    with pytest.raises(ReplayFailedError, match=r"(?s)job.py ended with exit code 1: .*LookupError: the day"):
        await here.service.run(TENANT, plan)
    (place,) = here.replays.iterdir()
    assert {path.name for path in place.iterdir()} == {"program.log", "order.json"}
