"""`workflow`: run tasks of a workflow that was applied on the home. The outputs of a failed task never become visible.

The action waits while another process runs the workflow. A run reads the blocks that are unread at its start, so an action that starts
again after a crash repeats nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.rerun.replay.process_wait import in_thread_left_behind
from headwater.backend.triggers.actions.action import PARENT, Order, Site
from headwater.backend.triggers.conditions import NameLookup
from headwater.backend.triggers.conditions.condition import refuse_unknown, text_of
from headwater.backend.triggers.model import FactKind
from headwater.backend.workflows import Workflow, Workflows
from headwater.errors import HeadwaterError, InvalidInputError, NotFoundError, UnsupportedError
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind, node_id
from headwater.graph.stores import GraphStore
from headwater.paths import name_of_path

_PATIENCE = 6 * 3600.0  # seconds that another run of the workflow may take


class WorkflowAction:
    repeats = True

    async def check(self, stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Mapping[str, Any]:  # noqa: ARG002
        refuse_unknown(stated, ("name", "tasks", "writes"), "workflow")
        if tenant != DEFAULT_TENANT:
            raise UnsupportedError(f"The tenant {tenant} has no programs on this service.", hint="Programs belong to the home.")
        workflow = _workflows(site).get(text_of(stated, "name", "workflow"))
        tasks = stated.get("tasks")
        tasks = list(workflow.tasks) if tasks is None else tasks
        if not isinstance(tasks, list) or not tasks:
            raise InvalidInputError("workflow.tasks is not a list of names.", field="workflow.tasks", hint='For example ["tagging"].')
        if unknown := [task for task in tasks if task not in workflow.tasks]:
            raise NotFoundError(
                f"The workflow {workflow.name} has no task {unknown[0]}.", hint=f"Its tasks are {', '.join(workflow.tasks)}."
            )
        return {"name": workflow.name, "tasks": tasks, "writes": _datasets(workflow, tasks)}

    def retry_seconds(self, parts: Mapping[str, Any], site: Site) -> float:  # noqa: ARG002
        return 0.0

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:  # noqa: ARG002
        return frozenset({Scope.REPLAY})

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:
        return parts["name"] in _workflows(site).ledger.workflows()

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        root = {"OPENLINEAGE_ROOT_PARENT_ID": f"{PARENT}/{order.trigger}/{order.key}"}
        work = partial(_workflows(site).run, parts["name"], tasks=parts["tasks"], patience=_PATIENCE, variables=root)
        results = await in_thread_left_behind(work)
        if failed := next((result for result in results if result.error is not None), None):
            raise HeadwaterError(f"The task {failed.task} failed: {failed.error}")
        done = [result.task for result in results if result.state is not None]
        return f"ran {', '.join(done)}" if done else "there was nothing to read"

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:  # noqa: ARG002
        return [(kind, dataset) for dataset in parts["writes"] for kind in (FactKind.VERSION, FactKind.CHECK)]

    def describe(self, parts: Mapping[str, Any]) -> str:
        return f"run {', '.join(parts['tasks'])} of the workflow {parts['name']}"


def _workflows(site: Site) -> Workflows:
    return site.workspace.workflows()


def _datasets(workflow: Workflow, tasks: Sequence[str]) -> list[str]:
    channels = [workflow.channels[name] for task in tasks for name in workflow.tasks[task].writes]
    return [node_id(NodeKind.DATASET, *name_of_path(str(channel.path))) for channel in channels]
