"""Looks for deviations from policies that opened, for conditions of the kind `deviation`.

A look reads the openings after the last look by their numbers. The position is stored together with the causes, so any process can
continue where another ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.policies import FiledDeviation, has_policies
from headwater.backend.policies.store import PolicyStore, open_policy_store
from headwater.backend.triggers.conditions import KINDS
from headwater.backend.triggers.conditions.deviation import deviation_fact
from headwater.backend.triggers.model import Definition, Trigger, TriggerState
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.cause_writer import Match

_PAUSE, _IDLE = 1.0, 5.0  # seconds between two looks at the openings of a tenant
_MOST = 500  # openings of one look


class Openings:
    """The conditions of the kind `deviation` of all tenants."""

    def __init__(self, store: TriggerStore, settings: HomeSettings) -> None:
        self._store = store
        self._settings = settings
        self._policies: PolicyStore | None = None
        self._due: dict[str, float] = {}  # the next look for each tenant, on the clock of the event loop

    async def look(self, tenant: str) -> int:
        """Record the deviations of a tenant that opened since the last look. Returns the number of openings read."""
        now = asyncio.get_running_loop().time()
        if now < self._due.get(tenant, 0.0):
            return 0
        waiting = await self._waiting(tenant)
        self._due[tenant] = now + (_PAUSE if waiting else _IDLE)
        if not waiting:
            return 0
        after = await asyncio.to_thread(self._store.definitions.opening, tenant)
        first = max(after, min(trigger.opening for trigger in waiting))
        opened = await asyncio.to_thread(self._read, tenant, first)
        if not opened:
            return 0
        waiting = await self._waiting(tenant)  # again: a trigger that is stored only now does not wait for these openings
        matches = [
            Match(trigger.id, place, fact)
            for number, fact in ((number, deviation_fact(filed)) for number, filed in opened)
            for trigger in waiting
            if number > trigger.opening
            for place, member in enumerate(trigger.definition.condition.members)
            if member.kind == "deviation" and KINDS[member.kind].fulfils(member.parts, fact)
        ]
        record = partial(self._store.causes.record_openings, tenant, matches, after=after, upto=opened[-1][0])
        await asyncio.to_thread(record)
        return len(opened)

    def close(self) -> None:
        if self._policies is not None:
            self._policies.close()

    async def _waiting(self, tenant: str) -> list[Trigger]:
        triggers = await asyncio.to_thread(self._store.definitions.all, tenant)
        return [one for one in triggers if one.state is TriggerState.ACTIVE and waits_for_deviations(one.definition)]

    def _read(self, tenant: str, after: int) -> Sequence[tuple[int, FiledDeviation]]:
        if self._policies is None:
            if not has_policies(self._settings):
                return ()
            self._policies = open_policy_store(self._settings)
        return self._policies.opened_after(tenant, after, _MOST)


def waits_for_deviations(definition: Definition) -> bool:
    return any(member.kind == "deviation" for member in definition.condition.members)
