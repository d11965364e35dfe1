"""Looks whether datasets are silent for too long, for conditions of the kind `stale`.

A look asks the graph for the last version of one dataset. The next look is due when the dataset could be stale at the earliest, and the
store keeps this time. Several processes may look at once: the id of a fact names the last version, so each silence fires once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from headwater.backend.ingest.log import IngestLog
from headwater.backend.triggers.conditions.stale import next_look, stale_fact
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.cause_writer import Match
from headwater.graph.model import Node, NodeKind
from headwater.graph.stores import GraphStore
from headwater.graph.stores.write_times import WRITTEN_AT, with_ends

_PAUSE = 1.0  # seconds between two questions for the looks that are due
_BEHIND = 600.0  # seconds for which a look waits for the projection of the log
_VERSIONS, _MOST_VERSIONS = 20, 500  # versions read together: the last ones, and earlier ones if no run completed these


class Silence:
    """The conditions of the kind `stale` of all tenants. `clock` returns the time in seconds since 1970."""

    def __init__(self, store: TriggerStore, log: IngestLog, graph: GraphStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._log = log
        self._graph = graph
        self._clock = clock
        self._tenants: dict[str, float] = {}  # the next question for each tenant
        self._written: dict[tuple[str, str], float] = {}  # the time of the last completed version of each dataset

    async def look(self, tenant: str) -> int:
        """Record the datasets of a tenant that are stale now. Returns the number of executions ordered."""
        now = self._clock()
        if now < self._tenants.get(tenant, 0.0):
            return 0
        due = await asyncio.to_thread(self._store.definitions.due_looks, tenant, now)
        self._tenants[tenant] = now + _PAUSE
        if not due:
            return 0
        behind = await self._is_behind(tenant)
        matches = []
        looks: dict[tuple[str, int], float] = {}
        for trigger, place in due:
            parts = trigger.definition.condition.members[place].parts
            dataset, after = str(parts["dataset"]), float(parts["after"])
            written = await self._last_write(tenant, dataset)
            fact = stale_fact(dataset, written, trigger.created, after, now)
            if fact is not None and behind and now < fact.at + _BEHIND:  # the log may have a newer version
                continue
            looks[trigger.id, place] = next_look(written, trigger.created, after, now)
            if fact is not None:
                matches.append(Match(trigger.id, place, fact))
        ordered = await asyncio.to_thread(partial(self._store.causes.record_facts, tenant, matches)) if matches else 0
        await asyncio.to_thread(self._store.definitions.set_looks, looks)
        return ordered

    async def _is_behind(self, tenant: str) -> bool:
        return await self._graph.offset(tenant) < await asyncio.to_thread(self._log.latest, tenant)

    async def _last_write(self, tenant: str, dataset: str) -> float | None:
        """Return the time of the last version that a run completed, or None.

        Usually the last versions have one. Otherwise the time of an earlier look is still right, and only the first look of a process
        reads back to the last completed version.
        """
        moment = (dataset, None)
        found = await self._graph.latest_at(tenant, [moment], NodeKind.VERSION, first=_VERSIONS)
        written = await self._last_completed(tenant, found.get(moment, ()))
        known = self._written.get((tenant, dataset))
        skip = 0
        while written is None and known is None:
            page = await self._graph.latest(tenant, dataset, NodeKind.VERSION, first=_MOST_VERSIONS, skip=skip)
            written = await self._last_completed(tenant, page.nodes)
            skip += len(page.nodes)
            if not page.nodes or skip >= page.total:
                break
        if written is not None or known is not None:
            written = self._written[tenant, dataset] = max(written or 0.0, known or 0.0)
        return written

    async def _last_completed(self, tenant: str, versions: Sequence[Node]) -> float | None:
        times = [version.properties.get(WRITTEN_AT) for version in await with_ends(self._graph, tenant, versions)]
        return max((_seconds(at) for at in times if isinstance(at, str)), default=None)


def _seconds(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
