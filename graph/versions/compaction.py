"""Decides whether the current version of a dataset may be merged into one block, and which files that are.

A compaction replaces the current version by one base. No record and no trace may be lost, and no consumer may miss data.
Anything that is not known for certain is a reason against it. Pure reading: `plan_compaction` changes nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import UnsupportedError
from headwater.graph.model import EdgeKind, NodeKind, parse_id
from headwater.graph.records import AssociationStore, FileBlock
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.versions.blocks import Block, list_blocks
from headwater.graph.versions.collection import is_present, kept_since, list_block_files, name_jobs
from headwater.graph.versions.consumers import MOST_CONSUMERS, ConsumedInput, ConsumptionMode, list_consumers, list_running
from headwater.graph.versions.holds import find_holds

_SHOWN = 3
_BUCKET = re.compile(r"_\d{5}\.c\d{3}")  # in the name of a file of a bucketed table
_WRITING = ("_temporary", ".spark-staging")  # folders of jobs that write now
_LOGGED = {"_spark_metadata": "a streaming query writes it, and Spark reads the list of its files in _spark_metadata"}


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The blocks of the current version of a dataset, their files, and the captures that wrote them.

    `reasons` are against the merge. `notes` say what the operator should know. `path` is the dataset's local folder.
    """

    dataset: str
    path: str
    blocks: Sequence[Block] = ()
    files: Sequence[FileBlock] = ()
    writers: Sequence[str] = ()
    reasons: Sequence[str] = ()
    notes: Sequence[str] = ()


async def plan_compaction(graph: GraphStore, records: AssociationStore, tenant: str, dataset: str, path: str) -> CompactionPlan:
    """Plan the compaction of a dataset that lies in a local folder.

    Raises:
        NotFoundError: there is no such dataset.
        UnsupportedError: the dataset has too many consumers.
    """
    blocks = await list_blocks(graph, tenant, dataset)
    consumers = await list_consumers(graph, tenant, dataset)
    if len(consumers) >= MOST_CONSUMERS:
        raise UnsupportedError(f"More than {MOST_CONSUMERS:,} jobs read {dataset}, so not all cursors are known.")
    writers = await graph.neighbours(tenant, [dataset], direction=Direction.UPSTREAM, kinds=[EdgeKind.WRITES])
    jobs = {edge.src for edge in writers if parse_id(edge.src)[0] == NodeKind.JOB} | {consumer.job for consumer in consumers}
    running = await list_running(graph, tenant, sorted(jobs))
    held = await find_holds(graph, tenant, dataset, [block.version for block in blocks])
    return await asyncio.to_thread(_decide, records, tenant, dataset, path, blocks, consumers, held, running)


def find_consumer_reasons(consumers: Sequence[ConsumedInput]) -> list[str]:
    """Return why consumers forbid a compaction. A job that reads the whole dataset finds all records in the merged block as well."""
    others = [one for one in consumers if not _reads_all(one)]
    waiting = [one for one in others if one.unread and one.cursor is not None]
    unknown = [one.job for one in others if one.cursor is None]
    reasons = []
    if waiting:
        numbers = ", ".join(str(block.sequence) for block in waiting[0].unread[:_SHOWN])
        reasons.append(
            f"{name_jobs([one.job for one in waiting])} not read all blocks ({waiting[0].job}: {numbers}). Run it first, or declare "
            "that it reads the whole dataset: `headwater versions declare DATASET --consumer JOB --mode all`"
        )
    if unknown:
        reasons.append(
            f"it is not known what {name_jobs(unknown)} read. Run it first, or declare its mode: "
            "`headwater versions declare DATASET --consumer JOB --mode all`"
        )
    return reasons


def _reads_all(consumer: ConsumedInput) -> bool:
    """Whether a job is known to read the whole dataset: it is declared, or captured runs show it."""
    return consumer.mode is ConsumptionMode.ALL and (consumer.is_declared or (consumer.is_shown and not consumer.is_inferred))


def _decide(
    records: AssociationStore, tenant: str, dataset: str, path: str, blocks: Sequence[Block], consumers: Sequence[ConsumedInput],
    held: Mapping[str, str], running: Sequence[str],
) -> CompactionPlan:  # fmt: skip
    current = [block for block in blocks if block.sequence >= kept_since(blocks, 1)]
    known = list_block_files(records, tenant, dataset, current)
    files = tuple(dict.fromkeys(file for block in current for file in known[block.sequence].files))
    captures = tuple(write.capture for block in current for write in known[block.sequence].writes)
    reasons = []
    if len(current) < 2:
        reasons.append("the current version has one block, so there is nothing to merge")
    reasons += [f"block {block.sequence}: {unknown}" for block in current if (unknown := known[block.sequence].unknown)][:_SHOWN]
    reasons += [f"a legal hold covers block {block.sequence}: {held[block.version]}" for block in current if block.version in held][:_SHOWN]
    reasons += [f"the run {run} reads or writes the dataset now" for run in running[:_SHOWN]]
    reasons += find_consumer_reasons(consumers)
    reasons += _reasons_of_formats(records, tenant, captures)
    reasons += _reasons_of_files(records, path, files, may_be_incomplete=any(known[block.sequence].unknown for block in current))
    followers = [one.job for one in consumers if one.mode is ConsumptionMode.NEW]
    notes = []
    if followers:
        notes.append(
            f"{', '.join(followers[:_SHOWN])} reads new blocks only. A program that remembers names of files would read the merged files "
            "again. It must take its blocks from `headwater consumers`, or from a workflow."
        )
    return CompactionPlan(dataset, path, tuple(current), files, captures, tuple(reasons), tuple(notes))


def _reasons_of_formats(records: AssociationStore, tenant: str, captures: Sequence[str]) -> list[str]:
    sinks = [records.brief(tenant, capture).sink for capture in captures]
    formats = sorted({sink.format for sink in sinks if sink is not None} - {"parquet"})
    columns = {tuple(sink.partition_columns) for sink in sinks if sink is not None}
    reasons = [f"its format is {', '.join(formats)}. Only Parquet is merged"] if formats else []
    if len(columns) > 1:
        reasons.append("its blocks have different partition columns")
    return reasons


def _reasons_of_files(records: AssociationStore, path: str, files: Sequence[FileBlock], *, may_be_incomplete: bool) -> list[str]:
    look = records.sources.look()
    changed = [file.path for file in files if not is_present(look, file)]
    reasons = [f"{changed[0]} is gone, or is not as it was written"] if changed else []
    others = sorted({file.path for file in look.listed(path) or ()} - {file.path for file in files})
    if others and not may_be_incomplete:
        reasons.append(
            f"{others[0]} is not of the current version. `headwater versions gc` drops replaced blocks; move other files elsewhere"
        )
    if bucketed := next((file.path for file in files if _BUCKET.search(file.path.rpartition("/")[2])), None):
        reasons.append(f"{bucketed} is of a bucketed table, whose buckets would be lost")
    return reasons + find_folder_reasons(path)


def find_folder_reasons(path: str) -> list[str]:
    """Return why the entries of a folder forbid a compaction: links, files of streams, and jobs that write now."""
    for folder, folders, files in os.walk(path):
        for name in folders:
            if name in _LOGGED:
                return [_LOGGED[name]]
            if name.startswith(_WRITING):
                return [f"a job writes to it now, or was ended while it wrote ({Path(folder, name)})"]
        if link := next((name for name in (*folders, *files) if Path(folder, name).is_symlink()), None):
            return [f"{Path(folder, link)} is a link"]
    return []
