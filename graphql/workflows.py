"""Workflows in the schema: the state of their channels and tasks, and a run on demand."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import strawberry
from strawberry import UNSET

from headwater.graph.access.scopes import Scope
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.root_fields import COSTLY, mutation, query
from headwater.graphql.services import available
from headwater.graphql.types import Info


@strawberry.enum(description="COMMITTED: the run counts, and its blocks are being moved to their channels. A FAILED run changed nothing.")
class WorkflowRunState(StrEnum):
    RUNNING = "running"
    COMMITTED = "committed"
    COMPLETE = "complete"
    FAILED = "failed"


@strawberry.enum(description="The part of a channel that a task reads: its current version, the blocks after the cursor, or those before.")
class WorkflowConsumption(StrEnum):
    ALL = "all"
    NEW = "new"
    OLD = "old"


@strawberry.enum(description="A BASE replaces the content of its channel, a DELTA adds to it.")
class WorkflowProduction(StrEnum):
    BASE = "base"
    DELTA = "delta"


@strawberry.type(description="A block of a channel. `run` is the id of the run that wrote it; null for a source.")
class WorkflowBlock:
    """A block of a channel. `number` counts the blocks of a channel from 1."""

    number: int
    mode: WorkflowProduction
    run: strawberry.ID | None
    at: str

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> WorkflowBlock:
        return cls(number=document["number"], mode=WorkflowProduction(document["mode"]), run=document["run"], at=document["at"])


@strawberry.type(description="A folder of blocks. A channel without a writer is a source, and files that arrive there make its blocks.")
class WorkflowChannel:
    """A channel of a workflow. `dataset` is the id of its node."""

    workflow: strawberry.Private[str]
    name: str
    path: str
    dataset: strawberry.ID
    writer: str | None = strawberry.field(description="The task that writes it.")
    current_blocks: int = strawberry.field(description="Number of blocks of the current version: the last base and all after it.")
    last_block: int | None

    @strawberry.field(description="Its blocks, the latest first, also those that a base replaced.", metadata=COSTLY)
    async def blocks(self, info: Info, first: int = 10) -> list[WorkflowBlock]:
        service = available(info.context.services.workflows, "Workflows")
        most = bounded(first, "first", low=1, high=MAX_PAGE)
        return [WorkflowBlock.of(one) for one in await service.blocks(info.context.tenant, self.workflow, self.name, most)]

    @classmethod
    def of(cls, document: Mapping[str, Any], workflow: str) -> WorkflowChannel:
        return cls(
            workflow=workflow, name=document["name"], path=document["path"], dataset=strawberry.ID(document["dataset"]),
            writer=document["writer"], current_blocks=document["current_blocks"], last_block=document["last_block"],
        )  # fmt: skip


@strawberry.type(description="A channel that a task reads. `cursor` is the last block that a successful run has read.")
class WorkflowInput:
    """An input of a task. `unread` counts unread blocks of the current version."""

    channel: str
    mode: WorkflowConsumption
    cursor: int | None
    unread: int


@strawberry.type(description="A channel that a task writes.")
class WorkflowOutput:
    channel: str
    mode: WorkflowProduction
    last_block: int | None


@strawberry.type(description="A registered program with its channels, and the outcome of its last run.")
class WorkflowTask:
    """A task with its last run. `state` is null if the task never ran."""

    name: str
    program: str
    state: WorkflowRunState | None
    started_at: str | None
    ended_at: str | None
    error: str | None
    inputs: list[WorkflowInput]
    outputs: list[WorkflowOutput]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> WorkflowTask:
        state = document["state"]
        return cls(
            name=document["name"], program=document["program"], state=WorkflowRunState(state) if state else None,
            started_at=document["started_at"], ended_at=document["ended_at"], error=document["error"],
            inputs=[
                WorkflowInput(channel=each["channel"], mode=WorkflowConsumption(each["mode"]), cursor=each["cursor"], unread=each["unread"])
                for each in document["inputs"]
            ],
            outputs=[
                WorkflowOutput(channel=each["channel"], mode=WorkflowProduction(each["mode"]), last_block=each["last_block"])
                for each in document["outputs"]
            ],
        )  # fmt: skip


@strawberry.type(description="The numbers of the blocks of a channel that a run read.")
class WorkflowReading:
    channel: str
    mode: WorkflowConsumption
    blocks: list[int]


@strawberry.type(description="A run of a task.")
class WorkflowRun:
    """A run of a task. Times are ISO 8601."""

    id: strawberry.ID
    task: str
    state: WorkflowRunState
    started_at: str
    ended_at: str | None
    error: str | None
    reads: list[WorkflowReading]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> WorkflowRun:
        return cls(
            id=strawberry.ID(document["id"]), task=document["task"], state=WorkflowRunState(document["state"]),
            started_at=document["started_at"], ended_at=document["ended_at"], error=document["error"],
            reads=[
                WorkflowReading(channel=each["channel"], mode=WorkflowConsumption(each["mode"]), blocks=each["blocks"])
                for each in document["reads"]
            ],
        )  # fmt: skip


@strawberry.type(description="Registered programs that read and write channels block by block, in the order in which they run.")
class Workflow:
    name: str
    applied_at: str
    is_running: bool
    problem: str | None = strawberry.field(description="Why the last run that `runWorkflow` began ended before its tasks did.")
    channels: list[WorkflowChannel]
    tasks: list[WorkflowTask]

    @strawberry.field(description="The runs of its tasks, the latest first.", metadata=COSTLY)
    async def runs(self, info: Info, first: int = 10) -> list[WorkflowRun]:
        service = available(info.context.services.workflows, "Workflows")
        most = bounded(first, "first", low=1, high=MAX_PAGE)
        return [WorkflowRun.of(one) for one in await service.task_runs(info.context.tenant, self.name, most)]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Workflow:
        name = document["name"]
        return cls(
            name=name, applied_at=document["applied_at"], is_running=document["is_running"], problem=document["problem"],
            channels=[WorkflowChannel.of(each, name) for each in document["channels"]],
            tasks=[WorkflowTask.of(each) for each in document["tasks"]],
        )  # fmt: skip


@strawberry.type
class WorkflowQuery:
    @query("The workflows that are applied on the home, by name.", scope=Scope.READ, costly=True)
    async def workflows(self, info: Info) -> list[Workflow]:
        service = available(info.context.services.workflows, "Workflows")
        return [Workflow.of(one) for one in await service.list(info.context.tenant)]

    @query("A workflow by its name; null if there is none.", scope=Scope.READ, costly=True)
    async def workflow(self, info: Info, name: str) -> Workflow | None:
        found = await available(info.context.services.workflows, "Workflows").get(info.context.tenant, name)
        return Workflow.of(found) if found is not None else None


@strawberry.type
class WorkflowMutation:
    @mutation(
        "Begin a run of a workflow, or of one of its tasks. The answer is its state then; ask `workflow` for the outcome.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def run_workflow(self, info: Info, name: str, task: str | None = UNSET) -> Workflow:
        """Start a run, which continues in the background."""
        async with info.context.audited("workflow.run", name, changes=True):
            service = available(info.context.services.workflows, "Workflows")
            return Workflow.of(await service.run(info.context.tenant, name, task or None))
