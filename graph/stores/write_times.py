"""Determines the time of a version if only the start event of its run names the dataset. Some producers name outputs only there.

The log's entries come in any order, and a statement cannot depend on another entry. So the time is determined when versions are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from headwater.graph.model import Node, NodeKind, node_id, parse_id

WRITTEN_AT = "writtenAt"
UNDONE_AT = "undoneAt"  # property of a version: the time at which the commit of a replay was undone
BARE_END = "bareEnd"  # property of a completed run whose last event names no dataset, so that earlier statements hold


class _Nodes(Protocol):
    """The verb of a store that `with_ends` needs. A remote service has it too."""

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]: ...


async def with_ends(graph: _Nodes, tenant: str, versions: Sequence[Node]) -> list[Node]:
    """Return the versions in their order. Each version of a completed run gets its time."""
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
