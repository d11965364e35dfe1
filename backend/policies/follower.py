"""Checks runs against the applied policies after the projector has applied their events."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from functools import partial
from typing import Any

from headwater.backend.ingest.log import Entry, EntryKind, IngestLog
from headwater.backend.policies.service import Policies
from headwater.backend.policies.store import FiledDeviation
from headwater.errors import InvalidInputError
from headwater.graph.model import EdgeKind, NodeKind, node_id, parse_id
from headwater.graph.policies.selector import dataset_of
from headwater.graph.stores import Direction, GraphStore

_ENTRIES = 500  # of one step
_WHOLE = 3600.0  # seconds between two checks of the whole graph, because data grows old without events


class PolicyFollower:
    """Reads each projected entry of the log once. Its position is stored, so that any process can go on where another ended."""

    def __init__(self, policies: Policies, log: IngestLog, graph: GraphStore) -> None:
        self._policies, self._log, self._graph = policies, log, graph
        self._due: dict[str, float] = {}  # tenant → time of the next check of the whole graph

    async def step(self, tenant: str) -> list[FiledDeviation]:
        """Check the runs in the next entries, and the whole graph now and then. Returns the newly open deviations."""
        after = await asyncio.to_thread(self._policies.store.cursor, tenant)
        projected = await self._graph.offset(tenant)
        read = await asyncio.to_thread(partial(self._log.read, tenant, after=after, limit=_ENTRIES)) if projected > after else []
        entries = [entry for entry in read if entry.offset <= projected]
        jobs, others = await asyncio.to_thread(_subjects, entries)
        is_prov = any(entry.kind is EntryKind.PROV for entry in entries)
        jobs |= await self._jobs_around(tenant, others)
        new, is_whole = await self._policies.check_jobs(tenant, sorted(jobs)) if jobs else ([], True)
        now = time.monotonic()
        if is_prov or not is_whole or now >= self._due.get(tenant, 0.0):
            new += await self._policies.check_all(tenant)
            self._due[tenant] = now + _WHOLE
        if entries:
            await asyncio.to_thread(self._policies.store.advance, tenant, entries[-1].offset)
        return new

    async def _jobs_around(self, tenant: str, described: set[str]) -> set[str]:
        """Return the jobs that read or write some datasets, or datasets of some columns."""
        datasets = sorted({dataset_of(each) for each in described if each.partition(":")[0] in (NodeKind.DATASET, NodeKind.COLUMN)})
        if not datasets:
            return set()
        edges = await self._graph.neighbours(tenant, datasets, direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES])
        return {end for edge in edges for end in (edge.src, edge.dst) if end.startswith(f"{NodeKind.JOB}:")}


def _subjects(entries: list[Entry]) -> tuple[set[str], set[str]]:
    """Return the jobs whose runs the entries state, and other nodes that they describe."""
    jobs, others = set[str](), set[str]()
    for entry in entries:
        with suppress(InvalidInputError, ValueError, TypeError, KeyError, AttributeError):  # the projection refuses such an entry, too
            document: dict[str, Any] = json.loads(entry.body)
            if entry.kind is EntryKind.DECLARATION:
                described = {str(each["id"]) for each in document.get("descriptions") or ()}
                described |= {str(child) for each in document.get("containment") or () if (child := each.get("child"))}
                jobs |= {each for each in described if parse_id(each)[0] == NodeKind.JOB}
                others |= described
            elif entry.kind is EntryKind.EVENT and "job" in document:
                jobs.add(node_id(NodeKind.JOB, document["job"]["namespace"], document["job"]["name"]))
            elif entry.kind is EntryKind.EVENT and "dataset" in document:
                others.add(node_id(NodeKind.DATASET, document["dataset"]["namespace"], document["dataset"]["name"]))
    return jobs, others
