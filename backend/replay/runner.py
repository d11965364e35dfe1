"""Runs the steps of a replay, one process after the other, each an unchanged program under `headwater run`.

Only programs that are registered on this home are started, with the arguments, in the folder and with the variables that were registered.
The script is read once, and runs only if its hash is the registered one. Output goes to a log beside the replay.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from headwater.backend.replay.invocations import check
from headwater.backend.replay.model import Invocation, Replay, ReplayState
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
        code = run_program(step.invocation, order, log)
        step.seconds = round(time.monotonic() - began, 2)
        step.state = ReplayState.FAILED if code else ReplayState.COMPLETE
        changed(replay)
        if code:
            raise ReplayFailedError(story(step.invocation, code, log), hint=f"The whole log is {log}.")


def run_program(
    invocation: Invocation, order: Path, log: Path, *, capturing: Mapping[str, str] | None = None, holding: Collection[int] = ()
) -> int:
    """Run a registered program by an order; its exit code. With `capturing`, variables of ours, it is captured as they say.

    `holding`: open files that stay open until the program has ended, also where this process ends before.
    """
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= dict(invocation.environment)
    options = ["--mode", "off"]
    if capturing is not None:  # what was registered may name a service, or another receiver of events
        environment = {name: value for name, value in environment.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
        environment |= capturing
        options = ["--quiet"]
    environment[VARIABLE] = str(order)
    environment["PYTHONUNBUFFERED"] = "1"
    command = [sys.executable, "-m", "headwater", "run", *options, invocation.script, *invocation.argv[1:]]
    with log.open("wb") as output:
        return subprocess.run(
            command,
            cwd=invocation.working_directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            pass_fds=tuple(holding),
        ).returncode


def story(invocation: Invocation, code: int, log: Path) -> str:
    """How a program failed: its exit code, and the end of its log."""
    tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-8:]
    return f"{Path(invocation.script).name} ended with exit code {code}: " + "\n  ".join(["", *tail])
