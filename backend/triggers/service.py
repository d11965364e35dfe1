"""The operations on triggers: create, list, fire, pause, resume, remove, and test against history.

The command line and the service use this module. It does not check the rights of callers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from headwater.backend.policies import Policies, has_policies
from headwater.backend.policies.store import open_policy_store
from headwater.backend.triggers.actions import Site
from headwater.backend.triggers.conditions import KINDS
from headwater.backend.triggers.definition import read_definition
from headwater.backend.triggers.history import Rehearsal, awaited_triggers, rehearse
from headwater.backend.triggers.loops import check_cycles
from headwater.backend.triggers.model import (
    Cause,
    Definition,
    Execution,
    Fact,
    FactKind,
    Trigger,
    TriggerState,
)
from headwater.backend.triggers.names import Names
from headwater.backend.triggers.openings import waits_for_deviations
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.tenant_records import TenantRecords
from headwater.errors import InvalidInputError

_LONGEST_KEY = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """A cause and its execution, if there is one."""

    cause: Cause
    execution: Execution | None


class Triggers:
    """The triggers of one home or service."""

    def __init__(self, store: TriggerStore, site: Site) -> None:
        self._store = store
        self._site = site

    async def create(self, tenant: str, document: Mapping[str, Any], owner: Mapping[str, Any], *, workflow: str | None = None) -> Trigger:
        """Check and store a trigger. Earlier events do not fire it. `workflow` is the workflow whose file declares the trigger.

        Raises:
            HeadwaterError: a part of the document is invalid, or the trigger would fire itself.
        """
        definition = await self._checked(tenant, document)
        await check_cycles(self._graph, tenant, definition, await self.all(tenant))
        since, opening = await asyncio.to_thread(self._present, tenant, definition)
        create = partial(self._store.definitions.create, tenant, definition, owner, since=since, opening=opening, workflow=workflow)
        return await asyncio.to_thread(create)

    async def check(self, tenant: str, document: Mapping[str, Any]) -> Definition:
        """Parse and check a definition. Raises like `create`, but does not look for cycles."""
        return await self._checked(tenant, document)

    async def all(self, tenant: str) -> list[Trigger]:
        return await asyncio.to_thread(self._store.definitions.all, tenant)

    async def get(self, tenant: str, name: str) -> Trigger:
        return await asyncio.to_thread(self._store.definitions.get, tenant, name)

    async def history(self, trigger: Trigger, *, first: int = 10, before: float | None = None) -> list[Entry]:
        """Return the latest causes of a trigger with their executions, newest first."""
        causes = await asyncio.to_thread(partial(self._store.causes.of, trigger.id, first=first, before=before))
        found = await asyncio.to_thread(self._store.executions.of, [cause.execution for cause in causes if cause.execution])
        return [Entry(cause, found.get(cause.execution or "")) for cause in causes]

    async def execution(self, tenant: str, identifier: str) -> Execution | None:
        return await asyncio.to_thread(self._store.executions.get, tenant, identifier)

    async def fire(self, tenant: str, name: str, *, key: str | None = None, by: str = "", parent: str | None = None) -> Cause:
        """Fire a trigger by hand, whatever its condition. A `key` that was used before fires nothing, and returns the first cause.

        `parent` is the execution whose action asks for the firing, if any. The new cause then belongs to the chain of that execution.

        Raises:
            NotFoundError: there is no such trigger.
            InvalidInputError: the trigger is paused or stopped.
        """
        trigger = await self.get(tenant, name)
        if trigger.state is not TriggerState.ACTIVE:
            reason = f": {trigger.reason}" if trigger.reason else ""
            raise InvalidInputError(f"The trigger {trigger.name} is {trigger.state}{reason}.", field="name", hint="Resume it first.")
        if key is not None and not 0 < len(key) <= _LONGEST_KEY:
            raise InvalidInputError("The key is empty or too long.", field="key", hint=f"It has up to {_LONGEST_KEY} characters.")
        depths = await asyncio.to_thread(self._store.executions.depths, tenant, [parent]) if parent else {}
        identifier = f"manual {key or uuid4()}"
        fact = Fact(FactKind.MANUAL, trigger.id, identifier, time.time(), depths.get(parent or "", 0), details={"by": by} if by else {})
        return await asyncio.to_thread(self._store.causes.fire, trigger, fact)

    async def pause(self, tenant: str, name: str, *, reason: str | None = None) -> Trigger:
        """Pause a trigger. Events before `resume` never fire it."""
        trigger = await self.get(tenant, name)
        return await asyncio.to_thread(self._store.definitions.set_state, trigger, TriggerState.PAUSED, reason)

    async def resume(self, tenant: str, name: str, owner: Mapping[str, Any]) -> Trigger:
        """Start a trigger again. The caller becomes its owner."""
        trigger = await self.get(tenant, name)
        since, opening = await asyncio.to_thread(self._present, tenant, trigger.definition)
        resume = partial(self._store.definitions.set_state, trigger, TriggerState.ACTIVE, since=since, opening=opening, owner=owner)
        return await asyncio.to_thread(resume)

    async def remove(self, tenant: str, name: str) -> Trigger:
        """Remove a trigger with its history.

        Raises:
            InvalidInputError: another trigger waits for it.
        """
        trigger = await self.get(tenant, name)
        for other in await self.all(tenant):
            for member in other.definition.condition.members:
                if (FactKind.FIRED, trigger.id) in KINDS[member.kind].subjects(member.parts, other.id):
                    raise InvalidInputError(
                        f"The trigger {other.name} waits for {trigger.name}.", field="name", hint=f"Remove {other.name} first."
                    )
        await asyncio.to_thread(self._store.definitions.remove, trigger)
        return trigger

    async def test(
        self, tenant: str, *, since: float, until: float, name: str | None = None, document: Mapping[str, Any] | None = None
    ) -> Rehearsal:
        """Return when a stored trigger or a given definition would have fired in a period. No action runs."""
        definition, *_ = await self.tested(tenant, name=name, document=document)
        return await rehearse(self._site.workspace, tenant, definition, await self.all(tenant), since=since, until=until)

    async def tested(self, tenant: str, *, name: str | None, document: Mapping[str, Any] | None) -> list[Definition]:
        """Return the definition under test, and the definitions of all triggers that it waits for."""
        if document is not None:
            definition = await self._checked(tenant, document)
        else:
            definition = (await self.get(tenant, name or "")).definition
        others = {one.id: one for one in await self.all(tenant)}
        return [definition, *(one.definition for one in awaited_triggers(definition, others))]

    def _present(self, tenant: str, definition: Definition) -> tuple[int, int]:
        """Return the positions in the log and in the openings of deviations. What happened before them does not fire a trigger."""
        workspace = self._site.workspace
        since = workspace.log.latest(tenant)
        if not waits_for_deviations(definition) or not has_policies(workspace.settings):
            return since, 0
        with closing(open_policy_store(workspace.settings)) as policies:
            return since, policies.last_opening(tenant)

    async def _checked(self, tenant: str, document: Mapping[str, Any]) -> Definition:
        records = TenantRecords(self._site.workspace)
        try:
            names = Names(
                self._store, self._graph, records.of(tenant), tenant, lambda: Policies(self._site.workspace.settings, self._graph)
            )
            return await read_definition(document, names, self._site, tenant)
        finally:
            await asyncio.to_thread(records.close)

    @property
    def _graph(self) -> Any:
        return self._site.workspace.graph
