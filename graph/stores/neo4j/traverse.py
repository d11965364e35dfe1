"""Walks in Neo4j: one hop, and all reachable nodes level by level.

A level is one statement over the nodes of the previous level, by the server's element ids: an index look-up costs ten times as much. A
variable-length pattern would walk every path, possibly exponentially many. This walk visits each node once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.model.properties import NOTHING, stored
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.vocabulary import KIND, any_of
from headwater.graph.stores.protocol import COUNTED, Direction, Subgraph

_NODE_KINDS = {kind.value: kind for kind in NodeKind}  # a look-up takes a tenth of the time of NodeKind(…)
_ABOUT: LiteralString = "type(e), coalesce(e.properties, '{}'), coalesce(e.first, ''), coalesce(e.last, '')"


async def neighbours(
    transaction: AsyncManagedTransaction, tenant: str, ids: Sequence[str], direction: Direction, kinds: Sequence[EdgeKind]
) -> list[Edge]:
    """Return the edges of some kinds that begin (downstream) or end (upstream) at one of the ids."""
    if not kinds:
        return []
    found: dict[tuple[str, str, EdgeKind], Edge] = {}
    for way in direction.ways():
        statement: LiteralString = (
            "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id})"
            + step(way, kinds)
            + " WHERE m.tenant = $tenant RETURN startNode(e).id, endNode(e).id, "
            + _ABOUT
        )
        for edge in map(_to_edge, await rows(transaction, statement, ids=list(ids), tenant=tenant)):
            found[edge.src, edge.dst, edge.kind] = edge
    return list(found.values())


async def reach(
    transaction: AsyncManagedTransaction,
    tenant: str,
    focus: Sequence[str],
    direction: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
) -> Subgraph:
    start = await elements_of(transaction, tenant, list(dict.fromkeys(focus)))
    walks = [_Walk(transaction, way, kinds, depth, limit) for way in direction.ways()]
    distance: dict[str, int] = {}
    for walk in walks:
        for element, hops in (await walk.go(start)).items():
            distance[element] = min(hops, distance.get(element, hops))
    elements = await _nearest(transaction, distance, limit)
    # The steps did not follow edges from the last level, nor edges from one cone to the other.
    await walks[0].expand([element for element in elements if element not in walks[0].expanded])
    nodes = [(distance[element], node) for element, node in elements.items()]
    nodes.sort(key=lambda entry: (entry[0], entry[1].id))
    return Subgraph(
        nodes=[node for _, node in nodes],
        edges=[
            Edge(elements[src].id, elements[dst].id, KIND[relationship], stored(about), NOTHING, first, last)
            for src, dst, relationship, about, first, last in walks[0].met
            if src in elements and dst in elements
        ],
        distance={node.id: hops for hops, node in nodes},
        truncated=len(distance) - len(nodes),
        counted=all(walk.whole for walk in walks),
    )


@dataclass(slots=True)
class _Walk:
    """A walk in one direction.

    `met` are the edges of the elements `expanded`; `whole` is true if every node within the depth was visited.
    """

    transaction: AsyncManagedTransaction
    way: Direction
    kinds: Sequence[EdgeKind]
    depth: int
    limit: int
    met: list[tuple[str, str, str, str, str, str]] = field(default_factory=list)
    expanded: set[str] = field(default_factory=set)
    whole: bool = True

    async def go(self, start: Sequence[str]) -> dict[str, int]:
        """Walk, and return the distance of each element id in hops."""
        hops = dict.fromkeys(start, 0)
        frontier = list(start)
        for distance in range(1, self.depth + 1):
            if len(hops) > self.limit + COUNTED:
                self.whole = False
                break
            found = await (self.expand if len(hops) <= self.limit else self._count)(frontier)
            frontier = [element for element in dict.fromkeys(found) if element not in hops]
            if not frontier:
                break
            hops.update(dict.fromkeys(frontier, distance))
        return hops

    async def expand(self, elements: Sequence[str]) -> Sequence[str]:
        """Add the edges whose near end is one of the elements, and return their far ends."""
        if not elements or not self.kinds:
            return []
        statement: LiteralString = (
            BY_PLACE
            + step(self.way, self.kinds)
            + " RETURN collect(place), collect(elementId(m)), collect(type(e)), collect(coalesce(e.properties, '')), "
            + "collect(coalesce(e.first, '')), collect(coalesce(e.last, ''))"
        )
        places, far, *about = (await rows(self.transaction, statement, elements=elements))[0]
        near = [elements[place] for place in places]
        ends = (far, near) if self.way is Direction.UPSTREAM else (near, far)
        self.met += zip(*ends, *about, strict=True)
        self.expanded.update(elements)
        return list(far)

    async def _count(self, elements: Sequence[str]) -> Sequence[str]:
        """Return only the far ends, for nodes beyond the limit, which are only counted."""
        if not self.kinds:
            return []
        statement: LiteralString = BY_PLACE + step(self.way, self.kinds) + " RETURN collect(DISTINCT elementId(m))"
        return list((await rows(self.transaction, statement, elements=elements))[0][0])


async def elements_of(transaction: AsyncManagedTransaction, tenant: str, ids: Sequence[str]) -> list[str]:
    """Return the server's element ids of the nodes that exist, in the order of the ids."""
    statement: LiteralString = (
        "UNWIND range(0, size($ids) - 1) AS place MATCH (n:Container {tenant: $tenant, id: $ids[place]}) "
        "WITH n, place ORDER BY place RETURN collect(elementId(n))"
    )
    return list((await rows(transaction, statement, ids=list(ids), tenant=tenant))[0][0])


async def _nearest(transaction: AsyncManagedTransaction, distance: dict[str, int], limit: int) -> dict[str, Node]:
    """Return the `limit` nearest nodes by element id. If a level exceeds the limit, the first ids are kept."""
    ordered = sorted(distance, key=distance.__getitem__)
    if len(ordered) > limit:
        edge = distance[ordered[limit]]
        whole = [element for element in ordered[:limit] if distance[element] < edge]
        last = await rows(
            transaction,
            _BY_ELEMENT + " RETURN elementId(n) ORDER BY n.id LIMIT $limit",
            elements=[element for element in ordered if distance[element] == edge],
            limit=limit - len(whole),
        )
        ordered = whole + [element for (element,) in last]
    # One record of columns is unpacked faster than one record per node.
    columns = (
        await rows(
            transaction,
            _BY_ELEMENT + " RETURN collect(elementId(n)), collect(n.id), collect(n.kind), collect(n.name), collect(n.properties)",
            elements=ordered,
        )
    )[0]
    return {
        element: Node(identifier, _NODE_KINDS[kind], name, stored(about), NOTHING)
        for element, identifier, kind, name, about in zip(*columns, strict=True)
    }


# The server finds an element by its own id without an index.
_BY_ELEMENT: LiteralString = "UNWIND $elements AS element MATCH (n) WHERE elementId(n) = element"
BY_PLACE: LiteralString = "UNWIND range(0, size($elements) - 1) AS place MATCH (n) WHERE elementId(n) = $elements[place] MATCH (n)"


def step(way: Direction, kinds: Sequence[EdgeKind]) -> LiteralString:
    types = any_of(kinds)
    return "<-[e:" + types + "]-(m:Container)" if way is Direction.UPSTREAM else "-[e:" + types + "]->(m:Container)"


def _to_edge(row: Sequence[str]) -> Edge:
    src, dst, relationship, properties, first, last = row
    return Edge(src, dst, KIND[relationship], json.loads(properties) if properties != "{}" else {}, first=first, last=last)
