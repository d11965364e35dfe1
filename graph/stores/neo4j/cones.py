"""Cones of a Neo4j database. A level is one statement; near ends come back as the numbers that they were sent with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.cone import ConeBuilder
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.vocabulary import KIND, any_of
from headwater.graph.stores.protocol import Cone, Direction

_PARENTS: LiteralString = """
    UNWIND range(0, size($ids) - 1) AS i
    MATCH (:Container {tenant: $tenant, id: $ids[i]})<-[:CONTAINS]-(m:Container) WHERE m.tenant = $tenant
    RETURN collect(i), collect(m.id)
    """


async def cone(
    transaction: AsyncManagedTransaction,
    tenant: str,
    focus: Sequence[str],
    direction: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
    contained: Sequence[NodeKind],
) -> Cone:
    """See `GraphStore.cone`."""
    known = await rows(
        transaction, "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id}) RETURN n.id", ids=list(focus), tenant=tenant
    )
    builder = ConeBuilder([identifier for (identifier,) in known], direction, depth, limit, sorted)
    while level := builder.level():
        way, frontier = level
        found = (await rows(transaction, _step(way, kinds), ids=frontier, tenant=tenant))[0] if kinds else [[]] * 5
        near, far, types, first, last = found
        builder.take(
            [
                (frontier[index], other, KIND[kind].value, since, until)
                for index, other, kind, since, until in zip(near, far, types, first, last, strict=True)
            ]
        )
    ids = list(builder.keys)
    prefixes = tuple(f"{kind}:" for kind in contained)
    inner = [identifier for identifier in ids if identifier.startswith(prefixes)] if prefixes else []
    contains = await _containers(transaction, tenant, inner, ids)
    return Cone(ids, len(builder.keys), builder.edges, builder.times, contains, len(builder.beyond))


async def _containers(transaction: AsyncManagedTransaction, tenant: str, inner: Sequence[str], ids: list[str]) -> list[tuple[int, int]]:
    """Steps from `inner` up to the outermost containers; ids of containers that are new are added to `ids`."""
    numbers = {identifier: number for number, identifier in enumerate(ids)}
    contains: list[tuple[int, int]] = []
    frontier, climbed = list(inner), set(inner)
    while frontier:
        children, parents = (await rows(transaction, _PARENTS, ids=frontier, tenant=tenant))[0]
        above: list[str] = []
        for index, container in zip(children, parents, strict=True):
            if container not in numbers:
                numbers[container] = len(ids)
                ids.append(container)
            if container not in climbed:
                climbed.add(container)
                above.append(container)
            contains.append((numbers[container], numbers[frontier[index]]))
        frontier = above
    return contains


def _step(way: Direction, kinds: Sequence[EdgeKind]) -> LiteralString:
    """One hop from every node of a level, as five lists: one record is unpacked faster than one an edge. A null is no list's member."""
    types = any_of(kinds)
    pattern: LiteralString = "<-[e:" + types + "]-(m:Container)" if way is Direction.UPSTREAM else "-[e:" + types + "]->(m:Container)"
    return (
        "UNWIND range(0, size($ids) - 1) AS i MATCH (n:Container {tenant: $tenant, id: $ids[i]})"
        + pattern
        + " WHERE m.tenant = $tenant"
        + " RETURN collect(i), collect(m.id), collect(type(e)), collect(coalesce(e.first, '')), collect(coalesce(e.last, ''))"
    )
