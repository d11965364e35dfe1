"""Decides which blocks of a dataset may be deleted, because no kept data needs their files.

A block is collectable if a later base replaced it, every consumer has read it, no legal hold covers it, and no trace of kept data needs its
values. If anything is uncertain, the block is kept. This module only reads: `plan_collection` deletes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.records import AssociationStore, FileBlock, Look
from headwater.graph.records.versions import Write
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.versions.blocks import Block, BlockMode, list_blocks
from headwater.graph.versions.consumers import MOST_CONSUMERS, ConsumedInput, list_consumers, list_running
from headwater.graph.versions.holds import find_holds
from headwater.graph.versions.needed_values import NeededValues

_SHOWN = 3  # names in a reason


@dataclass(frozen=True, slots=True)
class BlockFiles:
    """The writes of a block by captured runs, and the files that they wrote. `unknown` is the reason if the files are unknown."""

    writes: Sequence[Write] = ()
    files: Sequence[FileBlock] = ()
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class BlockVerdict:
    """A block, the reasons to keep it, and its files that are still unchanged at the dataset's path.

    Without reasons, the block is collectable.
    """

    block: Block
    reasons: Sequence[str]
    files: Sequence[FileBlock] = ()

    @property
    def is_collectable(self) -> bool:
        """Return whether the files of the block may be deleted. A block without files has nothing to delete."""
        return not self.reasons and bool(self.files)


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """The verdict on each block of a dataset, in the order of the blocks. `path` is the dataset's local folder."""

    dataset: str
    path: str
    verdicts: Sequence[BlockVerdict] = field(default=())

    @property
    def collectable(self) -> list[BlockVerdict]:
        return [verdict for verdict in self.verdicts if verdict.is_collectable]

    @property
    def files(self) -> list[FileBlock]:
        return [file for verdict in self.collectable for file in verdict.files]


async def plan_collection(
    graph: GraphStore, records: AssociationStore, tenant: str, dataset: str, path: str, *, keep: int = 1
) -> CollectionPlan:
    """Return the verdict on each block of a dataset in a local folder. The last `keep` versions stay complete.

    Raises:
        NotFoundError: there is no such dataset.
        InvalidQueryError: `keep` is less than 1.
        UnsupportedError: the dataset has too many consumers, or files of the present version are missing or changed.
    """
    if keep < 1:
        raise InvalidQueryError("At least the current version is kept.", field="keep", hint="Use 1 or more.")
    blocks = await list_blocks(graph, tenant, dataset)
    consumers = await list_consumers(graph, tenant, dataset)
    if len(consumers) >= MOST_CONSUMERS:
        raise UnsupportedError(f"More than {MOST_CONSUMERS:,} jobs read {dataset}, so not all cursors are known.")
    held = await find_holds(graph, tenant, dataset, [block.version for block in blocks])
    running = await list_running(graph, tenant, [consumer.job for consumer in consumers])
    return await asyncio.to_thread(_decide, records, tenant, dataset, path, blocks, consumers, held, running, keep)


def kept_since(blocks: Sequence[Block], keep: int) -> int:
    """Return the sequence of the first block that the last `keep` versions need: the last base at or before the first of them."""
    first = max(len(blocks) - keep + 1, 1)
    return max((block.sequence for block in blocks[:first] if block.mode is BlockMode.BASE), default=1)


class ConsumerReasons:
    """Why the cursors of consumers keep blocks. The consumers are walked once, and not for each block."""

    def __init__(self, consumers: Iterable[ConsumedInput]) -> None:
        everyone = sorted(consumers, key=lambda consumer: consumer.job)
        self._unknown = [consumer.job for consumer in everyone if consumer.cursor is None]
        self._inferred = [consumer for consumer in everyone if consumer.is_inferred]
        self._unread: dict[int, list[str]] = {}
        for consumer in everyone:
            for block in consumer.unread if consumer.cursor is not None else ():
                self._unread.setdefault(block.sequence, []).append(consumer.job)

    def of(self, block: Block) -> list[str]:
        unread = self._unread.get(block.sequence, [])
        reasons = [f"{name_jobs(unread)} not read it"] if unread else []
        if self._unknown:
            reasons.append(f"it is not known whether {name_jobs(self._unknown)} read it")
        inferred = [each.job for each in self._inferred if each.cursor is not None and each.cursor >= block.sequence]
        if inferred:
            reasons.append(f"only the start times of its runs suggest that {name_jobs(inferred)} read it")
        return reasons


