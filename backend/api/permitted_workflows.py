"""The workflows of a service with the rights of one caller."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from headwater.backend.api.authorization import tells_values
from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.api.permitted_replays import without_values
from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.workflows import Workflows
from headwater.backend.workflows.background_runs import BackgroundRuns
from headwater.backend.workflows.document import block_document, run_document, workflow_document


class PermittedWorkflows:
    """The `WorkflowService` of one caller. Workflows run programs of the home, which belong to the default tenant only.

    The error of a task may contain output of its program, so its details are shown only to callers who may see values.
    """

    def __init__(self, runs: BackgroundRuns, parts: Service, who: Principal) -> None:
        self._runs = runs
        self._workspace = parts.workspace
        self._tells_values = tells_values(parts, who)

    async def list(self, tenant: str) -> Sequence[dict[str, Any]]:
        if tenant != DEFAULT_TENANT:
            return []
        workflows = self._workspace.workflows()
        names = await asyncio.to_thread(workflows.ledger.workflows)
        return [await self._describe(workflows, name) for name in names]

    async def get(self, tenant: str, name: str) -> dict[str, Any] | None:
        workflows = self._workspace.workflows()
        if tenant != DEFAULT_TENANT or name not in await asyncio.to_thread(workflows.ledger.workflows):
            return None
        return await self._describe(workflows, name)

    async def task_runs(self, tenant: str, name: str, first: int) -> Sequence[dict[str, Any]]:
        if tenant != DEFAULT_TENANT:
            return []
        found = await asyncio.to_thread(self._workspace.workflows().ledger.runs, name, first)
        return [self._permitted(run_document(run)) for run in found]

    async def blocks(self, tenant: str, name: str, channel: str, first: int) -> Sequence[dict[str, Any]]:
        if tenant != DEFAULT_TENANT:
            return []
        found = await asyncio.to_thread(self._workspace.workflows().ledger.latest_blocks, name, channel, first)
        return [block_document(block) for block in found]

    async def run(self, tenant: str, name: str, task: str | None) -> dict[str, Any]:
        if tenant != DEFAULT_TENANT:
            raise ForbiddenError(f"The tenant {tenant} has no programs on this service.", hint="Workflows run programs of its own home.")
        await self._runs.start(name, [task] if task is not None else None)
        return await self._describe(self._workspace.workflows(), name)

    async def _describe(self, workflows: Workflows, name: str) -> dict[str, Any]:
        document = await asyncio.to_thread(_read_document, workflows, name)
        tasks = [self._permitted(task) for task in document["tasks"]]
        is_running = self._runs.is_running(name) or any(task["state"] in ("running", "committed") for task in tasks)
        return {**document, "tasks": tasks, "is_running": is_running, "problem": self._runs.problem(name)}

    def _permitted(self, document: dict[str, Any]) -> dict[str, Any]:
        if self._tells_values or document["error"] is None:
            return document
        return {**document, "error": without_values(document["error"])}


def _read_document(workflows: Workflows, name: str) -> dict[str, Any]:
    statuses = workflows.status(name)
    _, _, applied_at = workflows.ledger.workflows()[name]
    return workflow_document(workflows.get(name), statuses, workflows.ledger, applied_at)
