"""Finds causes in new projected entries of the log, in the clock, and in predicates that wait for evaluation.

Each entry is read once. The position in the log is stored together with the causes, so any process can continue where another ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from headwater.backend.ingest.log import Entry, IngestLog
from headwater.backend.triggers.conditions import KINDS
from headwater.backend.triggers.facts import EntryFacts, facts_of, version_fact
from headwater.backend.triggers.model import UNEVALUATED, Fact, FactKind, Trigger, TriggerState
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.cause_writer import Match
from headwater.backend.triggers.store.causes import CHECK_ATTEMPTS, Check
from headwater.errors import HeadwaterError
from headwater.graph.model import EdgeKind, NodeKind, parse_id
from headwater.graph.model import node_id as make_id
from headwater.graph.records import AssociationStore
from headwater.graph.stores import Direction, GraphStore

_ENTRIES = 500  # per transaction
_CHECKS = 8
_UNREAD = 10_000  # number of entries that may stay unread while no trigger waits for them
_CAPTURE_SECONDS = 30.0  # time that a predicate waits for the capture of a run
_log = logging.getLogger("headwater.triggers")


class Evaluator:
    """Finds the causes of all tenants."""

    def __init__(
        self, store: TriggerStore, log: IngestLog, graph: GraphStore, records: Callable[[str], AssociationStore],
        refusal: Callable[[Trigger], str | None] = lambda _: None,
    ) -> None:  # fmt: skip
        """`records` returns the record store of a tenant. `refusal` returns the reason why a trigger's owner lacks the rights for it."""
        self._store = store
        self._log = log
        self._graph = graph
        self._records = records
        self._refusal = refusal

    async def follow_log(self, tenant: str) -> int:
        """Read the next entries of a tenant's log, and return their number."""
        after = await asyncio.to_thread(self._store.definitions.cursor, tenant)
        projected = await self._graph.offset(tenant)
        if projected <= after:
            return 0
        triggers = await self._active(tenant)
        if not any(_waits(triggers)):
            if projected - after < _UNREAD:  # avoids a write for each batch of events
                return 0
            await asyncio.to_thread(partial(self._store.causes.record, tenant, (), after=after, upto=projected))
            return 0
        read = await asyncio.to_thread(partial(self._log.read, tenant, after=after, limit=_ENTRIES))
        entries = [entry for entry in read if entry.offset <= projected]
        if entries:
            matches = await self._matches(tenant, entries, triggers)
            await asyncio.to_thread(partial(self._store.causes.record, tenant, matches, after=after, upto=entries[-1].offset))
        return len(entries)

    async def rehearse_entry(self, tenant: str, entry: Entry) -> None:
        """Process one entry of the past in a separate store, and evaluate its predicates immediately."""
        matches = await self._matches(tenant, [entry], await self._active(tenant))
        if matches:
            after = await asyncio.to_thread(self._store.definitions.cursor, tenant)
            await asyncio.to_thread(partial(self._store.causes.record, tenant, matches, after=after, upto=entry.offset))
            for check in await asyncio.to_thread(self._store.causes.take_checks, tenant, len(matches)):
                await self._check(tenant, replace(check, attempt=CHECK_ATTEMPTS))

    async def _active(self, tenant: str) -> list[Trigger]:
        return [one for one in await asyncio.to_thread(self._store.definitions.all, tenant) if one.state is TriggerState.ACTIVE]

    async def _matches(self, tenant: str, entries: Sequence[Entry], triggers: Sequence[Trigger]) -> list[Match]:
        found = await asyncio.to_thread(lambda: [facts_of(entry) for entry in entries])
        waits = _waits(triggers)
        since = {trigger.id: trigger.since for trigger in triggers}
        conditions = {trigger.id: trigger.definition.condition for trigger in triggers}
        named = [(entry, await self._facts(tenant, entry)) for entry in found]
        wanted = [(entry, [fact for fact in facts if (fact.kind, fact.subject) in waits]) for entry, facts in named]
        wanted = [(entry, facts) for entry, facts in wanted if facts]
        parents = sorted({parent for entry, _ in wanted for parent in entry.parents})
        depths = await asyncio.to_thread(self._store.executions.depths, tenant, parents) if parents else {}
        matches = []
        for entry, facts in wanted:
            depth = max((depths.get(parent, 0) for parent in entry.parents), default=0)
            for fact in facts:
                for trigger, member in waits[fact.kind, fact.subject]:
                    stated = conditions[trigger].members[member]
                    if entry.offset > since[trigger] and KINDS[stated.kind].fulfils(stated.parts, fact):
                        matches.append(Match(trigger, member, replace(fact, depth=depth)))
        return matches

    async def _facts(self, tenant: str, entry: EntryFacts) -> Sequence[Fact]:
        """Return the facts of an entry. If a run's last event names no outputs, those of its first event count."""
        if not entry.is_bare:
            return entry.facts
        edges = await self._graph.neighbours(tenant, [entry.run], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
        versions = [edge.dst for edge in edges if edge.dst.startswith(f"{NodeKind.VERSION}:")]
        datasets = {version: make_id(NodeKind.DATASET, *parse_id(version)[1][:-1]) for version in versions}
        return [*entry.facts, *(version_fact(version, dataset, entry.run, entry.at) for version, dataset in datasets.items())]

    async def check_rows(self, tenant: str) -> int:
        """Evaluate the predicates that wait, and return their number."""
        if not await asyncio.to_thread(self._store.causes.has_checks, tenant):
            return 0
        checks = await asyncio.to_thread(self._store.causes.take_checks, tenant, _CHECKS)
        for check in checks:
            await self._check(tenant, check)
        return len(checks)

    async def _check(self, tenant: str, check: Check) -> None:
        records = await asyncio.to_thread(self._records, tenant)
        capture = check.fact.details.get("capture")
        is_young = time.time() - check.fact.at < _CAPTURE_SECONDS
        if capture is not None and is_young and not await asyncio.to_thread(records.catalog.has, tenant, capture):
            await asyncio.to_thread(self._store.causes.put_off, check, 1.0)
            return
        if (refusal := await asyncio.to_thread(self._refusal, check.trigger)) is not None:
            await asyncio.to_thread(partial(self._store.causes.settle, check, is_met=False, reason=refusal))
            await asyncio.to_thread(self._store.definitions.stop, check.trigger, refusal)
            return
        from headwater.backend.triggers.new_rows import selects_new_row  # DuckDB loads with it

        try:
            is_met = await selects_new_row(self._graph, records, tenant, check.fact, check.where)
        except HeadwaterError as error:
            if error.transient and check.attempt < CHECK_ATTEMPTS:
                await asyncio.to_thread(self._store.causes.put_off, check, 2.0**check.attempt)
                return
            reason = f"{UNEVALUATED}: {error.message}"
        except Exception as error:  # noqa: BLE001 - whatever it is: the next predicates must have their turn
            _log.warning("a predicate cannot be evaluated", exc_info=error)
            reason = f"{UNEVALUATED}: {type(error).__name__}"
        else:
            await asyncio.to_thread(partial(self._store.causes.settle, check, is_met=is_met))
            return
        await asyncio.to_thread(partial(self._store.causes.settle, check, is_met=False, reason=reason))


def _waits(triggers: Sequence[Trigger]) -> dict[tuple[FactKind, str], list[tuple[str, int]]]:
    waits: dict[tuple[FactKind, str], list[tuple[str, int]]] = {}
    for trigger in triggers:
        for place, member in enumerate(trigger.definition.condition.members):
            for kind, subject in KINDS[member.kind].subjects(member.parts, trigger.id):
                if kind in (FactKind.VERSION, FactKind.CHECK, FactKind.RUN):
                    waits.setdefault((kind, subject), []).append((trigger.id, place))
    return waits
