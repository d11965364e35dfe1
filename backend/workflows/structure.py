"""Checks the structure of a workflow without its home, and orders its tasks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from headwater.backend.workflows.model import Consumption, Task, Workflow
from headwater.errors import InvalidInputError


def structure_problems(workflow: Workflow) -> Iterator[InvalidInputError]:
    """Yield the errors in a workflow's structure."""
    for task in workflow.tasks.values():
        yield from _task_problems(task, workflow)
    writers: dict[str, str] = {}
    for task in workflow.tasks.values():
        for channel in task.writes:
            if channel in writers and writers[channel] != task.name:
                yield InvalidInputError(
                    f"The tasks {writers[channel]} and {task.name} both write the channel {channel}.",
                    field=f"tasks.{task.name}.outputs", hint="A channel has one writer. Give each task a channel of its own.",
                )  # fmt: skip
            writers.setdefault(channel, task.name)
    if (cycle := _find_cycle(workflow)) is not None:
        yield InvalidInputError(
            f"The tasks {' → '.join(cycle)} form a cycle.", field="tasks", hint="A task may not read what depends on its own output."
        )
    used = {channel for task in workflow.tasks.values() for channel in (*task.reads, *task.writes)}
    for name in sorted(workflow.channels.keys() - used):
        yield InvalidInputError(f"No task uses the channel {name}.", field=f"channels.{name}", hint="Remove it, or correct a name.")
    yield from _path_problems(workflow)
    yield from _trigger_problems(workflow)


def order_tasks(workflow: Workflow) -> Workflow:
    """Return the workflow with each task after the tasks whose channels it reads. The workflow must have no cycle."""
    order = TopologicalSorter(_writers_before(workflow)).static_order()
    return replace(workflow, tasks={name: workflow.tasks[name] for name in order})


def _task_problems(task: Task, workflow: Workflow) -> Iterator[InvalidInputError]:
    place = f"tasks.{task.name}"
    for channel in (*task.reads, *task.writes):
        if channel not in workflow.channels:
            yield InvalidInputError(
                f"{place} names the channel {channel}, which does not exist.", field=place,
                hint=f"The channels are {', '.join(sorted(workflow.channels)[:20])}.",
            )  # fmt: skip
    read = Counter((each.channel, each.mode) for each in task.inputs)
    for (channel, mode), count in read.items():
        if count > 1:
            yield InvalidInputError(f"{place} reads {channel} twice in the mode {mode}.", field=place, hint="Remove one of the inputs.")
        if mode is Consumption.OLD and (channel, Consumption.NEW) not in read:
            yield InvalidInputError(
                f"{place} reads {channel} in the mode old, but not in the mode new.", field=place,
                hint="`old` is what lies before `new`, so it needs an input of the same channel in the mode new.",
            )  # fmt: skip
    for channel, count in Counter(task.writes).items():
        if count > 1:
            yield InvalidInputError(f"{place} names the output {channel} twice.", field=place, hint="Remove one of the outputs.")
    parameters = task.parameters
    for name, count in Counter(parameter.argument or parameter.variable for parameter in parameters).items():
        if count > 1:
            yield InvalidInputError(f"{place} names the parameter {name} twice.", field=place, hint="Each input and output has its own.")


def _path_problems(workflow: Workflow) -> Iterator[InvalidInputError]:
    places = sorted((os.path.realpath(channel.path), channel.name) for channel in workflow.channels.values())
    for number, (path, name) in enumerate(places):
        for other, other_name in places[number + 1 :]:
            if other == path or other.startswith(f"{path}/"):
                yield InvalidInputError(
                    f"The channels {name} and {other_name} overlap: {other} lies in {path}.", field=f"channels.{other_name}",
                    hint="Give each channel a folder of its own.",
                )  # fmt: skip


def _trigger_problems(workflow: Workflow) -> Iterator[InvalidInputError]:
    for trigger in workflow.triggers.values():
        place = f"triggers.{trigger.name}"
        if trigger.on is not None and trigger.on not in workflow.channels:
            yield InvalidInputError(
                f"{place} names the channel {trigger.on}, which does not exist.", field=place,
                hint=f"The channels are {', '.join(sorted(workflow.channels)[:20])}.",
            )  # fmt: skip
        for name in trigger.run:
            if name in workflow.tasks and trigger.on in workflow.tasks[name].writes:
                yield InvalidInputError(
                    f"{place} waits for the channel {trigger.on}, and its own task {name} writes it.", field=place,
                    hint="A trigger would fire itself. Leave the task out of `run`.",
                )  # fmt: skip
            if name not in workflow.tasks:
                yield InvalidInputError(
                    f"{place} names the task {name}, which does not exist.", field=place,
                    hint=f"The tasks are {', '.join(sorted(workflow.tasks)[:20])}.",
                )  # fmt: skip


def _find_cycle(workflow: Workflow) -> list[str] | None:
    try:
        TopologicalSorter(_writers_before(workflow)).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return None


def _writers_before(workflow: Workflow) -> dict[str, list[str]]:
    """Return the tasks from which each task reads. A task may read its own output."""
    written = workflow.written
    return {task.name: [written[channel] for channel in task.reads if channel in written] for task in workflow.tasks.values()}
