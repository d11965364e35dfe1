"""Workflows, their runs and their blocks as JSON."""

from __future__ import annotations

from typing import Any

from headwater.backend.workflows.ledger import Block, Ledger, Run
from headwater.backend.workflows.model import Task, Workflow
from headwater.backend.workflows.status import TaskStatus
from headwater.graph.model import NodeKind, node_id
from headwater.paths import name_of_path


def workflow_document(workflow: Workflow, statuses: list[TaskStatus], ledger: Ledger, applied_at: str) -> dict[str, Any]:
    return {
        "name": workflow.name,
        "applied_at": applied_at,
        "channels": [_channel(name, workflow, ledger) for name in workflow.channels],
        "tasks": [_task(workflow.tasks[status.task], status) for status in statuses],
    }


def run_document(run: Run) -> dict[str, Any]:
    reads = [
        {"channel": channel, "mode": mode, "blocks": list(numbers)}
        for channel, modes in run.reads.items()
        for mode, numbers in modes.items()
    ]
    return {
        "id": run.id, "task": run.task, "state": run.state.value, "started_at": run.started_at, "ended_at": run.ended_at,
        "error": run.error, "reads": reads,
    }  # fmt: skip


def block_document(block: Block) -> dict[str, Any]:
    return {"number": block.sequence, "mode": block.mode.value, "run": block.run, "at": block.at}


def _channel(name: str, workflow: Workflow, ledger: Ledger) -> dict[str, Any]:
    path, numbers = str(workflow.channels[name].path), ledger.block_numbers(workflow.name, name)
    return {
        "name": name, "path": path, "dataset": node_id(NodeKind.DATASET, *name_of_path(path)), "writer": workflow.written.get(name),
        "current_blocks": len(numbers), "last_block": numbers[-1].sequence if numbers else None,
    }  # fmt: skip


def _task(task: Task, status: TaskStatus) -> dict[str, Any]:
    inputs = [
        {
            "channel": each.channel,
            "mode": each.mode.value,
            "cursor": status.cursors.get(each.channel),
            "unread": status.unread[each.channel],
        }
        for each in task.inputs
    ]
    outputs = [
        {"channel": each.channel, "mode": each.mode.value, "last_block": status.last_blocks[each.channel] or None} for each in task.outputs
    ]
    return {
        "name": status.task, "program": status.program, "state": status.state.value if status.state else None,
        "started_at": status.started_at, "ended_at": status.ended_at, "error": status.error, "inputs": inputs, "outputs": outputs,
    }  # fmt: skip
