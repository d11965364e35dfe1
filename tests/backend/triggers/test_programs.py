"""Actions that run programs of the home."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.backend.events import facet, run_event
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.test_refusals import MANUAL, register

PROGRAM = """
import json, os, pathlib, sys
told = {name: value for name, value in os.environ.items() if name.startswith(("OPENLINEAGE_", "HEADWATER_"))}
pathlib.Path("it-ran").write_text(json.dumps({"told": told, "argv": sys.argv[1:]}))
"""


async def test_a_registered_program_runs_with_the_execution_as_its_parent(home: TriggeredHome, tmp_path: Path) -> None:
    register(home, tmp_path, text=PROGRAM)
    trigger = await home.create(MANUAL, {"run": {"job": "report"}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert (entry.execution.state, entry.execution.error) == ("complete", None)
    told = json.loads((tmp_path / "it-ran").read_text())["told"]
    assert told["OPENLINEAGE_PARENT_ID"] == f"headwater-triggers/t/{entry.execution.id}"
    assert "HEADWATER_REPLAY" not in told


async def test_the_end_of_a_failed_program_is_its_error(home: TriggeredHome, tmp_path: Path) -> None:
    register(home, tmp_path, text="raise SystemExit('no disk left')\n")
    trigger = await home.create(MANUAL, {"run": {"job": "report"}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert entry.execution.state == "failed"
    assert "no disk left" in str(entry.execution.error)


async def test_a_script_that_changed_meanwhile_does_not_run(home: TriggeredHome, tmp_path: Path) -> None:
    script = register(home, tmp_path, text=PROGRAM)
    trigger = await home.create(MANUAL, {"run": {"job": "report"}})
    script.write_text(PROGRAM + "\n# another")
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert "changed since it was registered" in str(entry.execution.error)
    assert not (tmp_path / "it-ran").exists()


REPLAYED = """
import json, os, pathlib, shutil
order = json.loads(pathlib.Path(os.environ["HEADWATER_REPLAY"]).read_text())
shutil.copytree({out!r}, order["shadow"] + {out!r})
"""


async def test_a_replay_runs_into_its_shadow_and_reports_the_outcome(home: TriggeredHome, tmp_path: Path) -> None:
    out = tmp_path / "data" / "out"
    out.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2]}), out / "a.parquet")
    home.workspace.registry.add_roots([str(tmp_path / "data")])
    register(home, tmp_path, text=REPLAYED.format(out=str(out)))
    application = "00000000-0000-0000-0000-00000000000a"
    parent = facet(run={"runId": application}, job={"namespace": "default", "name": "report"})
    run = run_event(1, job={"namespace": "default", "name": "report.save"}, outputs=[{"namespace": "file", "name": str(out)}])
    run["run"]["facets"] = {"parent": parent}
    whole = run_event(2, job={"namespace": "default", "name": "report"}, run={"runId": application}, inputs=[], outputs=[])
    await home.send(run, whole)
    trigger = await home.create(MANUAL, {"replay": {"kind": "verify", "output": str(out)}})
    await home.triggers.fire("default", "t")
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert (entry.execution.error, entry.execution.state) == (None, "complete")
    assert "0 of 1 outputs differ" in str(entry.execution.result)
    assert [file.name for file in out.iterdir()] == ["a.parquet"]
