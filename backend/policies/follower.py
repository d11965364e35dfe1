"""Checks runs against the applied policies after the projector has applied their events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from headwater.backend.ingest.log import Entry, EntryKind, IngestLog
from headwater.backend.policies.service import Policies, Rest, Unchecked
from headwater.backend.policies.store import FiledDeviation
from headwater.backend.projection.capture import capture_stamp
from headwater.backend.projection.event import event_stamp, project_event
from headwater.errors import HeadwaterError
from headwater.graph.model import Edge, EdgeKind, NodeKind, node_id, parse_id, run_key
from headwater.graph.model.elements import Block
from headwater.graph.policies.arrivals import Arrivals, Derivation
from headwater.graph.policies.flow_graph import ways_of
from headwater.graph.policies.selector import dataset_of
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views.fields import Way

_ENTRIES = 500  # of one step
_MOST_AHEAD = 50_000  # entries whose order is in memory; with more, a flow that was given up may be missed
_MOST_WAYS = 500_000  # derivations whose ways are in memory; with more, a way that was given up may be missed
_WHOLE = 3600.0  # seconds between two checks of the whole graph, because data grows old without events


@dataclass(frozen=True, slots=True)
class _Subjects:
    """The subjects of an entry: the jobs whose flows it states, and other nodes that it describes. `completed` is the run that it ends."""

    offset: int
    jobs: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    statement: str = ""
    completed: str = ""
    is_prov: bool = False
    ways: Mapping[Derivation, Way] = field(default_factory=dict)


@dataclass(slots=True)
class _Ahead:
    """The entries after an offset that are read and not checked, in order, and the order of their statements."""

    after: int
    entries: list[_Subjects] = field(default_factory=list)
    statements: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    ways: dict[Derivation, list[tuple[int, Way]]] = field(default_factory=dict)

    def move(self, after: int) -> None:
        """Forget the entries up to an offset, which are checked."""
        kept = [entry for entry in self.entries if entry.offset > after]
        self.after, self.entries, self.statements, self.ends, self.ways = after, [], {}, {}, {}
        self.add(kept)

    def add(self, entries: Sequence[_Subjects]) -> None:
        self.entries += entries
        for entry in entries:
            if entry.statement:
                self.statements.setdefault(entry.statement, entry.offset)
            if entry.completed:
                self.ends.setdefault(entry.completed, entry.offset)
            for derivation, way in entry.ways.items():
                known = self.ways.get(derivation)
                if known is None and len(self.ways) < _MOST_WAYS:
                    self.ways[derivation] = [(entry.offset, way)]
                elif known is not None and known[-1][1] is not way:
                    known.append((entry.offset, way))


class PolicyFollower:
    """Reads each projected entry of the log once. Its position is stored, so that any process can go on where another ended."""

    def __init__(self, policies: Policies, log: IngestLog, graph: GraphStore) -> None:
        self._policies, self._log, self._graph = policies, log, graph
        self._ahead: dict[str, _Ahead] = {}  # by tenant
        self._due: dict[str, float] = {}  # tenant → time of the next check of the whole graph

    async def step(self, tenant: str) -> list[FiledDeviation]:
        """Check the runs in the next entries, and the whole graph now and then. Returns the newly open deviations."""
        after = await asyncio.to_thread(self._policies.store.cursor, tenant)
        ahead = self._ahead.get(tenant)
        if ahead is None or after < ahead.after:  # a new policy has set the cursor back
            ahead = self._ahead[tenant] = _Ahead(after)
        if ahead.after < after:
            ahead.move(after)
        await self._read(tenant, ahead)
        entries = ahead.entries[:_ENTRIES]
        jobs = {job for entry in entries for job in entry.jobs}
        jobs |= await self._jobs_around(tenant, {other for entry in entries for other in entry.others})
        unchecked = Unchecked([entry.offset for entry in entries if entry.statement], partial(self._arrivals, tenant, ahead))
        new, rest = list[FiledDeviation](), Rest.NOTHING
        if any(entry.is_prov for entry in entries):
            rest = Rest.ALL
        elif jobs:
            new, rest = await self._policies.check_jobs(tenant, sorted(jobs), unchecked)
        now = time.monotonic()
        if rest is not Rest.NOTHING or now >= self._due.get(tenant, 0.0):
            new += await self._policies.check_all(tenant, unchecked if rest is Rest.ALL else None)
            self._due[tenant] = now + _WHOLE
        if entries:
            await asyncio.to_thread(self._policies.store.advance, tenant, entries[-1].offset)
        return new

    async def _read(self, tenant: str, ahead: _Ahead) -> None:
        """Read the entries that the graph contains by now, up to a limit."""
        projected = await self._graph.offset(tenant)
        while (after := ahead.entries[-1].offset if ahead.entries else ahead.after) < projected and len(ahead.entries) < _MOST_AHEAD:
            read = await asyncio.to_thread(partial(self._log.read, tenant, after=after, limit=_ENTRIES))
            entries = [entry for entry in read if entry.offset <= projected]
            ahead.add(await asyncio.to_thread(_list_subjects, entries))
            if not entries:
                break

    async def _arrivals(self, tenant: str, ahead: _Ahead) -> Arrivals:
        """Return the order of the statements that may be in the graph, and that are not checked."""
        await self._read(tenant, ahead)
        return Arrivals(ahead.statements, ahead.ends, ahead.ways)

    async def _jobs_around(self, tenant: str, described: set[str]) -> set[str]:
        """Return the jobs that read or write some datasets, or datasets of some columns."""
        datasets = sorted({dataset_of(each) for each in described if each.partition(":")[0] in (NodeKind.DATASET, NodeKind.COLUMN)})
        if not datasets:
            return set()
        edges = await self._graph.neighbours(tenant, datasets, direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES])
        return {end for edge in edges for end in (edge.src, edge.dst) if end.startswith(f"{NodeKind.JOB}:")}


def _ways(entry: Entry, event: Mapping[str, Any]) -> Mapping[Derivation, Way]:
    """Return the ways of the derivations that an event states."""
    if b"columnLineage" not in entry.body:
        return {}
    batch = project_event(event, event_stamp(event, entry.key))
    found: dict[Derivation, Way] = {}
    for ways in (_ways_of_edges(batch.edges), *map(_ways_of_block, batch.blocks)):
        found |= {derivation: min(way, found.get(derivation, way)) for derivation, way in ways.items()}
    return found


@lru_cache(64)  # many events share a block
def _ways_of_block(block: Block) -> Mapping[Derivation, Way]:
    return _ways_of_edges(block.edges)


def _ways_of_edges(edges: Sequence[Edge]) -> dict[Derivation, Way]:
    return {
        (edge.src, edge.dst, job): way
        for edge in edges
        if edge.kind is EdgeKind.DERIVES
        for job, way in ways_of(edge).items()
        if job is not None
    }


def _list_subjects(entries: Sequence[Entry]) -> list[_Subjects]:
    return [_subjects(entry) for entry in entries]


def _subjects(entry: Entry) -> _Subjects:
    with suppress(HeadwaterError, ValueError, TypeError, KeyError, AttributeError):  # the projection refuses such an entry, too
        if entry.kind is EntryKind.PROV:
            from headwater.backend.projection.prov import prov_stamp
            from headwater.graph.prov.read.json import read_json

            return _Subjects(entry.offset, statement=f"{prov_stamp(read_json(entry.body.decode()), entry.key).time} ", is_prov=True)
        document: dict[str, Any] = json.loads(entry.body)
        if entry.kind is EntryKind.DECLARATION:
            described = {str(each["id"]) for each in document.get("descriptions") or ()}
            described |= {str(child) for each in document.get("containment") or () if (child := each.get("child"))}
            jobs = {each for each in described if parse_id(each)[0] == NodeKind.JOB}
            return _Subjects(entry.offset, frozenset(jobs), frozenset(described))
        if entry.kind is EntryKind.CAPTURE:
            job = node_id(NodeKind.JOB, document["run"]["namespace"], document["run"]["job"])
            statement = f"{capture_stamp(document, entry.key).time} {run_key(document['run']['runId'])}"
            return _Subjects(entry.offset, frozenset({job}), statement=statement)
        if "job" in document:
            job = node_id(NodeKind.JOB, document["job"]["namespace"], document["job"]["name"])
            run = run_key(document["run"]["runId"]) if "run" in document else ""
            statement = f"{event_stamp(document, entry.key).time} {run}"
            is_end = str(document.get("eventType")).upper() == "COMPLETE"
            completed = run if is_end else ""
            return _Subjects(entry.offset, frozenset({job}), statement=statement, completed=completed, ways=_ways(entry, document))
        if "dataset" in document:
            dataset = node_id(NodeKind.DATASET, document["dataset"]["namespace"], document["dataset"]["name"])
            return _Subjects(entry.offset, others=frozenset({dataset}))
    return _Subjects(entry.offset, is_prov=entry.kind is EntryKind.PROV)
