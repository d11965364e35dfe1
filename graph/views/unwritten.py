"""Which datasets were only ever outputs of runs that failed: such a run named what it was to write, and nothing says that it wrote it.

For all that lists lineage: the graph keeps what a run set out to write, which is of use, and must not pass for data that is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from headwater.graph.model import EdgeKind, Node, NodeKind, kind_of, node_id, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.stores.written import WRITTEN_AT, with_ends

UNWRITTEN = "not written: every run that was to write it failed"
_FAILED = ("FAIL", "ABORT")
_MOST_VERSIONS = 200  # of a dataset that are looked at; with more of them, nothing is said of it
_AT_ONCE = 16  # datasets


async def unwritten(graph: GraphStore, tenant: str, ids: Sequence[str]) -> set[str]:
    """Those of some nodes, datasets and versions, that every run failed that was to write them."""
    versions = [identifier for identifier in ids if kind_of(identifier) is NodeKind.VERSION]
    found = await _failed(graph, tenant, await graph.get(tenant, versions)) if versions else set[str]()
    suspects = await _suspects(graph, tenant, [identifier for identifier in ids if kind_of(identifier) is NodeKind.DATASET])
    for start in range(0, len(suspects), _AT_ONCE):
        some = suspects[start : start + _AT_ONCE]
        answers = await asyncio.gather(*(_is_unwritten(graph, tenant, dataset) for dataset in some))
        found.update(dataset for dataset, is_so in zip(some, answers, strict=True) if is_so)
    return found


async def _suspects(graph: GraphStore, tenant: str, datasets: Sequence[str]) -> list[str]:
    """The datasets of which the run that last stated each of its writers' writes failed."""
    if not datasets:
        return []
    writes = await graph.neighbours(tenant, datasets, direction=Direction.UPSTREAM, kinds=[EdgeKind.WRITES])
    last = {(edge.dst, edge.src): edge.last.partition(" ")[2] for edge in writes}
    failed = await _failed_runs(graph, tenant, {run for run in last.values() if run})
    written = {dataset for (dataset, _), run in last.items() if run not in failed}
    return sorted({dataset for dataset, _ in last} - written)


async def _is_unwritten(graph: GraphStore, tenant: str, dataset: str) -> bool:
    page = await graph.children(tenant, dataset, kinds=[NodeKind.VERSION], first=_MOST_VERSIONS)
    return bool(page.nodes) and page.cursor is None and len(await _failed(graph, tenant, page.nodes)) == len(page.nodes)


async def _failed(graph: GraphStore, tenant: str, versions: Sequence[Node]) -> set[str]:
    """The versions that were not written, by runs that failed."""
    known = await with_ends(graph, tenant, versions)
    runs = {version.id: parse_id(version.id)[1][2] for version in known if not isinstance(version.properties.get(WRITTEN_AT), str)}
    failed = await _failed_runs(graph, tenant, set(runs.values()))
    return {identifier for identifier, run in runs.items() if run in failed}


async def _failed_runs(graph: GraphStore, tenant: str, runs: set[str]) -> set[str]:
    nodes = await graph.get(tenant, sorted(node_id(NodeKind.RUN, run) for run in runs)) if runs else []
    return {parse_id(node.id)[1][0] for node in nodes if node.properties.get("state") in _FAILED}
