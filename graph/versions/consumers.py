"""The consumers of a dataset: each job that reads it, its cursor, and the blocks that it has not read.

The cursor of a job is the highest sequence that one of its completed runs has read. Captured runs name the files that they read. For other
runs the cursor is inferred from the start time, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headwater.graph.dataflow.versions import versions_read
from headwater.graph.model import EdgeKind, Node, NodeKind, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.stores.written import WRITTEN_AT
from headwater.graph.versions.blocks import Block, BlockMode, list_blocks

MOST_CONSUMERS = 1_000  # jobs that an answer lists
_RUNS = 10  # of a job, the latest, that are looked at


class ConsumptionMode(StrEnum):
    """A job reads all blocks that make up the dataset, or the blocks after its cursor."""

    ALL = "all"
    NEW = "new"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ConsumedInput:
    """A job's use of one dataset. Without a completed run among the latest, `cursor` is None."""

    job: str
    run: str | None
    mode: ConsumptionMode
    cursor: int | None
    is_inferred: bool
    unread: tuple[Block, ...]

    @property
    def unread_rows(self) -> int | None:
        """Rows of the unread blocks together; None if one of them has no known row count."""
        rows = [block.rows for block in self.unread if block.rows is not None]
        return sum(rows) if len(rows) == len(self.unread) else None

    @property
    def unread_since(self) -> str | None:
        """When the first unread block was written."""
        return self.unread[0].written_at if self.unread else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The blocks that one completed run read, and those that made up the dataset at its start."""

    run: str
    sequences: frozenset[int]
    current: frozenset[int]
    is_inferred: bool


async def list_consumers(graph: GraphStore, tenant: str, dataset: str) -> list[ConsumedInput]:
    """Return the jobs that read a dataset, the one that is furthest behind first.

    Raises:
        NotFoundError: there is no such dataset.
        InvalidQueryError: the id is not a dataset's, or the dataset has too many versions or consumers.
    """
    blocks = await list_blocks(graph, tenant, dataset)
    readers = await graph.neighbours(tenant, [dataset], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.READS])
    jobs = sorted({edge.dst for edge in readers if parse_id(edge.dst)[0] == NodeKind.JOB})[:MOST_CONSUMERS]
    latest = await graph.latest_at(tenant, [(job, None) for job in jobs], NodeKind.RUN, first=_RUNS) if jobs else {}
    runs = {job: [run for run in latest.get((job, None), ()) if run.properties.get("state") == "COMPLETE"] for job in jobs}
    files = await _versions_by_file(graph, tenant, dataset, [run.id for some in runs.values() for run in some])
    consumers = []
    for job in jobs:
        readings = [reading for run in runs[job] if (reading := _reading(run, dataset, blocks, files.get(run.id, ()))) is not None]
        consumers.append(_consumer(job, readings, blocks))
    return sorted(consumers, key=lambda consumer: (-len(consumer.unread), consumer.job))


async def _versions_by_file(graph: GraphStore, tenant: str, dataset: str, runs: Sequence[str]) -> Mapping[str, set[str]]:
    """The versions of the dataset whose files each run read."""
    if not runs:
        return {}
    own = (NodeKind.VERSION, *parse_id(dataset)[1])
    versions: dict[str, set[str]] = {}
    for edge in await graph.neighbours(tenant, runs, direction=Direction.UPSTREAM, kinds=[EdgeKind.READS]):
        kind, parts = parse_id(edge.src)
        if (kind, *parts[:-1]) == own:
            versions.setdefault(edge.dst, set()).add(edge.src)
    return versions


def _reading(run: Node, dataset: str, blocks: Sequence[Block], files: Collection[str]) -> _Reading | None:
    """Return the blocks that a run read; None if it is not known to have read the dataset."""
    stated = run.properties.get(f"input:{dataset}")
    if not files and stated is None:
        return None
    others = [block for block in blocks if block.run != run.id]  # a run does not read its own output
    began = run.properties.get("startedAt") or run.properties.get("endedAt")
    there = [block for block in others if not isinstance(began, str) or block.written_at <= began]
    base = max((place for place, block in enumerate(there) if block.mode is BlockMode.BASE), default=0)
    sequences = frozenset(block.sequence for block in others if block.version in files)
    if not sequences:
        version = stated.get("version") if isinstance(stated, Mapping) else None
        read = set(versions_read(map(_as_version, others), began=began, stated=version if isinstance(version, Mapping) else None))
        sequences = frozenset(block.sequence for block in others if block.version in read)
    return _Reading(run.id, sequences, frozenset(block.sequence for block in there[base:]), is_inferred=not files)


def _as_version(block: Block) -> Node:
    about: dict[str, object] = {WRITTEN_AT: block.written_at, "block": block.mode.value}
    if block.snapshot is not None:
        about |= {"version": {"datasetVersion": block.snapshot}}
    return Node(block.version, NodeKind.VERSION, "", about)


def _consumer(job: str, readings: Sequence[_Reading], blocks: Sequence[Block]) -> ConsumedInput:
    """A job by what its runs read, the latest first."""
    with_blocks = [reading for reading in readings if reading.sequences]
    if not with_blocks:
        return ConsumedInput(job, readings[0].run if readings else None, ConsumptionMode.UNKNOWN, None, is_inferred=False, unread=())
    furthest = max(with_blocks, key=lambda reading: max(reading.sequences))
    cursor = max(furthest.sequences)
    own = {block.sequence for block in blocks if block.run in {reading.run for reading in readings}}
    unread = tuple(block for block in blocks if block.sequence > cursor and block.sequence not in own)
    return ConsumedInput(job, furthest.run, _mode(with_blocks), cursor, furthest.is_inferred, unread)


def _mode(readings: Sequence[_Reading]) -> ConsumptionMode:
    """`new` if the latest run left out every block that the runs before had read, and `all` if it left out nothing.

    Both are true of a dataset whose base was just replaced; then the runs before decide.
    """
    for latest, *before in (readings[start:] for start in range(len(readings))):
        earlier = frozenset().union(*(reading.sequences for reading in before))
        left_out = latest.current - latest.sequences
        if left_out:
            return ConsumptionMode.NEW if left_out <= earlier and not latest.sequences & earlier else ConsumptionMode.UNKNOWN
        if latest.current & earlier or not before:
            return ConsumptionMode.ALL
    return ConsumptionMode.UNKNOWN
