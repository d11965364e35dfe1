"""A home in whose graph a run wrote a folder of files, and a registered program that writes them again: without Spark."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from headwater.backend.ingest.spool_delivery import LogDelivery
from headwater.backend.projection import fold
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.rerun.recapture.service import Recaptures
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.stores.sqlite import SqliteStore
from headwater.spark_listener.registry import Program, Registry
from tests.backend.events import facet, run_event
from tests.graph.jobs import TENANT

APPLICATION, RUN = "0190a6f2-0000-7000-8000-00000000000a", "0190a6f2-0000-7000-8000-00000000000b"
# This replaces Spark: it writes into the shadow that its order names.
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

    async def wrote(self, out: Path | None = None, run_id: str = RUN, *, subset: dict[str, str] | None = None) -> None:
        """The run: it began, wrote the file, and ended. `subset` is the partition that it wrote."""
        began, folder = datetime.now(UTC).isoformat(), out or self.out
        folder.mkdir(parents=True)
        (folder / "part-00000").write_text("same")
        output: dict[str, Any] = {"namespace": "file", "name": str(folder)}
        if subset:
            condition = {"type": "partition", "partitions": [{"dimensions": subset}]}
            output["outputFacets"] = {"subset": facet(outputCondition=condition)}
        parent = facet(run={"runId": APPLICATION}, job={"namespace": "team", "name": "app"})
        job = {"namespace": "team", "name": f"app.save.{folder.name}"}
        run = {"runId": run_id, "facets": {"parent": parent}}
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
