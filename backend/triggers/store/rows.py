"""Converts rows of the store to the types of triggers, and takes the lock of a tenant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headwater.backend.tables.database import Connection, Row
from headwater.backend.triggers.model import (
    Cause,
    Combination,
    Condition,
    Definition,
    Execution,
    ExecutionState,
    Fact,
    Limits,
    Member,
    Outcome,
    Trigger,
    TriggerState,
)

TRIGGER = "d.id, d.tenant, d.document, d.owner, d.state, d.reason, d.created, d.since, d.last_fired, d.workflow, d.opening"
EXECUTION = "e.id, e.tenant, e.trigger_id, e.cause, e.depth, e.state, e.attempt, e.created, e.started, e.ended, e.error, e.result"
CAUSE = "c.trigger_id, c.cause, c.at, c.depth, c.outcome, c.reason, c.facts, c.execution"


def lock_tenant(connection: Connection, tenant: str) -> int:
    """Lock the tenant until the end of the transaction, and return the log offset up to which causes were found."""
    connection.run("INSERT INTO trigger_lock (tenant, number) VALUES (:tenant, 0) ON CONFLICT (tenant) DO NOTHING", tenant=tenant)
    return int(connection.run("UPDATE trigger_lock SET number = number WHERE tenant = :tenant RETURNING number", tenant=tenant)[0][0])


def trigger_of(row: Row) -> Trigger:
    identifier, tenant, document, owner, state, reason, created, since, last_fired, workflow, opening = row
    return Trigger(
        identifier,
        tenant,
        definition_of(document),
        json.loads(owner),
        TriggerState(state),
        reason,
        created,
        int(since),
        last_fired,
        workflow,
        int(opening),
    )


def execution_of(row: Row) -> Execution:
    identifier, tenant, trigger, cause, depth, state, *rest = row
    return Execution(identifier, tenant, trigger, cause, depth, ExecutionState(state), *rest)


def cause_of(row: Row) -> Cause:
    trigger, cause, at, depth, outcome, reason, facts, execution = row
    return Cause(trigger, cause, at, depth, Outcome(outcome), reason, [Fact.from_json(one) for one in json.loads(facts)], execution)


def document_of(definition: Definition) -> str:
    condition = definition.condition
    return json.dumps(
        {
            "name": definition.name,
            "condition": {
                "combination": str(condition.combination), "within": condition.within,
                "members": [[member.kind, dict(member.parts)] for member in condition.members],
            },
            "action": [definition.action.kind, dict(definition.action.parts)],
            "limits": {
                "concurrent": definition.limits.concurrent, "cool_down": definition.limits.cool_down, "chain": definition.limits.chain
            },
        }
    )  # fmt: skip


@lru_cache(4096)
def definition_of(document: str) -> Definition:
    parts: Mapping[str, Any] = json.loads(document)
    stated = parts["condition"]
    members = [Member(kind, of_kind) for kind, of_kind in stated["members"]]
    return Definition(
        parts["name"], Condition(Combination(stated["combination"]), members, stated["within"]), Member(*parts["action"]),
        Limits(**parts["limits"]),
    )  # fmt: skip
