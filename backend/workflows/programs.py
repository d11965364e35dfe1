"""Finds and starts the programs of tasks.

A program is started without a shell, from the command line that an operator registered, followed by the options that the task declares.
Nothing else of a workflow's file reaches the command line. Headwater makes the paths, so none begins with a dash.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.backend.rerun.replay.invocations import check
from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.replay.runner import KEPT_VARIABLES
from headwater.backend.rerun.runners.this_machine import kill_process, run_process
from headwater.backend.workflows.model import Form, Parameter, Task
from headwater.backend.workflows.stragglers import PATIENCE, RUN_VARIABLE, is_of_run, name_of, wait_for_stragglers
from headwater.errors import HeadwaterError, UnsupportedError
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.replay import VARIABLE, ReplayOrder

_MOST_BYTES = 120_000  # limit of one argument or variable; Linux allows 131,072


class TaskFailedError(HeadwaterError):
    """The program of a task failed. The message includes the end of its log."""


@dataclass(frozen=True, slots=True)
class Places:
    """The files of a run: its folder in the home, and the separate folder that the program writes to (the shadow)."""

    folder: Path
    shadow: Path

    @property
    def log(self) -> Path:
        return self.folder / "program.log"

    @property
    def home(self) -> Path:
        """Return the Headwater home of the program. Its lineage stays there until the run is committed."""
        return self.folder / "home"


def find_program(task: Task, registry: Registry) -> Invocation:
    """Return the command of a task's program.

    Raises:
        UnsupportedError: no operator registered the program, or its script is missing or changed.
        ConfigurationError: the registry cannot be read.
    """
    programs = [each for each, _ in registry.programs() if each.operator]
    program = next((each for each in programs if (each.namespace, each.job) == (task.namespace, task.program)), None)
    if program is None:
        names = ", ".join(sorted({each.job for each in programs})[:20])
        raise UnsupportedError(
            f"The program {task.program} (namespace {task.namespace}) of the task {task.name} is not registered.",
            hint=f"Register it: headwater jobs register {task.program} SCRIPT. Registered are: {names or 'none'}.",
        )
    invocation = Invocation(
        run=task.name, job=program.job, namespace=program.namespace, argv=program.argv, working_directory=program.working_directory,
        script=program.script, script_sha256=program.script_sha256, environment=program.environment,
    )  # fmt: skip
    check(invocation)
    for parameter in task.parameters:
        if parameter.argument in {word.partition("=")[0] for word in program.argv[1:]} or parameter.variable in program.environment:
            raise UnsupportedError(
                f"The program {task.program} is registered with {parameter.argument or parameter.variable} already.",
                hint="Register it without what the workflow states.",
            )
    return invocation


def bind_parameters(bound: Sequence[tuple[Parameter, Sequence[Path]]], folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the arguments and the environment variables that pass paths to a program.

    Lists of paths for the form `file` are written to `folder`.

    Raises:
        UnsupportedError: the paths are too long for a command line.
    """
    arguments: list[str] = []
    variables: dict[str, str] = {}
    size = 0
    for number, (parameter, paths) in enumerate(bound):
        texts = [str(path) for path in paths]
        if parameter.form is Form.FILE:
            listed = folder / f"paths-{number}.txt"
            listed.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
            texts = [str(listed)]
        size += sum(len(os.fsencode(text)) + 1 for text in texts)
        if size > _MOST_BYTES:
            raise UnsupportedError(
                f"The paths for {parameter.argument or parameter.variable} are too long for a command line.", hint="Write `form: file`."
            )
        if parameter.argument is not None:
            arguments += [parameter.argument, *texts]
        elif parameter.variable is not None:
            variables[parameter.variable] = "\n".join(texts)
    return arguments, variables


def run_program(
    invocation: Invocation,
    places: Places,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    *,
    holding: int,
    stop: Callable[[], str | None],
) -> None:
    """Run a program to its end. The program inherits the open file `holding`, which shows other processes that it still runs.

    The program and its children are killed when `stop` returns a reason, and when this process is interrupted.

    Raises:
        TaskFailedError: the program failed, was stopped, or left a process behind.
    """
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    environment |= {name: value for name, value in invocation.environment.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    environment |= {**variables, RUN_VARIABLE: places.folder.name}
    environment["PYTHONUNBUFFERED"] = "1"
    command = [sys.executable, invocation.script, *invocation.argv[1:], *arguments]
    if "HEADWATER_MODE" in variables:
        command[1:1] = ["-m", "headwater", "run", "--quiet"]
    reason: str | None = None
    left: list[str] = []

    def note_reason() -> str | None:
        nonlocal reason
        reason = stop()
        return reason

    code = run_process(
        command, working_directory=invocation.working_directory, environment=environment, log=places.log, stop=note_reason,
        holding=[holding], has_session=True,
        at_end=lambda code: left.extend(_end_stragglers(places, PATIENCE if code == 0 else 0.0)),
    )  # fmt: skip
    if reason is not None:
        raise TaskFailedError(reason, hint="Nothing was committed.")
    if code:
        tail = places.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-8:]
        story = "\n  ".join([f"{Path(invocation.script).name} ended with exit code {code}:", *tail])
        raise TaskFailedError(story, hint=f"Nothing was committed. The whole log is {places.log}.")
    if left:
        raise TaskFailedError(
            f"{Path(invocation.script).name} ended, and a process that may still write its output did not: {left[0]}.",
            hint="Nothing was committed. Let the program wait for the processes that it starts.",
        )


def _end_stragglers(places: Places, patience: float) -> list[str]:
    """Wait for processes that a program left behind, and kill those that it started. Returns descriptions of the processes."""
    run = places.folder.name
    found = [(process, name_of(process)) for process in wait_for_stragglers(run, places.shadow, patience)]
    for process, _ in found:
        if is_of_run(process, run):
            kill_process(process)
    return [name for _, name in found]


def captured_variables(task: Task, invocation: Invocation, places: Places, parent: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that turn on capture into the home of the run.

    Paths outside of the shadow are not redirected.
    """
    if task.capture == "off":
        return {}
    order = places.folder / "order.json"
    ReplayOrder(
        replay=places.folder.name, shadow=str(places.shadow), exclude={}, script_sha256=invocation.script_sha256, captures=True
    ).save(order)
    ours = {"HOME": places.home, "MODE": task.capture, "NAME": invocation.job, "NAMESPACE": invocation.namespace}
    return {**{f"HEADWATER_{name}": str(value) for name, value in ours.items()}, **parent, VARIABLE: str(order)}


def time_limit(seconds: float | None) -> Callable[[], str | None]:
    """Return a function that returns a reason once the time of a program is over, and None before."""
    began = time.monotonic()

    def reason() -> str | None:
        if seconds is not None and time.monotonic() - began > seconds:
            return f"The program was ended at its time limit of {seconds:g} s."
        return None

    return reason
