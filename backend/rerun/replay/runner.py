"""Runs the steps of a replay one after the other. Each step is an unchanged program under `headwater run`.

Only programs of this home's registry are started, with their registered arguments, folder and variables. The script is read once, and runs
only if its hash is the registered one. The replay's folder contains a log of the output.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from headwater.backend.rerun.replay.invocations import check
from headwater.backend.rerun.replay.model import Invocation, Replay, ReplayState, Step
from headwater.backend.rerun.replay.partial_results import partial_results_folder
from headwater.backend.rerun.runners import Launch, ProgramRunner, Runners, StopReason, ThisMachine
from headwater.errors import HeadwaterError
from headwater.spark_listener.replay import VARIABLE, ReplayOrder

HOME = "home"  # this folder in the replay's folder has the captures
CANCEL = "cancel"  # this file in the replay's folder ends the replay
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME", "SPARK_HOME", "VIRTUAL_ENV")


class ReplayFailedError(HeadwaterError):
    """A program of the replay failed. The message includes the end of its log."""


class ReplayStoppedError(HeadwaterError):
    """The replay was cancelled, or reached a limit."""


def run_steps(
    replay: Replay,
    folder: Path,
    changed: Callable[[Replay], None],
    *,
    pause: Callable[[Step, Step | None, StopReason], None] = lambda *_: None,
    prepare: Callable[[Step], None] = lambda _: None,
    runners: Runners | None = None,
) -> None:
    """Run all steps of a replay. `changed` is called after each change of state.

    `runners` are the runners of the home. Without them, the programs run on this machine.
    `pause` is called before each step, with the step, the previous step, and a function that returns the reason to stop the replay.
    `prepare` is called after it, right before the program starts.

    Raises:
        ReplayFailedError: a program failed. Later steps are not run.
        ReplayStoppedError: the replay was cancelled, or reached a limit.
        UnsupportedError: a script changed since it was registered.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stop = _stop_reason(replay, folder)
    marks = partial_results_folder(folder.parent, replay.tenant) / "lines"
    if replay.keep:
        marks.mkdir(parents=True, exist_ok=True)
    for number, step in enumerate(replay.steps, start=1):
        check(step.invocation)
        pause(step, replay.steps[number - 2] if number > 1 else None, stop)
        prepare(step)
        order = folder / f"order-{number}.json"
        ReplayOrder(
            replay=replay.id, shadow=replay.shadow, exclude=replay.exclude, script_sha256=step.invocation.script_sha256,
            keep=replay.keep, restrict=replay.restrict, edits=replay.edits, partials=replay.partials, changed=replay.changed_places,
            captures=replay.captures, marks=str(marks) if replay.keep else "",
        ).save(order)  # fmt: skip
        step.state = ReplayState.RUNNING
        changed(replay)
        began = time.monotonic()
        log = folder / f"step-{number}.log"
        runner = runners.of_program(step.invocation.namespace, step.invocation.job) if runners is not None else None
        capturing = capture_variables(folder / HOME, step.invocation) if replay.captures else None
        code = run_program(step.invocation, order, log, capturing=capturing, stop=stop, runner=runner)
        if reason := stop():
            step.state = ReplayState.FAILED
            raise ReplayStoppedError(
                reason, hint="Nothing of the real data was touched. `headwater replay --remove ID` deletes the shadow."
            )
        step.seconds = round(time.monotonic() - began, 2)
        step.state = ReplayState.FAILED if code else ReplayState.COMPLETE
        changed(replay)
        if code:
            raise ReplayFailedError(story(step.invocation, code, log), hint=f"The whole log is {log}.")


def capture_variables(home: Path, invocation: Invocation) -> dict[str, str]:
    """Return the variables that make a program capture its records into a home of its own, under the name of its job.

    In the mode `active`, a trace never computes records again from the sources, which have other records than the replay read.
    """
    ours = {"HOME": str(home), "MODE": "active", "RDD_RECORDS": "true", "NAMESPACE": invocation.namespace, "NAME": invocation.job}
    return {f"HEADWATER_{name}": value for name, value in ours.items()}


def run_program(
    invocation: Invocation,
    order: Path | None,
    log: Path,
    *,
    capturing: Mapping[str, str] | None = None,
    holding: Collection[int] = (),
    stop: StopReason = lambda: None,
    runner: ProgramRunner | None = None,
) -> int:
    """Run a registered program and return its exit code. The variables in `capturing` turn capture on.

    Without an `order`, the program reads and writes its real data. Without a `runner`, it runs on this machine.

    The program is killed when `stop` returns a reason. Its JVM then ends too, because it reads a pipe from the program.
    Files in `holding` stay open until the program ends, even if this process ends earlier.

    Raises:
        HeadwaterError: the runner cannot start the program, or does not know its end.
    """
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    environment |= dict(invocation.environment)
    options = ["--mode", "off"]
    if capturing is not None:  # the registered variables may name a service or another event receiver
        environment = {name: value for name, value in environment.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
        environment |= capturing
        options = ["--quiet"]
    if order is not None:
        environment[VARIABLE] = str(order)
    environment["PYTHONUNBUFFERED"] = "1"
    folder = log.with_suffix("")
    launch = Launch(
        id=sha256(str(folder).encode()).hexdigest()[:32], folder=folder, log=log, namespace=invocation.namespace, job=invocation.job,
        script=invocation.script, script_sha256=invocation.script_sha256, arguments=invocation.argv[1:], options=options,
        working_directory=invocation.working_directory, environment=environment,
    )  # fmt: skip
    return (runner or ThisMachine()).run(launch, stop=stop, holding=holding)


def _stop_reason(replay: Replay, folder: Path) -> StopReason:
    limits, began = replay.limits, time.monotonic()

    def reason() -> str | None:
        if (folder / CANCEL).exists():
            return "The replay was cancelled."
        if limits.seconds is not None and time.monotonic() - began > limits.seconds:
            return f"The replay was ended at its time limit of {limits.seconds:g} s."
        if limits.disk_bytes is not None and (size := folder_size(Path(replay.shadow))) > limits.disk_bytes:
            return f"The replay was ended at its disk limit of {limits.disk_bytes} bytes: the shadow has {size}."
        return None

    return reason


def folder_size(folder: Path) -> int:
    total = 0
    for here, _, files in os.walk(folder):
        for name in files:
            with suppress(FileNotFoundError):  # a program moves its temporary files
                total += (Path(here) / name).lstat().st_size
    return total


def story(invocation: Invocation, code: int, log: Path) -> str:
    """Describe a failed program: its exit code, and the end of its log."""
    try:
        tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-8:]
    except FileNotFoundError:
        tail = ["It wrote no log."]
    return f"{Path(invocation.script).name} ended with exit code {code}: " + "\n  ".join(["", *tail])
