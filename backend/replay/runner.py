"""Runs the steps of a replay, one process after the other, each an unchanged program under `headwater run`.

Only programs that are registered on this home are started, with the arguments, in the folder and with the variables that were registered.
The script is read once, and runs only if its hash is the registered one. Output goes to a log beside the replay.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from headwater.backend.replay.invocations import check
from headwater.backend.replay.model import Invocation, Replay, ReplayState, Step
from headwater.errors import HeadwaterError
from headwater.spark_listener.replay import VARIABLE, ReplayOrder

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME", "SPARK_HOME", "VIRTUAL_ENV")


class ReplayFailedError(HeadwaterError):
    """A program of the replay ended with an error; the message carries the end of its log."""


def run_steps(replay: Replay, folder: Path, changed: Callable[[Replay], None]) -> None:
    """Run all steps; `changed` is called whenever the state moves on.

    Raises:
        ReplayFailedError: a program failed. The steps after it are not run.
        UnsupportedError: a script is not what was registered any more.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, step in enumerate(replay.steps, start=1):
        check(step.invocation)
        order = folder / f"order-{number}.json"
        ReplayOrder(replay=replay.id, shadow=replay.shadow, exclude=replay.exclude, script_sha256=step.invocation.script_sha256).save(order)
        step.state = ReplayState.RUNNING
        changed(replay)
        began = time.monotonic()
        log = folder / f"step-{number}.log"
        code = _run(step.invocation, order, log)
        step.seconds = round(time.monotonic() - began, 2)
        step.state = ReplayState.FAILED if code else ReplayState.COMPLETE
        changed(replay)
        if code:
            raise ReplayFailedError(_story(step, code, log), hint=f"The whole log is {log}.")


def _run(invocation: Invocation, order: Path, log: Path) -> int:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= dict(invocation.environment)
    environment[VARIABLE] = str(order)
    environment["PYTHONUNBUFFERED"] = "1"
    command = [sys.executable, "-m", "headwater", "run", "--mode", "off", invocation.script, *invocation.argv[1:]]
    with log.open("wb") as output:
        return subprocess.run(
            command,
            cwd=invocation.working_directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode


def _story(step: Step, code: int, log: Path) -> str:
    tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-8:]
    return f"{Path(step.invocation.script).name} ended with exit code {code}: " + "\n  ".join(["", *tail])
