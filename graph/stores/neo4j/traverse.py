"""Walking Neo4j: one hop, and all that can be reached, level by level.

A level is one statement over the ids of the level before. A variable-length pattern would walk every path, of which there may be
exponentially many; this visits each node once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import Edge, EdgeKind
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.read import read_nodes
from headwater.graph.stores.neo4j.vocabulary import KIND, any_of
from headwater.graph.stores.protocol import Direction, Subgraph

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
    for way in direction.ways():
        for identifier, hops in (await _cone(transaction, tenant, start, way, kinds, depth)).items():
            distance[identifier] = min(hops, distance.get(identifier, hops))
    kept = sorted(distance, key=lambda identifier: (distance[identifier], identifier))[:limit]
    return Subgraph(
        nodes=await read_nodes(transaction, tenant, kept),
        edges=await _edges_among(transaction, tenant, kept, kinds),
        distance={identifier: distance[identifier] for identifier in kept},
        truncated=len(distance) - len(kept),
    )


async def _cone(
    transaction: AsyncManagedTransaction, tenant: str, start: Iterable[str], way: Direction, kinds: Sequence[EdgeKind], depth: int
) -> dict[str, int]:
    """Every id within `depth` hops, with its distance."""
    distance = dict.fromkeys(start, 0)
    frontier = list(distance)
    if not kinds:
        return distance
    statement: LiteralString = (
        "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id})"
        + _step(way, kinds)
        + " WHERE m.tenant = $tenant RETURN DISTINCT m.id"
    )
    for hops in range(1, depth + 1):
        found = await rows(transaction, statement, ids=frontier, tenant=tenant)
        frontier = [identifier for (identifier,) in found if identifier not in distance]
        if not frontier:
            break
        distance.update(dict.fromkeys(frontier, hops))
    return distance


async def _edges_among(transaction: AsyncManagedTransaction, tenant: str, ids: Sequence[str], kinds: Sequence[EdgeKind]) -> list[Edge]:
    if not kinds:
        return []
    statement: LiteralString = (
        "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id})"
        + _step(Direction.UPSTREAM, kinds)
        + " WHERE m.tenant = $tenant RETURN m.id, n.id, "
        + _ABOUT
    )
    kept = set(ids)
    return [_to_edge(row) for row in await rows(transaction, statement, ids=list(ids), tenant=tenant) if row[0] in kept]


def _step(way: Direction, kinds: Sequence[EdgeKind]) -> LiteralString:
    """One hop from n to m, against the flow or with it."""
    types = any_of(kinds)
    return "<-[e:" + types + "]-(m:Container)" if way is Direction.UPSTREAM else "-[e:" + types + "]->(m:Container)"


def _to_edge(row: Sequence[str]) -> Edge:
    src, dst, relationship, properties, first, last = row
    return Edge(src, dst, KIND[relationship], json.loads(properties) if properties != "{}" else {}, first=first, last=last)
