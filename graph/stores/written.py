"""When a version was written of which the start of its run alone told: some producers name there what a run writes, and nothing at its end.

The log's entries come in any order, and what one states cannot depend on another. So this is found out when versions are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from headwater.graph.model import Node, NodeKind, node_id, parse_id

WRITTEN_AT = "writtenAt"
BARE_END = "bareEnd"  # of a run that completed: its last event names no dataset, so that what was stated before holds


class _Nodes(Protocol):
    """The one verb that this needs of a store, or of a service at the other end of a line."""

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]: ...


async def with_ends(graph: _Nodes, tenant: str, versions: Sequence[Node]) -> list[Node]:
    """The versions, in their order; each that a completed run wrote says when."""
    writers = {version.id: node_id(NodeKind.RUN, parse_id(version.id)[1][2]) for version in versions if _is_open(version)}
    if not writers:
        return list(versions)
    ends = {
        run.id: ended
        for run in await graph.get(tenant, sorted(set(writers.values())))
        if run.properties.get("state") == "COMPLETE"
        and run.properties.get(BARE_END) is True
        and isinstance(ended := run.properties.get("endedAt"), str)
    }
    return [
        replace(version, properties={**version.properties, WRITTEN_AT: ends[writers[version.id]]})
        if writers.get(version.id) in ends
        else version
        for version in versions
    ]


def _is_open(node: Node) -> bool:
    return node.kind is NodeKind.VERSION and not isinstance(node.properties.get(WRITTEN_AT), str)
