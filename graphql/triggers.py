"""Triggers in the schema, with their causes and executions.

Predicates may contain values of records, so they are shown only to callers who may see values.
"""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from headwater.errors import InvalidQueryError
from headwater.graph.access.scopes import Scope
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.root_fields import COSTLY, mutation, query
from headwater.graphql.services import available
from headwater.graphql.types import Info


@strawberry.enum(description="PAUSED by a person; STOPPED because its owner may not do it any more. Only ACTIVE triggers fire.")
class TriggerState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    STOPPED = "stopped"


@strawberry.enum(
    description="What became of a cause. SKIPPED: a limit, the owner's rights or a missed time forbade it; `reason` says which."
)
class CauseOutcome(StrEnum):
    FIRED = "fired"
    SKIPPED = "skipped"


@strawberry.enum(description="INTERRUPTED: the process that ran it ended, and it may not run again. The last three are final.")
class ExecutionState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@strawberry.type(description="One run of a trigger's action. `attempts` counts its starts.")
class TriggerExecution:
    id: strawberry.ID
    state: ExecutionState
    attempts: int
    created_at: str
    started_at: str | None
    ended_at: str | None
    result: str | None
    error: str | None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> TriggerExecution:
        return cls(
            id=strawberry.ID(document["id"]), state=ExecutionState(document["state"]), attempts=document["attempt"],
            created_at=document["created_at"], started_at=document["started_at"], ended_at=document["ended_at"],
            result=document["result"], error=document["error"],
        )  # fmt: skip


@strawberry.type(description="What made a trigger fire, or would have. Each cause fires once.")
class TriggerCause:
    """A cause of a trigger. `depth` counts the causes in its chain. `facts` fulfilled the condition."""

    id: str
    at: str
    outcome: CauseOutcome
    reason: str | None
    depth: int
    facts: JSON
    execution: TriggerExecution | None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> TriggerCause:
        execution = document["execution"]
        return cls(
            id=document["cause"], at=document["at"], outcome=CauseOutcome(document["outcome"]), reason=document["reason"],
            depth=document["depth"], facts=JSON(document["facts"]), execution=TriggerExecution.of(execution) if execution else None,
        )  # fmt: skip


@strawberry.type(description="Something that the service does when something happens. `condition` and `action` are sentences.")
class Trigger:
    """A trigger. `definition` has the form of `createTrigger`, with ids instead of names."""

    id: strawberry.ID
    name: str
    state: TriggerState
    reason: str | None = strawberry.field(description="Why it is paused or stopped.")
    condition: str
    action: str
    owner: str = strawberry.field(description="Whose rights its action uses.")
    created_at: str
    last_fired_at: str | None
    definition: JSON

    @strawberry.field(description="Its causes, the latest first. `before` is the time of a cause, for the next page.", metadata=COSTLY)
    async def history(self, info: Info, first: int = 10, before: str | None = UNSET) -> list[TriggerCause]:
        triggers = available(info.context.services.triggers, "Triggers")
        found = await triggers.history(
            info.context.tenant, self.id, first=bounded(first, "first", low=1, high=MAX_PAGE), before=before or None
        )
        return [TriggerCause.of(one) for one in found]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Trigger:
        return cls(
            id=strawberry.ID(document["id"]), name=document["name"], state=TriggerState(document["state"]), reason=document["reason"],
            condition=document["condition"], action=document["action"], owner=document["owner"], created_at=document["created_at"],
            last_fired_at=document["last_fired_at"], definition=JSON(document["definition"]),
        )  # fmt: skip


@strawberry.type(description="When a trigger would have fired in a period. `entries` of the log were read; `notes` say what is not known.")
class TriggerRehearsal:
    causes: list[TriggerCause]
    entries: int
    notes: list[str]


@strawberry.type(description="A target of notifications that the operator lists: a webhook, or mail. Its addresses are not shown.")
class NotificationTarget:
    name: str
    kind: str


