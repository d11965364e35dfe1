"""Workflows of a service, for both clients: their state, and runs on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.errors import NotFoundError

_CHANNEL = "name path dataset writer currentBlocks lastBlock"
_TASK = "name program state startedAt endedAt error inputs { channel mode cursor unread } outputs { channel mode lastBlock }"
_RUN = "id task state startedAt endedAt error"
_FACTS = f"name appliedAt isRunning problem channels {{ {_CHANNEL} }} tasks {{ {_TASK} }}"
_WORKFLOW = f"{_FACTS} runs(first: $first) {{ {_RUN} }}"


@dataclass(frozen=True, slots=True)
class WorkflowChannel:
    """A folder of blocks. `dataset` is the id of its node. `writer` is the task that writes it, or None for a source."""

    name: str
    path: str
    dataset: str
    writer: str | None
    current_blocks: int
    last_block: int | None


@dataclass(frozen=True, slots=True)
class WorkflowInput:
    """A channel that a task reads. `mode` is ALL, NEW or OLD; `cursor` is the last read block; `unread` counts unread blocks."""

    channel: str
    mode: str
    cursor: int | None
    unread: int


@dataclass(frozen=True, slots=True)
class WorkflowOutput:
    """A channel that a task writes. `mode` is BASE or DELTA."""

    channel: str
    mode: str
    last_block: int | None


@dataclass(frozen=True, slots=True)
class WorkflowTask:
    """A task with the outcome of its last run. `state` is RUNNING, COMMITTED, COMPLETE, FAILED, or None if it never ran."""

    name: str
    program: str
    state: str | None
    started_at: str | None
    ended_at: str | None
    error: str | None
    inputs: Sequence[WorkflowInput]
    outputs: Sequence[WorkflowOutput]


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """A run of a task. Times are ISO 8601."""

    id: str
    task: str
    state: str
    started_at: str
    ended_at: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow. `problem` explains why a run of the service ended outside of its tasks. `runs` has the last runs, latest first."""

    name: str
    applied_at: str
    is_running: bool
    problem: str | None
    channels: Sequence[WorkflowChannel]
    tasks: Sequence[WorkflowTask]
    runs: Sequence[WorkflowRun] = field(repr=False)


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class WorkflowRequests:
    """The methods of `Client` for workflows."""

    def workflows(self: _Asks, *, first: int = 10) -> list[Workflow]:
        """Return the workflows by name, each with the last `first` runs of its tasks."""
        found = self.execute(f"query ($first: Int!) {{ workflows {{ {_WORKFLOW} }} }}", first=first)["workflows"]
        return [_workflow(one) for one in found]

    def workflow(self: _Asks, name: str, *, first: int = 10) -> Workflow:
        """Return a workflow by its name.

        Raises:
            NotFoundError: there is no such workflow.
        """
        document = f"query ($name: String!, $first: Int!) {{ workflow(name: $name) {{ {_WORKFLOW} }} }}"
        found = self.execute(document, name=name, first=first)["workflow"]
        if found is None:
            raise NotFoundError(f"There is no workflow {name!r}.", hint="client.workflows() lists them.")
        return _workflow(found)

    def run_workflow(self: _Asks, name: str, *, task: str | None = None) -> Workflow:
        """Start a run of a workflow, or of one of its tasks, and return the workflow. The run continues in the service.

        Raises:
            NotFoundError: there is no such workflow or task.
            UnavailableError: the workflow is already running.
        """
        arguments = "$name: String!, $task: String, $first: Int!"
        document = f"mutation ({arguments}) {{ runWorkflow(name: $name, task: $task) {{ {_WORKFLOW} }} }}"
        return _workflow(self.execute(document, name=name, task=task, first=10)["runWorkflow"])


class AsyncWorkflowRequests:
    """The methods of `AsyncClient` for workflows. Each calls the method of `Client` on a thread."""

    _client: Any

    async def workflows(self, *, first: int = 10) -> list[Workflow]:
        return await asyncio.to_thread(WorkflowRequests.workflows, self._client, first=first)

    async def workflow(self, name: str, *, first: int = 10) -> Workflow:
        return await asyncio.to_thread(WorkflowRequests.workflow, self._client, name, first=first)

    async def run_workflow(self, name: str, *, task: str | None = None) -> Workflow:
        return await asyncio.to_thread(WorkflowRequests.run_workflow, self._client, name, task=task)


def _workflow(found: Mapping[str, Any]) -> Workflow:
    channels = [
        WorkflowChannel(each["name"], each["path"], each["dataset"], each["writer"], each["currentBlocks"], each["lastBlock"])
        for each in found["channels"]
    ]
    runs = [
        WorkflowRun(each["id"], each["task"], each["state"], each["startedAt"], each["endedAt"], each["error"]) for each in found["runs"]
    ]
    return Workflow(
        found["name"], found["appliedAt"], found["isRunning"], found["problem"], channels, [_task(each) for each in found["tasks"]], runs
    )


def _task(found: Mapping[str, Any]) -> WorkflowTask:
    return WorkflowTask(
        found["name"], found["program"], found["state"], found["startedAt"], found["endedAt"], found["error"],
        [WorkflowInput(each["channel"], each["mode"], each["cursor"], each["unread"]) for each in found["inputs"]],
        [WorkflowOutput(each["channel"], each["mode"], each["lastBlock"]) for each in found["outputs"]],
    )  # fmt: skip
