"""Triggers, causes and executions as JSON, for the command line and for answers of a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headwater.backend.triggers.actions import ACTIONS
from headwater.backend.triggers.conditions import COMBINATIONS, KINDS
from headwater.backend.triggers.model import UNEVALUATED, Combination, Condition, Definition, Execution, Fact, Trigger, instant
from headwater.backend.triggers.service import Entry

_PREDICATES = ("where", "set")  # parts of a definition that may contain values of records


def describe_condition(condition: Condition) -> str:
    """Return a condition in words. Predicates are left out."""
    parts = [KINDS[member.kind].describe(member.parts) for member in condition.members]
    if condition.combination is Combination.ONE:
        return parts[0]
    word = " and " if condition.combination is Combination.ALL else " or "
    return word.join(parts) + (f", within {condition.within:g} s" if condition.within is not None else "")


def describe_action(definition: Definition) -> str:
    """Return an action in words. Predicates are left out."""
    kind = definition.action.kind
    return ACTIONS[kind].describe(definition.action.parts) if kind in ACTIONS else kind


def definition_document(definition: Definition, *, has_values: bool = True) -> dict[str, Any]:
    """Return a definition in the form that people write. Names are replaced by ids.

    Predicates may contain values of records, so they are included only if `has_values` is true. Otherwise `hidden` names the parts that
    are left out. A definition with `hidden` cannot be used to create a trigger, which would wait for less than the original.
    """
    condition, limits = definition.condition, definition.limits
    members: list[Any] = [{member.kind: _parts(member.parts, has_values=has_values)} for member in condition.members]
    when = members[0]
    if condition.combination is not Combination.ONE:
        kind = next(name for name, known in COMBINATIONS.items() if known.combination is condition.combination)
        when = {kind: {"of": members, **({"within": condition.within} if condition.within is not None else {})}}
    return {
        "name": definition.name, "when": when, "do": {definition.action.kind: _parts(definition.action.parts, has_values=has_values)},
        "limits": {"concurrent": limits.concurrent, "cool_down": limits.cool_down or None, "chain": limits.chain},
    }  # fmt: skip


def trigger_document(trigger: Trigger, *, has_values: bool = True) -> dict[str, Any]:
    return {
        "id": trigger.id, "name": trigger.name, "state": str(trigger.state), "reason": trigger.reason,
        "condition": describe_condition(trigger.definition.condition), "action": describe_action(trigger.definition),
        "owner": str(trigger.owner.get("name")), "created_at": instant(trigger.created),
        "last_fired_at": instant(trigger.last_fired) if trigger.last_fired is not None else None,
        "definition": definition_document(trigger.definition, has_values=has_values),
    }  # fmt: skip


def entry_document(entry: Entry, *, has_values: bool = True) -> dict[str, Any]:
    """Return a cause with its execution as JSON.

    Reasons of predicates and errors of actions may contain values of records, so they are included only if `has_values` is true.
    """
    cause, execution = entry.cause, entry.execution
    reason = cause.reason
    if not has_values and reason is not None and reason.startswith(UNEVALUATED):
        reason = f"{UNEVALUATED}."
    if not has_values and execution is not None and execution.error is not None:
        execution = replace(execution, error="The action failed. Its error is shown to callers who may see values of records.")
    return {
        "cause": cause.id, "at": instant(cause.at), "outcome": str(cause.outcome), "reason": reason, "depth": cause.depth,
        "facts": [fact_document(fact) for fact in cause.facts],
        "execution": execution_document(execution) if execution is not None else None,
    }  # fmt: skip


def fact_document(fact: Fact) -> dict[str, Any]:
    return {"kind": str(fact.kind), "subject": fact.subject, "id": fact.id, "at": instant(fact.at), "run": fact.run, **fact.details}


def execution_document(execution: Execution) -> dict[str, Any]:
    times = {"created_at": execution.created, "started_at": execution.started, "ended_at": execution.ended}
    return {
        "id": execution.id, "state": str(execution.state), "attempt": execution.attempt, "error": execution.error,
        "result": execution.result, **{name: instant(at) if at is not None else None for name, at in times.items()},
    }  # fmt: skip


def _parts(parts: Mapping[str, Any], *, has_values: bool) -> dict[str, Any]:
    if "jobs" in parts:  # the form in which people write a cascade
        return {"job": parts["jobs"][0], "state": parts["state"]}
    if "trigger" in parts:
        return {"name": parts["name"]}
    hidden = [] if has_values else [name for name in _PREDICATES if parts.get(name) is not None]
    shown = {name: part for name, part in parts.items() if name not in hidden}
    return {**shown, "hidden": hidden} if hidden else shown
