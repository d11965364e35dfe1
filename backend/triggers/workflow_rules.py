"""The triggers that a workflow's file declares. They are created, changed and removed with the workflow.

A rule `night` of the workflow `news` becomes the trigger `news.night`. A rule that waits for a task's output becomes a condition on data.
Files arrive in a source folder without an event, so a rule that waits for a source looks at the folder at a fixed interval, and fires if
there is something to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.backend.triggers.conditions.time import next_instant
from headwater.backend.triggers.document import definition_document
from headwater.backend.triggers.service import Triggers
from headwater.backend.workflows import Workflow
from headwater.backend.workflows.model import TriggerRule
from headwater.errors import HeadwaterError, InvalidInputError
from headwater.graph.model import NodeKind, node_id
from headwater.paths import name_of_path

LOOK = "1m"  # interval between two checks of a source folder


def rule_problems(workflow: Workflow) -> list[HeadwaterError]:
    """Return the errors in the cron expressions and time zones of a workflow."""
    found: list[HeadwaterError] = []
    for rule in workflow.triggers.values():
        if rule.every is not None:
            try:
                next_instant({"cron": rule.every, "zone": rule.zone}, 0.0, 0.0)
            except InvalidInputError as error:
                found.append(InvalidInputError(f"triggers.{rule.name}: {error.message}", field=f"triggers.{rule.name}", hint=error.hint))
    return found


async def apply_rules(triggers: Triggers, tenant: str, workflow: Workflow, owner: Mapping[str, Any]) -> list[str]:
    """Create, change and remove triggers until they match a workflow's rules, and return their names.

    An unchanged trigger keeps its history. Triggers that people made are never changed, whatever their names are.

    Raises:
        InvalidInputError: a person made a trigger with the name of a rule. Nothing is applied.
        HeadwaterError: a rule is invalid. The rules before it are applied.
    """
    wanted = {f"{workflow.name}.{rule.name}": rule for rule in workflow.triggers.values()}
    known = {trigger.name: trigger for trigger in await triggers.all(tenant)}
    present = {name: trigger for name, trigger in known.items() if trigger.workflow == workflow.name}
    if taken := sorted(name for name in wanted if name in known and name not in present):
        raise InvalidInputError(
            f"The workflow {workflow.name} declares the trigger {taken[0]}, and somebody made a trigger with this name.",
            field=f"triggers.{wanted[taken[0]].name}",
            hint=f"Rename the rule, or remove that trigger first: headwater triggers remove {taken[0]}",
        )
    for name in present.keys() - wanted.keys():
        await triggers.remove(tenant, name)
    for name, rule in wanted.items():
        document = _document(name, rule, workflow)
        if name in present:
            if definition_document(await triggers.check(tenant, document)) == definition_document(present[name].definition):
                continue
            await triggers.remove(tenant, name)
        await triggers.create(tenant, document, owner, workflow=workflow.name)
    return list(wanted)


def _document(name: str, rule: TriggerRule, workflow: Workflow) -> dict[str, Any]:
    return {"name": name, "when": _condition(rule, workflow), "do": {"workflow": {"name": workflow.name, "tasks": list(rule.run)}}}


def _condition(rule: TriggerRule, workflow: Workflow) -> dict[str, Any]:
    if rule.every is not None:
        return {"time": {"cron": rule.every, "zone": rule.zone}}
    channel = workflow.channels[str(rule.on)]
    if channel.name not in workflow.written:
        return {"time": {"every": LOOK, "missed": "once", "source": channel.name}}
    return {"data": {"dataset": node_id(NodeKind.DATASET, *name_of_path(str(channel.path)))}}
