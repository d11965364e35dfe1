"""A home with small registered programs, and a folder of data for workflows."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.backend.workflows import TaskResult, Workflows, recovery, shadow, task_run
from headwater.backend.workflows.ledger import Ledger
from headwater.graph.records import DataRoots
from headwater.spark_listener.delivery.leftovers import Delivery
from headwater.spark_listener.invocation import script_sha256
from headwater.spark_listener.registry import Program, Registry
from headwater.spark_listener.spool import Item, SpoolFolder

# Writes each line of its inputs with the names of the inputs before it. A line with `fail` ends it, after the output is written.
PROGRAM = """\
import os, pathlib, sys
inputs, output, words = {}, None, sys.argv[1:]
while words:
    word = words.pop(0)
    if word == "--out":
        output = pathlib.Path(words.pop(0))
        continue
    inputs[word] = []
    while words and not words[0].startswith("--"):
        inputs[word].append(pathlib.Path(words.pop(0)))
for name in ("NEW", "ALL", "OLD"):
    if name in os.environ:
        inputs[name] = [pathlib.Path(line) for line in os.environ[name].splitlines()]
output = output or pathlib.Path(os.environ["OUT"])
lines = []
for name, paths in inputs.items():
    for path in paths:
        for file in sorted(path.rglob("*.txt")) if path.is_dir() else [path]:
            lines += [f"{name.strip('-').lower()} {line}\\n" for line in file.read_text().splitlines()]
output.mkdir()
(output / "part.txt").write_text("".join(lines))
if any("fail" in line for line in lines):
    print("the program fails")
    sys.exit(7)
"""


class Laboratory:
    """The folder `data` is the root; sources and channels lie in it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.data, self.scripts = folder / "home", folder / "data", folder / "scripts"
        for each in (self.home, self.data, self.scripts):
            each.mkdir(parents=True, exist_ok=True)
        self.registry = Registry(self.home)
        self.events: list[Mapping[str, Any]] = []
        self.workflows = Workflows(
            self.home / "workflows", self.home / "workflows.db", self.registry, DataRoots.of([self.data], never=[self.home]), self.delivery,
            has_roots=True,
        )  # fmt: skip

    def delivery(self) -> Delivery:
        """Return a delivery that keeps the events of runs in `events`."""
        return _Kept(self.events)

    def register(
        self, job: str, text: str = PROGRAM, *, arguments: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
    ) -> Path:
        """Register a program as an operator does."""
        script = self.scripts / f"{job}.py"
        script.write_text(text)
        digest = script_sha256(str(script)) or ""
        self.registry.register(
            Program(
                namespace="default", job=job, argv=[str(script), *arguments], script=str(script), script_sha256=digest,
                working_directory=str(self.scripts), environment=environment or {}, operator=True,
            )
        )  # fmt: skip
        return script

    def write(self, document: Mapping[str, Any]) -> Path:
        """Write the file of a workflow. JSON is YAML."""
        file = self.data / "workflow.yaml"
        file.write_text(json.dumps(document))
        return file

    def apply(self, document: Mapping[str, Any]) -> None:
        self.workflows.apply(self.write(document))

    def add(self, source: str, name: str, *lines: str) -> None:
        """Add a file to a source."""
        (self.data / source).mkdir(exist_ok=True)
        (self.data / source / name).write_text("".join(f"{line}\n" for line in lines))

    def run(self, **options: Any) -> dict[str, TaskResult]:
        """Run the workflow `flow`."""
        return {result.task: result for result in self.workflows.run("flow", **options)}

    def lines(self, channel: str) -> list[str]:
        """The lines that a reader of a channel's folder sees, sorted."""
        files = (self.data / channel).glob("block=*/part.txt")
        return sorted(line for file in files for line in file.read_text().splitlines())

    def hidden(self) -> list[str]:
        """The files in the shadows of runs."""
        return [str(path.relative_to(self.data)) for path in self.data.glob(".headwater-*/**/*") if path.is_file()]


def channels(*names: str) -> dict[str, Any]:
    """Channels whose folders have their names."""
    return {name: {"path": name} for name in names}


def task(program: str, inputs: list[dict[str, str]], output: str, mode: str = "delta", **options: Any) -> dict[str, Any]:
    """A task of which each input has the argument of its mode."""
    return {
        "program": program, "capture": "off", "inputs": [{"argument": f"--{each['mode']}", **each} for each in inputs],
        "outputs": [{"channel": output, "mode": mode, "argument": "--out"}], **options,
    }  # fmt: skip


def run_and_die(folder: Path, step: int, **options: Any) -> bool:
    """Run the workflow of a laboratory in another process that is killed at a step, and return whether it was. Steps count from 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a process with threads forks: the child starts anew
        child = os.fork()
    if child == 0:
        try:
            _count_steps(step)
            Laboratory(folder).run(**options)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must not return into the test
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, "the run raised an error"
    return os.WIFSIGNALED(status)


def _count_steps(last: int) -> None:
    """Kill this process at the step with a number. Each call that changes the ledger, files or a process has a step before and after."""
    number = itertools.count(1)

    def wrap(place: Any, name: str) -> None:
        real = getattr(place, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if next(number) == last:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **options)
            if next(number) == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(place, name, call)

    for name in ("add_source_block", "start", "commit", "complete", "fail", "note_clean"):
        wrap(Ledger, name)
    for place, name in (
        (task_run, "make_shadow"), (task_run, "run_program"), (task_run, "read_output"), (task_run, "plan_move"), (recovery, "make_move"),
        (shadow, "sync"), (shadow, "exchange_folders"), (Path, "rename"), (recovery, "remove_shadow"), (shutil, "rmtree"),
    ):  # fmt: skip
        wrap(place, name)


class _Kept:
    def __init__(self, events: list[Mapping[str, Any]]) -> None:
        self._events = events

    def send(self, item: Item, folder: SpoolFolder) -> None:
        self._events.append(item.body)
