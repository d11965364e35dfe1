"""The threads that drive triggers and policies rest while there are none."""

from __future__ import annotations

import asyncio
import time
from itertools import count
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.policies import driver as policy_driver
from headwater.backend.triggers import driver, turn
from headwater.backend.triggers.store import open_store
from headwater.backend.workspace import Workspace
from headwater.errors import UnavailableError


@pytest.mark.parametrize("fault", [ValueError("a fault of ours"), UnavailableError("the store does not answer")])
def test_a_fault_while_looking_for_causes_does_not_end_running_actions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    began, is_over, ended, ends = Event(), Event(), Event(), []

    async def act(*_: Any) -> None:
        began.set()
        try:
            await asyncio.to_thread(is_over.wait, 60)
            ends.append("complete")
        finally:
            ended.set()

    original, calls = turn.take_turn, count()

    async def take_turn(store: Any, evaluator: Any, runner: Any, *others: Any) -> int:
        number = next(calls)
        if number == 0:
            task = asyncio.create_task(act())
            runner._tasks[task] = "an execution"
            task.add_done_callback(runner._tasks.pop)
            return 1
        if number == 1:
            assert await asyncio.to_thread(began.wait, 60)
            raise fault
        is_over.set()
        return await original(store, evaluator, runner, *others)

    monkeypatch.setattr(turn, "take_turn", take_turn)
    settings = load_settings(home=tmp_path)
    open_store(settings)
    workspace = asyncio.run(Workspace.open(settings))
    running = driver.TriggerDriver(workspace)
    running.start()
    assert ended.wait(60)
    is_over.set()
    running.stop()
    asyncio.run(workspace.close())
    assert ends == ["complete"]


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
