"""Applies batches to a store, with the links between versions and their readers.

A run read a version if it read a file of the version. The two captures may arrive in any order, because the second one adds the link.
Adding a link twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.graph.model import Edge, EdgeKind, GraphBatch, NodeKind, Stamp
from headwater.graph.stores import Direction, GraphStore

_PARTITION = f"{NodeKind.PARTITION}:"


async def fold(store: GraphStore, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
    """Apply batches, and the links that they complete.

    `offset` is stored with the last of them. After a crash, both are repeated with the same result.
    """
    # Statements that many entries share (`blocks`) are about datasets and columns only.
    if not any(edge.dst.startswith(_PARTITION) or edge.src.startswith(_PARTITION) for batch in batches for edge in batch.edges):
        await store.apply(tenant, batches, offset=offset)
        return
    await store.apply(tenant, batches)
    await store.apply(tenant, [await link_versions(store, tenant, batches)], offset=offset)


async def link_versions(store: GraphStore, tenant: str, batches: Sequence[GraphBatch]) -> GraphBatch:
    """Return edges from versions to runs, for each file that one capture wrote and another read, if the batches contain either."""
    edges = [edge for batch in batches for edge in batch.edges]
    readers = [(edge.src, edge.dst) for edge in edges if edge.kind is EdgeKind.READS and edge.src.startswith(_PARTITION)]
    versions = {edge.dst: edge.src for edge in edges if edge.kind is EdgeKind.CONTAINS and edge.src.startswith(f"{NodeKind.VERSION}:")}
    links: set[tuple[str, str]] = set()
    if readers:
        containers = await store.ancestors(tenant, list({partition for partition, _ in readers}))
        links |= {(node.id, run) for partition, run in readers for node in containers.get(partition, ()) if node.kind is NodeKind.VERSION}
    if versions:
        known = await store.neighbours(tenant, list(versions), direction=Direction.DOWNSTREAM, kinds=[EdgeKind.READS])
        links |= {(versions[edge.src], edge.dst) for edge in known}
    # Links have no time, because the order of batches is arbitrary. The run has the time of the read.
    return GraphBatch(Stamp("", ""), edges=[Edge(version, run, EdgeKind.READS) for version, run in sorted(links)])
