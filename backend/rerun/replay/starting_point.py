"""The starting point of a replay: the latest datasets whose data is still the data that the runs read.

A replay reads these datasets from their places, and runs only the programs after them. If the data of a dataset changed since the run read
it, or is gone, the programs that wrote the dataset run, too.

The graph has the files that a captured run read, each with its length and modification time. Files of other runs are unchanged if none of
them is newer than the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime

from headwater.backend.rerun.replay.invocations import Upstream
from headwater.backend.rerun.replay.kinds.kind import Sources, file_prefix, place_of
from headwater.backend.rerun.replay.plan import Flow, StartingPoint, in_order
from headwater.errors import HeadwaterError, UnsupportedError
from headwater.graph.model import EdgeKind, NodeKind, parse_id
from headwater.graph.records import FileBlock, uri_of
from headwater.graph.stores import Direction

_SCAN = "Relation "  # how Spark's plan calls a scan of files; scans of RDDs and tables of databases have other names


async def find_starting_point(
    upstream: Upstream, applications: Collection[str], sources: Sources, *, trusted: Collection[str] = (), selects: bool = False
) -> StartingPoint:
    """Return the starting point from which some applications can run. Datasets in `trusted` are read from their places in any case.

    With `selects`, the replay reads single records, so all programs must scan the files of a starting point with Spark SQL.

    Raises:
        UnsupportedError: an input is gone, and no known program wrote it.
    """
    check = _Check(upstream, sources, selects=selects)
    chosen = set(applications)
    while True:
        flows = [flow for flow in upstream.flows if flow.application in chosen]
        made = {dataset for flow in flows for dataset in flow.writes}
        read = sorted({dataset for flow in flows for dataset in flow.reads} - made)
        changed: dict[str, str] = {}
        producers: set[str] = set()
        for dataset in read:
            reason = None if dataset in trusted else await check.reason_against(dataset, chosen)
            if reason is None:
                continue
            writers = {flow.application for flow in upstream.flows if dataset in flow.writes}
            producers |= writers
            if not writers:
                changed[dataset] = reason
        if not producers - chosen:
            if gone := [dataset for dataset, reason in changed.items() if reason == check.GONE]:
                raise UnsupportedError(
                    f"{gone[0]} is gone, and no program that could write it again is known.",
                    hint="Put it back, and start the replay again.",
                )
            known = {name: why for name, why in changed.items() if why != check.UNFIT}
            return StartingPoint(in_order(upstream.flows, chosen), read, known)
        chosen |= producers


async def files_read(sources: Sources, runs: Sequence[str]) -> dict[str, set[FileBlock]]:
    """Return the files that each of some runs read, as far as they are known."""
    found: dict[str, set[FileBlock]] = {run: set() for run in runs}
    for edge in await sources.graph.neighbours(sources.tenant, runs, direction=Direction.UPSTREAM, kinds=[EdgeKind.READS]):
        if (block := parse_file(edge.src)) is not None:
            found[edge.dst].add(block)
    return found


def parse_file(node: str) -> FileBlock | None:
    """Return the file of a partition's node id. None if the node is no file."""
    kind, parts = parse_id(node)
    if kind == NodeKind.PARTITION and len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        return FileBlock(uri_of(parts[0]), int(parts[1]), int(parts[2]))
    return None


async def began_at(application: str, sources: Sources) -> float | None:
    """Return the time at which an application began, in milliseconds since the epoch; None if it is not known."""
    for run in await sources.graph.get(sources.tenant, [application]):
        if start := run.properties.get("startedAt") or run.properties.get("endedAt"):
            return datetime.fromisoformat(str(start)).timestamp() * 1000
    return None


def is_below(file: FileBlock, dataset: str) -> bool:
    """Whether a file has the path of a dataset, or is in its folder."""
    prefix = file_prefix(dataset).rstrip("/")
    return file.path == prefix or file.path.startswith(f"{prefix}/")


class _Check:
    """Compares datasets with what runs read. Each dataset is listed once, and each run is asked for its files once."""

    GONE = "is gone"
    UNFIT = "is not read by a scan of files"

    def __init__(self, upstream: Upstream, sources: Sources, *, selects: bool) -> None:
        self._upstream, self._sources, self._selects = upstream, sources, selects
        self._listed: dict[str, Sequence[FileBlock] | None] = {}
        self._files: dict[str, Collection[FileBlock]] = {}  # by run
        self._reasons: dict[tuple[Flow, str], str | None] = {}

    async def reason_against(self, dataset: str, applications: Collection[str]) -> str | None:
        """Return why a replay cannot read a dataset from its place, None if it can. What is not known counts as unchanged."""
        for flow in self._upstream.flows:
            if flow.application in applications and dataset in flow.reads:
                if (flow, dataset) not in self._reasons:
                    self._reasons[flow, dataset] = await self._reason_of(flow, dataset)
                if reason := self._reasons[flow, dataset]:
                    return reason
        return None

    async def _reason_of(self, flow: Flow, dataset: str) -> str | None:
        if self._selects and not await self._is_scan(flow, dataset):
            return self.UNFIT
        try:
            blocks = await self._list(dataset)
        except (HeadwaterError, OSError):
            return None  # a table of a database, or a place that may not be read here
        if not blocks:
            return self.GONE
        began = await began_at(flow.application, self._sources)
        read = await self._files_read(flow, dataset)
        if read is not None:
            if read - set(blocks):
                return "has changed since the run that read it"
            paths = {block.path for block in read}
            blocks = [block for block in blocks if block.path not in paths]
        if began is not None and any(block.modified > began for block in blocks):
            return "was written after the run that read it began"
        return None

    async def _list(self, dataset: str) -> Sequence[FileBlock] | None:
        if dataset not in self._listed:
            self._listed[dataset] = await asyncio.to_thread(self._sources.roots.look().listed, place_of(dataset))
        return self._listed[dataset]

    async def _files_read(self, flow: Flow, dataset: str) -> set[FileBlock] | None:
        """Return the files of a dataset that the run of a flow read; None if they are not known."""
        if not flow.run:
            return None
        if flow.run not in self._files:
            self._files |= await files_read(self._sources, [flow.run])
        return {block for block in self._files[flow.run] if is_below(block, dataset)} or None

    async def _is_scan(self, flow: Flow, dataset: str) -> bool:
        """Whether the run of a flow scanned the files of a dataset with Spark SQL."""
        edges = await self._sources.graph.neighbours(
            self._sources.tenant, [flow.run], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS]
        ) if flow.run else []  # fmt: skip
        nodes = await self._sources.graph.get(self._sources.tenant, [edge.dst for edge in edges if edge.dst.startswith("operator:")])
        scans = [node for node in nodes if node.properties.get("dataset") == dataset]
        return bool(scans) and all(str(node.properties.get("text") or "").startswith(_SCAN) for node in scans)