@strawberry.type
class TriggerQuery:
    @query("The targets of notifications that the operator lists.", scope=Scope.REPLAY, costly=False)
    async def notification_targets(self, info: Info) -> list[NotificationTarget]:
        found = await available(info.context.services.triggers, "Triggers").targets()
        return [NotificationTarget(name=name, kind=kind) for name, kind in sorted(found.items())]

    @query("The triggers by name.", scope=Scope.READ, costly=False)
    async def triggers(self, info: Info) -> list[Trigger]:
        service = available(info.context.services.triggers, "Triggers")
        return [Trigger.of(one) for one in await service.list(info.context.tenant)]

    @query("A trigger by its name or id; null if there is none.", scope=Scope.READ, costly=False)
    async def trigger(self, info: Info, name: str) -> Trigger | None:
        found = await available(info.context.services.triggers, "Triggers").get(info.context.tenant, name)
        return Trigger.of(found) if found is not None else None

    @query(
        "When a trigger, or the one that `definition` describes, would have fired between two times (ISO 8601). Nothing runs.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def test_trigger(
        self, info: Info, since: str, until: str | None = UNSET, name: str | None = UNSET, definition: JSON | None = UNSET
    ) -> TriggerRehearsal:
        """Return when a trigger would have fired. Exactly one of `name` and `definition` must be given."""
        if bool(name) == bool(definition):
            raise InvalidQueryError("Either name or definition is needed.", field="name", hint="Name a trigger, or describe one.")
        service = available(info.context.services.triggers, "Triggers")
        async with info.context.audited("trigger.test", name or "a definition"):
            found = await service.test(
                info.context.tenant, since=since, until=until or None, name=name or None, definition=_object(definition)
            )
        return TriggerRehearsal(
            causes=[TriggerCause.of(one) for one in found["causes"]], entries=found["entries"], notes=list(found["notes"])
        )


@strawberry.type
class TriggerMutation:
    @mutation(
        "Create a trigger of {name, when, do, limits}; docs/guide/triggers.md lists the parts. Its owner is the caller.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def create_trigger(self, info: Info, definition: JSON) -> Trigger:
        """Create a trigger. Earlier events do not fire it."""
        stated = _object(definition) or {}
        async with info.context.audited("trigger.create", str(stated.get("name"))[:200], changes=True):
            return Trigger.of(await available(info.context.services.triggers, "Triggers").create(info.context.tenant, stated))

    @mutation("Fire a trigger by hand, whatever its condition. A key fires it once.", scope=Scope.REPLAY, costly=False)
    async def fire_trigger(self, info: Info, name: str, key: str | None = UNSET) -> TriggerCause:
        async with info.context.audited("trigger.fire_by_hand", name, changes=True):
            service = available(info.context.services.triggers, "Triggers")
            return TriggerCause.of(await service.fire(info.context.tenant, name, key=key or None))

    @mutation("Pause a trigger. Events until it is resumed do not fire it.", scope=Scope.REPLAY, costly=False)
    async def pause_trigger(self, info: Info, name: str, reason: str | None = UNSET) -> Trigger:
        async with info.context.audited("trigger.pause", name, changes=True):
            return Trigger.of(await available(info.context.services.triggers, "Triggers").pause(info.context.tenant, name, reason or None))

    @mutation("Start a paused or stopped trigger again. Its owner is the caller from then on.", scope=Scope.REPLAY, costly=False)
    async def resume_trigger(self, info: Info, name: str) -> Trigger:
        async with info.context.audited("trigger.resume", name, changes=True):
            return Trigger.of(await available(info.context.services.triggers, "Triggers").resume(info.context.tenant, name))

    @mutation("Remove a trigger with its history.", scope=Scope.REPLAY, costly=False)
    async def remove_trigger(self, info: Info, name: str) -> Trigger:
        async with info.context.audited("trigger.remove", name, changes=True):
            return Trigger.of(await available(info.context.services.triggers, "Triggers").remove(info.context.tenant, name))


def _object(definition: Any) -> dict[str, Any] | None:
    if definition is None or definition is UNSET:
        return None
    if not isinstance(definition, dict):
        raise InvalidQueryError("The definition is no object.", field="definition", hint="docs/guide/triggers.md shows one.")
    return definition
