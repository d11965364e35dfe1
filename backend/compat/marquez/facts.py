"""The common parts of all nodes in Marquez's form: the times of the first and last event about them, and their facets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater.backend.compat.marquez.request import MarquezRequest
from headwater.backend.projection.facets import facets_of
from headwater.graph.model import Edge, EdgeKind, Node
from headwater.graph.quality import holds_values
from headwater.graph.stores import Direction


@dataclass(frozen=True, slots=True)
class Stated:
    """The times of the first and the last event about a node (None: unknown), and the ids of its containers."""

    created: str | None
    updated: str | None
    containers: Sequence[str]


NEVER = Stated(None, None, ())


async def when_stated(ask: MarquezRequest, ids: Sequence[str]) -> Mapping[str, Stated]:
    """Return these times for each node, from the edges of its containers, or else from visible reads and writes."""
    by_child: dict[str, list[Edge]] = {}
    for edge in await ask.graph.neighbours(ask.tenant, ids, direction=Direction.UPSTREAM, kinds=[EdgeKind.CONTAINS]):
        by_child.setdefault(edge.dst, []).append(edge)
    found = {child: _stated(edges) for child, edges in by_child.items()}
    timeless = [child for child, stated in found.items() if stated.updated is None]
    flows = await ask.graph.neighbours(ask.tenant, timeless, direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES])
    for child in timeless:
        of_child = _stated([edge for edge in flows if child in (edge.src, edge.dst)])
        found[child] = replace(of_child, containers=found[child].containers)
    return found


def facets(ask: MarquezRequest, properties: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the facets of a node. Facets with values of columns are left out for callers who may not see values."""
    return {name: facet for name, facet in facets_of(properties).items() if ask.tells_values or not holds_values(name)}


def by_id(nodes: Iterable[Node]) -> dict[str, Node]:
    return {node.id: node for node in nodes}


def _stated(edges: Sequence[Edge]) -> Stated:
    first = min((time for edge in edges if (time := edge.first.partition(" ")[0])), default=None)
    last = max((time for edge in edges if (time := edge.last.partition(" ")[0])), default=None)
    return Stated(first, last, sorted(edge.src for edge in edges))
