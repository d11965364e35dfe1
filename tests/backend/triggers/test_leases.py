"""The leases of running actions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from headwater.backend.access.keys import ring_of
from headwater.backend.access.masks import Masks
from headwater.backend.access.people.directory import People
from headwater.backend.home.settings import load_settings
from headwater.backend.triggers import runner as runners
from headwater.backend.triggers.actions import Site
from headwater.backend.triggers.owners import HOME, Owners
from headwater.backend.triggers.permissions import Permissions
from headwater.backend.triggers.runner import Runner
from headwater.backend.triggers.service import Triggers
from headwater.backend.triggers.store import open_store
from headwater.backend.workspace import Workspace
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.test_refusals import register


async def test_a_lease_is_renewed_while_the_driver_waits_for_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "_RENEWED", 0.05)
    settings = load_settings(home=tmp_path / "home")
    go_on = tmp_path / "go on"
    async with await Workspace.open(settings) as workspace:
        program = f"import pathlib, time\nwhile not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.02)\n"
        register(TriggeredHome(workspace, None, None, None), tmp_path, text=program)  # type: ignore[arg-type]
        store = open_store(settings)
        triggers = Triggers(store, Site(workspace))
        owners = Owners(ring_of(settings), People(settings.folder.people))
        runner = Runner(store, Site(workspace), Permissions(owners, Masks(settings.folder.masks)))
        try:
            stated = {"name": "t", "when": {"manual": {}}, "do": {"run": {"job": "report"}}}
            await triggers.create("default", stated, HOME)
            await triggers.fire("default", "t", key=None, by="me")
            assert await runner.step(["default"]) == 1
            leases: set[float] = set()
            while len(leases) < 3:  # no further step of the driver
                leases.add(store.database.ask("SELECT lease FROM trigger_execution")[0][0])
                await asyncio.sleep(0.02)
            go_on.touch()
            await runner.wait()
        finally:
            go_on.touch()
            await runner.stop()
            owners.close()
            store.close()
