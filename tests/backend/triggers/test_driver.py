"""The threads that drive triggers and policies rest while there are none."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.policies import driver as policy_driver
from headwater.backend.triggers import driver
from headwater.backend.workspace import Workspace


@pytest.mark.parametrize("drivers", [driver, policy_driver])
def test_a_wake_without_anything_to_do_causes_no_busy_loop(drivers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, enough = [], Event()

    def has_none(_: Any) -> bool:
        looks.append(time.monotonic())
        if len(looks) == 4:
            enough.set()
        return False

    monkeypatch.setattr(drivers, "has_store" if drivers is driver else "has_policies", has_none)
    workspace = cast("Workspace", SimpleNamespace(settings=load_settings(home=tmp_path), log=None))
    running = (
        driver.TriggerDriver(workspace) if drivers is driver else policy_driver.PolicyDriver(workspace.settings, workspace.log, Mock())
    )
    running.wake()
    running.start()
    running.wake()  # may end one pause, but not the ones after it
    assert enough.wait(60)
    running.stop()
    assert looks[3] - looks[0] > 1.5
