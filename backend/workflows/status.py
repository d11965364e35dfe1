"""The state of the tasks of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.backend.workflows.ledger import Ledger, RunState
from headwater.backend.workflows.model import Workflow

_LATEST = 500  # number of considered runs


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """The last run of a task, and the number of blocks that it has not read.

    `unread` has the number of unread blocks of each channel. `last_blocks` has the number of the last block of each output.
    """

    task: str
    program: str
    state: RunState | None
    started_at: str | None
    ended_at: str | None
    error: str | None
    runs: int
    cursors: Mapping[str, int]
    unread: Mapping[str, int]
    last_blocks: Mapping[str, int]


def describe_tasks(workflow: Workflow, ledger: Ledger) -> list[TaskStatus]:
    runs = ledger.runs(workflow.name, _LATEST)
    numbers = {name: [block.sequence for block in ledger.block_numbers(workflow.name, name)] for name in workflow.channels}
    found = []
    for task in workflow.tasks.values():
        own = [run for run in runs if run.task == task.name]
        last = own[0] if own else None
        cursors = ledger.cursors(workflow.name, task.name)
        found.append(
            TaskStatus(
                task=task.name, program=task.program, state=last.state if last else None, started_at=last.started_at if last else None,
                ended_at=last.ended_at if last else None, error=last.error if last else None, runs=len(own), cursors=cursors,
                unread={name: sum(number > cursors.get(name, 0) for number in numbers[name]) for name in task.reads},
                last_blocks={name: numbers[name][-1] if numbers[name] else 0 for name in task.writes},
            )
        )  # fmt: skip
    return found
