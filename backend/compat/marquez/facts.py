"""The common parts of all nodes in Marquez's form: the times when they were first and last stated, and their facets."""

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
    """The times when a node was first and last stated (None: no event says), and the ids of its containers."""

    created: str | None
    updated: str | None
    containers: Sequence[str]


NEVER = Stated(None, None, ())


async def when_stated(ask: MarquezRequest, ids: Sequence[str]) -> Mapping[str, Stated]:
    """Return when each node was stated, by the edges from its containers, else by the reads and writes that the caller sees."""
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
    """Return the facets of a node, without values of columns for a caller who may not read them."""
    return {name: facet for name, facet in facets_of(properties).items() if ask.tells_values or not holds_values(name)}


def by_id(nodes: Iterable[Node]) -> dict[str, Node]:
    """Return nodes by their ids."""
    return {node.id: node for node in nodes}


def _stated(edges: Sequence[Edge]) -> Stated:
    first = min((time for edge in edges if (time := edge.first.partition(" ")[0])), default=None)
    last = max((time for edge in edges if (time := edge.last.partition(" ")[0])), default=None)
    return Stated(first, last, sorted(edge.src for edge in edges))
