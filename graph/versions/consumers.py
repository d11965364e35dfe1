"""The consumers of a dataset: each job that reads it, its cursor, and the blocks that it has not read.

The cursor of a job is the highest sequence that one of its completed runs has read. Captured runs name the files that they read. For other
runs the cursor is inferred from the start time, and the answer reports that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from headwater.graph.model import EdgeKind, Node, NodeKind, parse_id
from headwater.graph.model.descriptions import declared_consumption
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.versions.blocks import Block, BlockMode, list_blocks

MOST_CONSUMERS = 1_000  # jobs that an answer lists
RUNNING_DAYS = 7  # days; an older run without an end counts as lost
_RUNS = 10  # latest runs of a job that are read
_ENDED = ("COMPLETE", "FAIL", "ABORT")


class ConsumptionMode(StrEnum):
    """A job reads all blocks that make up the dataset, the blocks after its cursor, or those up to its cursor."""

    ALL = "all"
    NEW = "new"
    OLD = "old"  # only declared
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ConsumedInput:
    """A job's use of one dataset. `cursor` is None if no run among the latest completed. A declared mode wins over the inferred one."""

    job: str
    run: str | None
    mode: ConsumptionMode
    cursor: int | None
    is_inferred: bool
    unread: tuple[Block, ...]
    is_declared: bool = False
    is_shown: bool = False  # several runs show the mode. The first run of a job reads all blocks in either mode

    @property
    def unread_rows(self) -> int | None:
        """Return the number of rows in the unread blocks. None if one of them has no known row count."""
        rows = [block.rows for block in self.unread if block.rows is not None]
        return sum(rows) if len(rows) == len(self.unread) else None

    @property
    def unread_since(self) -> str | None:
        """Return the time when the first unread block was written."""
        return self.unread[0].written_at if self.unread else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The blocks that one completed run read, the last of them, and the blocks that made up the dataset at its start."""

    run: str
    sequences: Collection[int]
    last: int
    current: Collection[int]
    is_inferred: bool


async def list_consumers(graph: GraphStore, tenant: str, dataset: str) -> list[ConsumedInput]:
    """Return the jobs that read a dataset, the one that is furthest behind first.

    Raises:
        NotFoundError: there is no such dataset.
        InvalidQueryError: the id does not belong to a dataset, or the dataset has too many versions.
    """
    blocks = await list_blocks(graph, tenant, dataset)
    readers = await graph.neighbours(tenant, [dataset], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.READS])
    compacting = await _compacting_jobs(graph, tenant, blocks)
    jobs = sorted({edge.dst for edge in readers if parse_id(edge.dst)[0] == NodeKind.JOB} - compacting)[:MOST_CONSUMERS]
    latest = await graph.latest_at(tenant, [(job, None) for job in jobs], NodeKind.RUN, first=_RUNS) if jobs else {}
    runs = {job: [run for run in latest.get((job, None), ()) if run.properties.get("state") == "COMPLETE"] for job in jobs}
    versions = await _versions_by_file(graph, tenant, dataset, [run.id for some in runs.values() for run in some])
    nodes = await graph.get(tenant, jobs) if jobs else []
    declared = {node.id: declared_consumption(node).get(dataset) for node in nodes}
    history = _History(blocks)
    consumers = []
    for job in jobs:
        readings = [reading for run in runs[job] if (reading := history.reading(run, dataset, versions.get(run.id, ()))) is not None]
        consumers.append(_with_declared(_consumer(job, readings, blocks), declared.get(job)))
    return sorted(consumers, key=lambda consumer: (-len(consumer.unread), consumer.job))


async def list_running(graph: GraphStore, tenant: str, jobs: Sequence[str]) -> list[str]:
    """Return the runs of some jobs that have begun and not ended, as far as their events say, of the last `RUNNING_DAYS` days."""
    latest = await graph.latest_at(tenant, [(job, None) for job in jobs], NodeKind.RUN, first=_RUNS) if jobs else {}
    earliest = (datetime.now(UTC) - timedelta(days=RUNNING_DAYS)).isoformat()
    return [
        run.id
        for runs in latest.values()
        for run in runs
        if run.properties.get("state") not in _ENDED and str(run.properties.get("startedAt") or "") > earliest
    ]


async def _compacting_jobs(graph: GraphStore, tenant: str, blocks: Sequence[Block]) -> set[str]:
    runs = [block.run for block in blocks if block.merges]
    above = await graph.ancestors(tenant, runs) if runs else {}
    return {node.id for nodes in above.values() for node in nodes if node.kind is NodeKind.JOB}


async def _versions_by_file(graph: GraphStore, tenant: str, dataset: str, runs: Sequence[str]) -> Mapping[str, set[str]]:
    if not runs:
        return {}
    own = (NodeKind.VERSION, *parse_id(dataset)[1])
    versions: dict[str, set[str]] = {}
    for edge in await graph.neighbours(tenant, runs, direction=Direction.UPSTREAM, kinds=[EdgeKind.READS]):
        kind, parts = parse_id(edge.src)
        if (kind, *parts[:-1]) == own:
            versions.setdefault(edge.dst, set()).add(edge.src)
    return versions


class _History:
    """The blocks of a dataset, indexed for queries about many runs, so that no query reads all blocks."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._times = [block.written_at for block in blocks]
        self._by_version = {block.version: block.sequence for block in blocks}
        self._by_run = {block.run: block.sequence for block in blocks}
        self._by_snapshot: dict[str, set[int]] = {}
        self._base_before = [1]  # first block of the dataset after n blocks
        self._merged: dict[int, range] = {}
        for block in blocks:
            is_base = block.mode is BlockMode.BASE and not block.merges
            self._base_before.append(block.sequence if is_base else self._base_before[-1])
            if block.merges:
                self._merged[block.sequence] = range(self._base_before[-1], block.sequence)
            if block.snapshot is not None:
                self._by_snapshot.setdefault(block.snapshot, set()).add(block.sequence)

    def reading(self, run: Node, dataset: str, versions: Collection[str]) -> _Reading | None:
        """Return the blocks that a run read. None if it is not known to have read any. `versions` are known from its files."""
        stated = run.properties.get(f"input:{dataset}")
        if not versions and stated is None:
            return None
        began = run.properties.get("startedAt") or run.properties.get("endedAt")
        count = bisect_right(self._times, began) if isinstance(began, str) else len(self._times)
        current: Collection[int] = range(self._base_before[count], count + 1)
        if self._merged:
            current = sorted(set(current) - self._merged.keys())
        own = {self._by_run.get(run.id)}  # a run does not read its own output
        by_file = {self._by_version[version] for version in versions if version in self._by_version} - own
        sequences: Collection[int] = self._with_merged(by_file)
        is_inferred = not sequences
        if is_inferred:
            version = stated.get("version") if isinstance(stated, Mapping) else None
            named = version.get("datasetVersion") if isinstance(version, Mapping) else None
            sequences = self._by_snapshot.get(str(named), set()) - own or current
        if not sequences:
            return None
        last = sequences[-1] if isinstance(sequences, range) else max(sequences)
        while last + 1 in self._merged:
            last += 1
        return _Reading(run.id, sequences, last, current, is_inferred)

    def _with_merged(self, sequences: set[int]) -> set[int]:
        """Return the sequences with those of the blocks that compactions among them merged."""
        return sequences.union(*(self._merged[sequence] for sequence in sequences if sequence in self._merged))


