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
    facts: bool,
) -> Cone:
    """See `GraphStore.cone`."""
    known = await rows(
        transaction, "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id}) RETURN n.id", ids=list(focus), tenant=tenant
    )
    builder = ConeBuilder([identifier for (identifier,) in known], direction, depth, limit, sorted, facts)
    while level := builder.level():
        way, frontier = level
        columns = (await rows(transaction, _step(way, kinds, facts=facts), ids=frontier, tenant=tenant))[0] if kinds else [[], []]
        near = [frontier[index] for index in columns[0]]
        if facts and kinds:
            columns[2] = [KIND[kind].value for kind in columns[2]]
        builder.take(list(zip(near, *columns[1:], strict=True)))
    ids = list(builder.keys)
    prefixes = tuple(f"{kind}:" for kind in contained)
    inner = [identifier for identifier in ids if identifier.startswith(prefixes)] if prefixes else []
    contains = await _containers(transaction, tenant, inner, ids)
    return Cone(
        ids=ids,
        reached=len(builder.keys),
        edges=builder.edges,
        facts=builder.facts,
        contains=contains,
        upstream=builder.distance.get(Direction.UPSTREAM, {}),
        downstream=builder.distance.get(Direction.DOWNSTREAM, {}),
        beyond=len(builder.beyond),
    )


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


def _step(way: Direction, kinds: Sequence[EdgeKind], *, facts: bool) -> LiteralString:
    """One hop from every node of a level, as lists: one record is unpacked faster than one an edge."""
    types = any_of(kinds)
    pattern: LiteralString = "<-[e:" + types + "]-(m:Container)" if way is Direction.UPSTREAM else "-[e:" + types + "]->(m:Container)"
    # A null would not become a member of its list.
    about: LiteralString = ", collect(coalesce(e.first, '')), collect(coalesce(e.last, ''))" if facts else ""
    return (
        "UNWIND range(0, size($ids) - 1) AS i MATCH (n:Container {tenant: $tenant, id: $ids[i]})"
        + pattern
        + " WHERE m.tenant = $tenant RETURN collect(i), collect(m.id), collect(type(e))"
        + about
    )
