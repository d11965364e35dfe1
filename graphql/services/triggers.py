"""The interfaces of triggers and workflows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

TriggerDocument = Mapping[str, Any]
"""A trigger, or a cause with its execution, as JSON (`backend.triggers.document`)."""


class TriggerService(Protocol):
    """Reads and changes the triggers of a tenant. Times are ISO 8601. The caller owns the triggers that it creates or resumes."""

    async def list(self, tenant: str) -> Sequence[TriggerDocument]:
        """Return the triggers by name."""

    async def get(self, tenant: str, name: str) -> TriggerDocument | None:
        """Return a trigger by name or id, or None."""

    async def history(self, tenant: str, name: str, *, first: int, before: str | None) -> Sequence[TriggerDocument]:
        """Return the causes of a trigger, latest first."""

    async def create(self, tenant: str, definition: Mapping[str, Any]) -> TriggerDocument:
        """Check and store a trigger."""

    async def fire(self, tenant: str, name: str, *, key: str | None) -> TriggerDocument:
        """Fire a trigger by hand, and return the cause."""

    async def pause(self, tenant: str, name: str, reason: str | None) -> TriggerDocument: ...

    async def resume(self, tenant: str, name: str) -> TriggerDocument: ...

    async def remove(self, tenant: str, name: str) -> TriggerDocument: ...

    async def targets(self) -> Mapping[str, str]:
        """Return the targets of notifications by name, each with its kind: `webhook` or `mail`."""

    async def test(
        self, tenant: str, *, since: str, until: str | None, name: str | None, definition: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """Return the `causes`, `entries` and `notes` of a period of the past."""


WorkflowDocument = Mapping[str, Any]
"""A workflow, a run or a block as JSON (`backend.workflows.document`)."""


class WorkflowService(Protocol):
    """Reads and runs the workflows of a home. Times are ISO 8601."""

    async def list(self, tenant: str) -> Sequence[WorkflowDocument]:
        """Return the workflows by name."""

    async def get(self, tenant: str, name: str) -> WorkflowDocument | None:
        """Return a workflow, or None."""

    async def task_runs(self, tenant: str, name: str, first: int) -> Sequence[WorkflowDocument]:
        """Return the latest runs of a workflow's tasks, newest first."""

    async def blocks(self, tenant: str, name: str, channel: str, first: int) -> Sequence[WorkflowDocument]:
        """Return the latest blocks of a channel, newest first."""

    async def run(self, tenant: str, name: str, task: str | None) -> WorkflowDocument:
        """Start a run of a workflow or of one of its tasks, and return the workflow."""
