"""Actions that run programs of the home."""

from __future__ import annotations

import json
from pathlib import Path

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
