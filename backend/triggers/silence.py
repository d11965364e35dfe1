"""Looks whether datasets are silent for too long, for conditions of the kind `stale`.

A look asks the graph for the last version of one dataset. The next look is due when the dataset could be stale at the earliest. Several
processes may look at once: the id of a fact names the last version, so each silence fires once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from headwater.backend.ingest.log import IngestLog
from headwater.backend.triggers.conditions.stale import next_look, stale_fact
from headwater.backend.triggers.model import TriggerState
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.cause_writer import Match
from headwater.graph.model import NodeKind
from headwater.graph.stores import GraphStore
from headwater.graph.stores.write_times import WRITTEN_AT, with_ends

_PAUSE, _IDLE = 1.0, 5.0  # seconds between two looks at the triggers of a tenant
_BEHIND = 600.0  # seconds for which a look waits for the projection of the log
_VERSIONS = 20  # the last versions of a dataset, some of which runs did not complete


class Silence:
    """The conditions of the kind `stale` of all tenants. `clock` returns the time in seconds since 1970."""

    def __init__(self, store: TriggerStore, log: IngestLog, graph: GraphStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._log = log
        self._graph = graph
        self._clock = clock
        self._tenants: dict[str, float] = {}  # the next look at the triggers of each tenant
        self._due: dict[tuple[str, int], float] = {}  # the next look at the dataset of a condition

    async def look(self, tenant: str) -> int:
        """Record the datasets of a tenant that are stale now. Returns the number of executions ordered."""
        now = self._clock()
        if now < self._tenants.get(tenant, 0.0):
            return 0
        triggers = await asyncio.to_thread(self._store.definitions.all, tenant)
        waiting = {
            (trigger.id, place): (member.parts, trigger)
            for trigger in triggers
            if trigger.state is TriggerState.ACTIVE
            for place, member in enumerate(trigger.definition.condition.members)
            if member.kind == "stale"
        }
        self._tenants[tenant] = now + (_PAUSE if waiting else _IDLE)
        due = {key: found for key, found in waiting.items() if now >= self._due.get(key, 0.0)}
        if not due:
            return 0
        behind = await self._is_behind(tenant)
        matches = []
        for (identifier, place), (parts, trigger) in due.items():
            dataset, after = str(parts["dataset"]), float(parts["after"])
            written = await self._last_write(tenant, dataset)
            fact = stale_fact(dataset, written, trigger.created, after, now)
            if fact is not None and behind and now < fact.at + _BEHIND:  # the log may have a newer version
                continue
            self._due[identifier, place] = next_look(written, trigger.created, after, now)
            if fact is not None:
                matches.append(Match(identifier, place, fact))
        return await asyncio.to_thread(partial(self._store.causes.record_facts, tenant, matches)) if matches else 0

    async def _is_behind(self, tenant: str) -> bool:
        return await self._graph.offset(tenant) < await asyncio.to_thread(self._log.latest, tenant)

    async def _last_write(self, tenant: str, dataset: str) -> float | None:
        """Return the time of the last version that a run completed, or None."""
        found = await self._graph.latest_at(tenant, [(dataset, None)], NodeKind.VERSION, first=_VERSIONS)
        versions = [version for several in found.values() for version in several]
        times = [version.properties.get(WRITTEN_AT) for version in await with_ends(self._graph, tenant, versions)]
        return max((_seconds(at) for at in times if isinstance(at, str)), default=None)


def _seconds(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
