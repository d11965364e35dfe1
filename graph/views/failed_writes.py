"""Finds datasets without data, because every known run that should write them failed.

A run names its outputs before it writes them, and the graph keeps these names. Lists of lineage mark such datasets, so that no reader takes
them for data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from headwater.graph.ledger import FAILED
from headwater.graph.model import EdgeKind, Node, NodeKind, kind_of, node_id, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.stores.write_times import WRITTEN_AT, with_ends

UNWRITTEN = "no completed write is known: every known run that was to write it failed"
_MOST_VERSIONS = 200  # versions of a dataset that are read; a dataset with more versions is not marked
_AT_ONCE = 16  # datasets that are read in parallel


async def find_failed_writes(graph: GraphStore, tenant: str, ids: Sequence[str]) -> set[str]:
    """Return the datasets and versions among `ids` that were probably never written, because their runs failed."""
    versions = [identifier for identifier in ids if kind_of(identifier) is NodeKind.VERSION]
    found = await _failed(graph, tenant, await graph.get(tenant, versions)) if versions else set[str]()
    suspects = await _suspects(graph, tenant, [identifier for identifier in ids if kind_of(identifier) is NodeKind.DATASET])
    for start in range(0, len(suspects), _AT_ONCE):
        some = suspects[start : start + _AT_ONCE]
        answers = await asyncio.gather(*(_is_unwritten(graph, tenant, dataset) for dataset in some))
        found.update(dataset for dataset, is_so in zip(some, answers, strict=True) if is_so)
    return found


async def _suspects(graph: GraphStore, tenant: str, datasets: Sequence[str]) -> list[str]:
    """Return the datasets for which no last run of a writer or a reader completed. A completed reader found data there."""
    if not datasets:
        return []
    writes = await graph.neighbours(tenant, datasets, direction=Direction.UPSTREAM, kinds=[EdgeKind.WRITES])
    last = {(edge.dst, edge.src): edge.last.partition(" ")[2] for edge in writes}
    failed = await _in_state(graph, tenant, {run for run in last.values() if run}, FAILED)
    written = {dataset for (dataset, _), run in last.items() if run not in failed}
    suspects = {dataset for dataset, _ in last} - written
    if not suspects:
        return []
    reads = await graph.neighbours(tenant, sorted(suspects), direction=Direction.DOWNSTREAM, kinds=[EdgeKind.READS])
    readings = {(edge.src, edge.last.partition(" ")[2]) for edge in reads if edge.last}
    complete = await _in_state(graph, tenant, {run for _, run in readings}, ("COMPLETE",))
    return sorted(suspects - {dataset for dataset, run in readings if run in complete})


async def _is_unwritten(graph: GraphStore, tenant: str, dataset: str) -> bool:
    page = await graph.children(tenant, dataset, kinds=[NodeKind.VERSION], first=_MOST_VERSIONS)
    return bool(page.nodes) and page.cursor is None and len(await _failed(graph, tenant, page.nodes)) == len(page.nodes)


async def _failed(graph: GraphStore, tenant: str, versions: Sequence[Node]) -> set[str]:
    """Return the versions of failed runs that state no written rows."""
    known = await with_ends(graph, tenant, versions)
    runs = {version.id: parse_id(version.id)[1][2] for version in known if not _has_data(version)}
    failed = await _in_state(graph, tenant, set(runs.values()), FAILED)
    return {identifier for identifier, run in runs.items() if run in failed}


def _has_data(version: Node) -> bool:
    statistics = version.properties.get("outputStatistics")
    rows = statistics.get("rowCount") if isinstance(statistics, Mapping) else None
    return isinstance(version.properties.get(WRITTEN_AT), str) or (isinstance(rows, int) and rows > 0)


async def _in_state(graph: GraphStore, tenant: str, runs: Collection[str], states: Collection[str]) -> set[str]:
    nodes = await graph.get(tenant, sorted(node_id(NodeKind.RUN, run) for run in runs)) if runs else []
    return {parse_id(node.id)[1][0] for node in nodes if node.properties.get("state") in states}
