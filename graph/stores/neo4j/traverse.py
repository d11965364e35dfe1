"""Walking Neo4j: one hop, and all that can be reached, level by level.

A level is one statement over the nodes of the level before, by the server's own ids: a look-up in an index costs ten times as much. A
variable-length pattern would walk every path, of which there may be exponentially many; this visits each node once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.model.properties import stored
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.read import read_nodes
from headwater.graph.stores.neo4j.vocabulary import KIND, any_of
from headwater.graph.stores.protocol import COUNTED, Direction, Subgraph

_NODE_KINDS = {kind.value: kind for kind in NodeKind}  # a look-up costs a tenth of NodeKind(…)
_ABOUT: LiteralString = "type(e), coalesce(e.properties, '{}'), coalesce(e.first, ''), coalesce(e.last, '')"


async def neighbours(
    transaction: AsyncManagedTransaction, tenant: str, ids: Sequence[str], direction: Direction, kinds: Sequence[EdgeKind]
) -> list[Edge]:
    """Edges of the kinds that begin (downstream) or end (upstream) at one of the ids."""
    if not kinds:
        return []
    found: dict[tuple[str, str, EdgeKind], Edge] = {}
    for way in direction.ways():
        statement: LiteralString = (
            "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id})"
            + _step(way, kinds)
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
    """See `GraphStore.reach`."""
    start = {node.id for node in await read_nodes(transaction, tenant, focus)}
    distance: dict[str, int] = {}
    counted = True
    for way in direction.ways():
        found, whole = await _cone(transaction, tenant, start, way, kinds, depth, limit)
        counted &= whole
        for element, hops in found.items():
            distance[element] = min(hops, distance.get(element, hops))
    elements = await _nearest(transaction, distance, limit)
    nodes = [(distance[element], node) for element, node in elements.items()]
    nodes.sort(key=lambda entry: (entry[0], entry[1].id))
    return Subgraph(
        nodes=[node for _, node in nodes],
        edges=await _edges_among(transaction, elements, kinds),
        distance={node.id: hops for hops, node in nodes},
        truncated=len(distance) - len(nodes),
        counted=counted,
    )


async def _cone(
    transaction: AsyncManagedTransaction,
    tenant: str,
    start: Iterable[str],
    way: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
) -> tuple[dict[str, int], bool]:
    """Every node within `depth` hops by its element id, with its distance; and whether all were visited."""
    first = await rows(
        transaction,
        "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id}) RETURN collect(elementId(n))",
        ids=list(start),
        tenant=tenant,
    )
    distance = dict.fromkeys(first[0][0], 0)
    frontier = list(distance)
    if not kinds:
        return distance, True
    statement: LiteralString = _BY_ELEMENT + " MATCH (n)" + _step(way, kinds) + " RETURN collect(DISTINCT elementId(m))"
    for hops in range(1, depth + 1):
        if len(distance) > limit + COUNTED:
            return distance, False
        found = (await rows(transaction, statement, elements=frontier))[0][0]
        frontier = [element for element in found if element not in distance]
        if not frontier:
            break
        distance.update(dict.fromkeys(frontier, hops))
    return distance, True


async def _nearest(transaction: AsyncManagedTransaction, distance: dict[str, int], limit: int) -> dict[str, Node]:
    """The `limit` nearest nodes by element id, the first ids going first where a level does not fit whole."""
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
    # One record of columns is unpacked faster than one a node.
    columns = (
        await rows(
            transaction,
            _BY_ELEMENT + " RETURN collect(elementId(n)), collect(n.id), collect(n.kind), collect(n.name), collect(n.properties)",
            elements=ordered,
        )
    )[0]
    return {
        element: Node(identifier, _NODE_KINDS[kind], name, stored(about))
        for element, identifier, kind, name, about in zip(*columns, strict=True)
    }


async def _edges_among(transaction: AsyncManagedTransaction, elements: dict[str, Node], kinds: Sequence[EdgeKind]) -> list[Edge]:
    if not kinds or not elements:
        return []
    order = list(elements)
    statement: LiteralString = (
        "UNWIND range(0, size($elements) - 1) AS place MATCH (n) WHERE elementId(n) = $elements[place] MATCH (n)"
        + _step(Direction.UPSTREAM, kinds)
        + " RETURN collect(elementId(m)), collect(place), collect(type(e)), collect(coalesce(e.properties, '{}')), "
        + "collect(coalesce(e.first, '')), collect(coalesce(e.last, ''))"
    )
    columns = (await rows(transaction, statement, elements=order))[0]
    return [
        Edge(elements[src].id, elements[order[place]].id, KIND[relationship], stored(about), {}, first, last)
        for src, place, relationship, about, first, last in zip(*columns, strict=True)
        if src in elements
    ]


# The server finds an element by its own id without an index.
_BY_ELEMENT: LiteralString = "UNWIND $elements AS element MATCH (n) WHERE elementId(n) = element"


def _step(way: Direction, kinds: Sequence[EdgeKind]) -> LiteralString:
    """One hop from n to m, against the flow or with it."""
    types = any_of(kinds)
    return "<-[e:" + types + "]-(m:Container)" if way is Direction.UPSTREAM else "-[e:" + types + "]->(m:Container)"


def _to_edge(row: Sequence[str]) -> Edge:
    src, dst, relationship, properties, first, last = row
    return Edge(src, dst, KIND[relationship], json.loads(properties) if properties != "{}" else {}, first=first, last=last)
