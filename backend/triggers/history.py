"""Computes when a trigger would have fired in a period of the past.

The log entries and the clock instants of the period go through the usual code, with a store in memory. Predicates are evaluated on the
present files, if the rows of a version still exist.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import uuid4

from headwater.backend.ingest.log import Entry
from headwater.backend.tables.sqlite import SqliteDatabase
from headwater.backend.triggers.conditions.time import next_instant
from headwater.backend.triggers.evaluator import Evaluator
from headwater.backend.triggers.model import Cause, Definition, Trigger, TriggerState
from headwater.backend.triggers.owners import HOME
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.definitions import insert
from headwater.backend.triggers.store.tables import SCHEMA
from headwater.backend.triggers.tenant_records import TenantRecords
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidQueryError

MOST_ENTRIES = 100_000  # limit of log entries in a period
MOST_INSTANTS = 10_000  # limit of tested instants of time conditions
_PAGE = 1_000
_UNTESTED = {"stale": "The silence of a dataset is", "deviation": "Deviations from policies are"}  # no entry of the log states them


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The causes of a period, in order. `notes` name the facts that could not be found."""

    causes: Sequence[Cause]
    entries: int
    notes: Sequence[str]


async def rehearse(
    workspace: Workspace, tenant: str, definition: Definition, others: Sequence[Trigger], *, since: float, until: float
) -> Rehearsal:
    """Return the causes of a trigger in a period. `others` are the triggers that its condition may refer to.

    Raises:
        InvalidQueryError: the period ends before it begins.
    """
    if until <= since:
        raise InvalidQueryError("The period ends before it begins.", field="until", hint="Name an earlier beginning.")
    clock = _Clock(since)
    database = SqliteDatabase(SCHEMA, None, clock=lambda: clock.now)
    store = TriggerStore(database)
    records = TenantRecords(workspace)
    try:
        made = {one.id: one for one in others}
        wanted = awaited_triggers(definition, made)
        for other in wanted:
            _insert(database, replace(other, since=0, state=TriggerState.ACTIVE, last_fired=None, tenant=tenant))
        trigger = Trigger(
            uuid4().hex, tenant, replace(definition, name=f"{definition.name} "), HOME, TriggerState.ACTIVE, None, since, 0, None
        )
        _insert(database, trigger)
        entries, notes = await asyncio.to_thread(_entries, workspace, tenant, since, until)
        kinds = {member.kind for one in (*wanted, trigger) for member in one.definition.condition.members}
        notes += [f"{what} not tested: causes of the kind {kind} are missing." for kind, what in _UNTESTED.items() if kind in kinds]
        notes += await _play(workspace, records, tenant, store, clock, entries, [*wanted, trigger], until)
        found = await asyncio.to_thread(lambda: store.causes.of(trigger.id, first=1_000_000))
        return Rehearsal(sorted(found, key=lambda cause: (cause.at, cause.id)), len(entries), notes)
    finally:
        records.close()
        store.close()


@dataclass
class _Clock:
    now: float


def awaited_triggers(definition: Definition, others: dict[str, Trigger]) -> list[Trigger]:
    """Return the triggers that a definition waits for, directly or through other triggers."""
    found: dict[str, Trigger] = {}
    waiting = [definition]
    while waiting:
        for member in waiting.pop().condition.members:
            if member.kind == "trigger" and (other := others.get(member.parts["trigger"])) is not None and other.id not in found:
                found[other.id] = other
                waiting.append(other.definition)
    return list(found.values())


def _insert(database: SqliteDatabase, trigger: Trigger) -> None:
    with database.transaction() as connection:
        insert(connection, trigger)


def _entries(workspace: Workspace, tenant: str, since: float, until: float) -> tuple[list[Entry], list[str]]:
    begin, end = (datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds") for at in (since, until))
    found: list[Entry] = []
    before: int | None = None
    read = 0
    while page := workspace.log.read_back(tenant, before=before, limit=_PAGE):
        found += [entry for entry in page if begin <= entry.received < end]
        before, read = page[-1].offset, read + len(page)
        if page[-1].received < begin:
            return found[::-1], []
        if read >= MOST_ENTRIES:
            return found[::-1], [f"Only the last {read:,} entries of the log were read: back to {page[-1].received}."]
    return found[::-1], []


async def _play(
    workspace: Workspace,
    records: TenantRecords,
    tenant: str,
    store: TriggerStore,
    clock: _Clock,
    entries: Sequence[Entry],
    triggers: Sequence[Trigger],
    until: float,
) -> list[str]:
    """Process the entries and instants of a period, and return notes about instants that are left out."""
    evaluator = Evaluator(store, workspace.log, workspace.graph, records.of)
    instants = [(due, trigger.id, place) for trigger in triggers for place, due in _first_instants(trigger, clock.now)]
    heapq.heapify(instants)
    parts = {(trigger.id, place): member.parts for trigger in triggers for place, member in enumerate(trigger.definition.condition.members)}
    created = {trigger.id: trigger.created for trigger in triggers}
    ticks = 0

    async def tick(upto: float) -> None:
        nonlocal ticks
        while instants and instants[0][0] <= upto and ticks < MOST_INSTANTS:
            due, identifier, place = heapq.heappop(instants)
            clock.now, ticks = due, ticks + 1
            await asyncio.to_thread(store.causes.tick)
            if (following := next_instant(parts[identifier, place], created[identifier], due)) is not None:
                heapq.heappush(instants, (following, identifier, place))

    for entry in entries:
        at = datetime.fromisoformat(entry.received).timestamp()
        await tick(at)
        clock.now = at
        await evaluator.rehearse_entry(tenant, entry)
    end = math.nextafter(until, 0.0)  # the end is not in the period
    await tick(end)
    if instants and instants[0][0] <= end:
        missing = datetime.fromtimestamp(instants[0][0], UTC).isoformat(timespec="seconds")
        return [
            f"Only the first {MOST_INSTANTS:,} times of the clock were tested. Times from {missing} on are missing: test a shorter period."
        ]
    return []


def _first_instants(trigger: Trigger, since: float) -> list[tuple[int, float]]:
    found = []
    for place, member in enumerate(trigger.definition.condition.members):
        if member.kind == "time" and (due := next_instant(member.parts, trigger.created, since)) is not None:
            found.append((place, due))
    return found