def _consumer(job: str, readings: Sequence[_Reading], blocks: Sequence[Block]) -> ConsumedInput:
    if not readings:
        every = tuple(block for block in blocks if not block.merges)
        return ConsumedInput(job, None, ConsumptionMode.UNKNOWN, None, is_inferred=False, unread=every)
    furthest = max(readings, key=lambda reading: reading.last)
    own = {reading.run for reading in readings}
    unread = tuple(block for block in blocks[furthest.last :] if block.run not in own and not block.merges)
    mode, is_shown = _mode(readings)
    return ConsumedInput(job, furthest.run, mode, furthest.last, furthest.is_inferred, unread, is_shown=is_shown)


def _with_declared(consumer: ConsumedInput, mode: str | None) -> ConsumedInput:
    return consumer if mode is None else replace(consumer, mode=ConsumptionMode(mode), is_declared=True)


def _mode(readings: Sequence[_Reading]) -> tuple[ConsumptionMode, bool]:
    """Return `new` if the latest run read no block that earlier runs had read, and `all` if it read all blocks.

    Both hold for a dataset whose base was just replaced. Then the earlier runs decide. The second value is False if only one run
    could show the mode.
    """
    for place, latest in enumerate(readings):
        current, read = set(latest.current), set(latest.sequences)
        earlier = set[int]().union(*(reading.sequences for reading in readings[place + 1 :]))
        if left_out := current - read:
            return (ConsumptionMode.NEW if left_out <= earlier and not read & earlier else ConsumptionMode.UNKNOWN), True
        if current & earlier:
            return ConsumptionMode.ALL, True
        if place == len(readings) - 1:
            return ConsumptionMode.ALL, False
    return ConsumptionMode.UNKNOWN, False
