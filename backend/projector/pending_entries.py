"""Counts the log entries that are not yet in the graph, for callers without a projector."""

from __future__ import annotations

import asyncio

from headwater.backend.ingest.log import IngestLog
from headwater.graph.stores import GraphStore


async def pending(log: IngestLog, graph: GraphStore, tenant: str) -> int:
    """Return the number of a tenant's entries that wait for projection.

    Raises:
        DamagedError: the log lacks entries that the graph has.
    """
    offset = await graph_offset(log, graph, tenant)
    return await asyncio.to_thread(log.pending, tenant, after=offset)


async def graph_offset(log: IngestLog, graph: GraphStore, tenant: str) -> int:
    """Return the offset of a tenant's last projected entry.

    Raises:
        DamagedError: the log lacks entries that the graph has.
    """
    offset = await graph.offset(tenant)
    if offset and offset > await asyncio.to_thread(log.given):
        raise await asyncio.to_thread(log.lost_entries, offset)
    return offset
