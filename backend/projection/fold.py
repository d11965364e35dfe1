"""Batches into a store, with the links that only two log entries together tell.

A run read a version where it read a file that the version contains. Which of the two captures arrives first does not matter: whichever
comes second finds the other. The links state nothing but themselves, so stating them again changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.graph.model import Edge, EdgeKind, GraphBatch, NodeKind, Stamp
from headwater.graph.stores import Direction, GraphStore

_PARTITION = f"{NodeKind.PARTITION}:"


async def fold(store: GraphStore, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
    """Apply batches and what they complete. `offset` is remembered with the last of it: a crash between repeats both, to the same end."""
    # What many entries state alike (`blocks`) is of datasets and columns.
    if not any(edge.dst.startswith(_PARTITION) or edge.src.startswith(_PARTITION) for batch in batches for edge in batch.edges):
        await store.apply(tenant, batches, offset=offset)
        return
    await store.apply(tenant, batches)
    await store.apply(tenant, [await link_versions(store, tenant, batches)], offset=offset)


async def link_versions(store: GraphStore, tenant: str, batches: Sequence[GraphBatch]) -> GraphBatch:
    """Versions → runs for each file that one capture wrote and another read, where these batches, applied already, bring either."""
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
    # Without a time: which batch brings a link depends on the order in which they come. The run says when it read.
    return GraphBatch(Stamp("", ""), edges=[Edge(version, run, EdgeKind.READS) for version, run in sorted(links)])