def name_jobs(jobs: Sequence[str]) -> str:
    names = ", ".join(jobs[:_SHOWN]) + (f" and {len(jobs) - _SHOWN} more jobs" if len(jobs) > _SHOWN else "")
    return f"{names} {'has' if len(jobs) == 1 else 'have'}"


def _decide(
    records: AssociationStore, tenant: str, dataset: str, path: str, blocks: Sequence[Block], consumers: Sequence[ConsumedInput],
    held: Mapping[str, str], running: Sequence[str], keep: int,
) -> CollectionPlan:  # fmt: skip
    look = records.sources.look()
    known = list_block_files(records, tenant, dataset, blocks)
    since = kept_since(blocks, keep)
    kept = [block for block in blocks if block.sequence >= since]
    shared = {file for block in kept for file in known[block.sequence].files}
    needed = NeededValues(records, tenant, look)
    of_consumers = ConsumerReasons(consumers)
    verdicts = []
    for block in blocks:
        of_block = known[block.sequence]
        reasons = _reasons(block, known, since, of_consumers, held, running)
        present = [file for file in of_block.files if file not in shared and is_present(look, file)]
        if not reasons and present and (need := needed.reason(of_block.files, [write.capture for write in of_block.writes])):
            reasons.append(need)
        verdicts.append(BlockVerdict(block, tuple(reasons), tuple(present)))
    plan = CollectionPlan(dataset, path, tuple(verdicts))
    if plan.collectable:
        _check_current(look, dataset, [known[block.sequence] for block in kept])
    return plan


def _reasons(
    block: Block, known: Mapping[int, BlockFiles], since: int, consumers: ConsumerReasons,
    held: Mapping[str, str], running: Sequence[str],
) -> list[str]:  # fmt: skip
    of_block = known[block.sequence]
    hold = [f"a legal hold covers it: {held[block.version]}"] if block.version in held else []
    if block.sequence >= since:
        return ["a kept version needs it", *hold]
    reasons = [of_block.unknown] if of_block.unknown else []
    base = known[since]
    if base.unknown:
        reasons.append(f"block {since}, which replaced it, was not captured by record")
    elif of_block.writes and max(write.ended for write in of_block.writes) > min(write.started for write in base.writes):
        reasons.append(f"it was written while block {since} replaced the dataset")
    reasons += [f"the run {run} reads the dataset now" for run in running[:_SHOWN]]
    return [*reasons, *hold, *consumers.of(block)]


def list_block_files(records: AssociationStore, tenant: str, dataset: str, blocks: Sequence[Block]) -> Mapping[int, BlockFiles]:
    """Return the files of each block according to the captures, by the block's sequence."""
    writes: dict[str, list[Write]] = {}
    for write in records.catalog.versions.writes(tenant, dataset):
        writes.setdefault(node_id(NodeKind.RUN, write.run), []).append(write)
    found: dict[int, BlockFiles] = {}
    for block in blocks:
        of_run = writes.get(block.run, [])
        files = tuple(dict.fromkeys(file.block for write in of_run for file in records.catalog.written_by(tenant, write.capture)))
        unknown = None
        if not of_run or any(write.status == "refused" for write in of_run):
            unknown = "its files are not known, because its run was not captured by record"
        found[block.sequence] = BlockFiles(of_run, files, unknown)
    return found


def is_present(look: Look, file: FileBlock) -> bool:
    """Return whether a file still exists and has not changed since it was written."""
    try:
        return look.block(file.path)[1:] == file[1:]
    except (UnsupportedError, OSError):
        return False


def _check_current(look: Look, dataset: str, kept: Collection[BlockFiles]) -> None:
    """Check that the kept versions are complete. If present data is lost, the data that it replaced must be kept."""
    for of_block in kept:
        if (lost := next((file for file in of_block.files if not is_present(look, file)), None)) is not None:
            _, (_, name) = parse_id(dataset)
            raise UnsupportedError(
                f"Nothing of {name} is dropped: its current version is not there as it was written. {lost.path} is gone or has changed.",
                hint="Keep more versions (--keep), or write the dataset again.",
            )
