"""The thread that drives triggers rests while there are none."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.triggers import driver
from headwater.backend.workspace import Workspace


def test_a_wake_without_triggers_causes_no_busy_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, enough = [], Event()

    def has_store(_: Any) -> bool:
        looks.append(time.monotonic())
        if len(looks) == 4:
            enough.set()
        return False

    monkeypatch.setattr(driver, "has_store", has_store)
    running = driver.TriggerDriver(cast("Workspace", SimpleNamespace(settings=load_settings(home=tmp_path))))
    running.wake()
    running.start()
    running.wake()  # may end one pause, but not the ones after it
    assert enough.wait(60)
    running.stop()
    assert looks[3] - looks[0] > 1.5
