"""Reads a Neo4j graph: nodes by id and by name, children, containers, counts, the fingerprint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import Node, NodeKind
from headwater.graph.stores.containment import climb
from headwater.graph.stores.fingerprint import Fingerprint
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.vocabulary import KIND
from headwater.graph.stores.paging import bounds_of, decode_cursor, encode_cursor, fold, until_bound
from headwater.graph.stores.protocol import IdRange, Listing, Page, Portion

_PORTION = 2_000
_COLUMNS: LiteralString = "n.id, n.kind, n.name, n.properties"
_NEXT: LiteralString = " AND (n.folded > $folded OR n.folded = $folded AND n.id > $id) RETURN n.folded, "
# A composite index serves only if each of its properties has a predicate; without this one, the server scans all tenants.
_INDEXED: LiteralString = " AND n.kind IS NOT NULL AND n.folded IS NOT NULL AND n.id IS NOT NULL"
_ORDER: LiteralString = " ORDER BY n.folded, n.id LIMIT $limit"


async def read_nodes(transaction: AsyncManagedTransaction, tenant: str, ids: Sequence[str]) -> list[Node]:
    found = await rows(
        transaction, "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id}) RETURN " + _COLUMNS, ids=list(ids), tenant=tenant
    )
    nodes = {row[0]: to_node(row) for row in found}
    return [nodes[identifier] for identifier in ids if identifier in nodes]


async def search(
    transaction: AsyncManagedTransaction, tenant: str, text: str, kinds: Sequence[NodeKind], first: int, after: str | None,
    ranges: Sequence[IdRange] | None = None,
) -> Page:  # fmt: skip
    part = fold(text)
    every: LiteralString = "MATCH (n:Container) WHERE n.tenant = $tenant AND n.kind IN $kinds" + _INDEXED
    holding: LiteralString = (
        "MATCH (n:Container) USING TEXT INDEX n:Container(folded) WHERE n.folded CONTAINS $part AND n.tenant = $tenant AND n.kind IN $kinds"
    )
    matching: LiteralString = holding if part else every
    if ranges is None:
        return await _page(transaction, matching, first, after, tenant=tenant, part=part, kinds=_names(kinds))
    inside: LiteralString = matching + " AND any(range IN $ranges WHERE n.id >= range[0] AND n.id < range[1])"
    return await _page(
        transaction, inside, first, after, tenant=tenant, part=part, kinds=_names(kinds), ranges=[list(each) for each in ranges]
    )


async def children(
    transaction: AsyncManagedTransaction, tenant: str, parent: str, kinds: Sequence[NodeKind], first: int, after: str | None
) -> Page:
    """Return the direct contents of the parent. An edge is ignored if two other steps of containment lead to the same node."""
    contained: LiteralString = """
        MATCH (p:Container {tenant: $tenant, id: $parent})-[:CONTAINS]->(n:Container)
        WHERE n.tenant = $tenant AND n.kind IN $kinds
          AND NOT any(m IN [(n)<-[:CONTAINS]-(m:Container) | m] WHERE m <> p AND EXISTS { (p)-[:CONTAINS]->(m) })
        """
    return await _page(transaction, contained, first, after, tenant=tenant, parent=parent, kinds=_names(kinds))


async def listed(transaction: AsyncManagedTransaction, tenant: str, prefix: str, first: int, skip: int) -> Listing:
    least, beyond = bounds_of(prefix)
    within: LiteralString = "MATCH (n:Container) WHERE n.tenant = $tenant AND n.id >= $least AND n.id < $beyond "
    bound = {"tenant": tenant, "least": least, "beyond": beyond}
    total = (await rows(transaction, within + "RETURN count(n)", **bound))[0][0]
    page: LiteralString = within + "WITH n ORDER BY n.id SKIP $skip LIMIT $first RETURN "
    found = await rows(transaction, page + _COLUMNS + " ORDER BY n.id", **bound, first=first, skip=skip)
    return Listing([to_node(row) for row in found], total)


async def listed_after(transaction: AsyncManagedTransaction, tenant: str, prefix: str, after: str | None, first: int) -> list[Node]:
    least, beyond = bounds_of(prefix)
    page: LiteralString = (
        "MATCH (n:Container) WHERE n.tenant = $tenant AND n.id > $after AND n.id < $beyond WITH n ORDER BY n.id LIMIT $first RETURN "
    )
    found = await rows(
        transaction, page + _COLUMNS + " ORDER BY n.id", tenant=tenant, after=max(least, after or ""), beyond=beyond, first=first
    )
    return [to_node(row) for row in found]


async def latest(
    transaction: AsyncManagedTransaction, tenant: str, parent: str, kind: NodeKind, until: str | None, first: int, skip: int
) -> Listing:
    contained: LiteralString = (
        "MATCH (p:Container {tenant: $tenant, id: $parent})-[e:CONTAINS]->(n:Container) "
        "WHERE n.tenant = $tenant AND n.kind = $kind AND coalesce(e.first, '') < $until "
    )
    bound = {"tenant": tenant, "parent": parent, "kind": kind.value, "until": until_bound(until)}
    total = (await rows(transaction, contained + "RETURN count(n)", **bound))[0][0]
    page: LiteralString = contained + "WITH n, coalesce(e.first, '') AS since ORDER BY since DESC, n.id SKIP $skip LIMIT $first RETURN "
    found = await rows(transaction, page + _COLUMNS + " ORDER BY since DESC, n.id", **bound, first=first, skip=skip)
    return Listing([to_node(row) for row in found], total)


_RUNS_INSIDE: LiteralString = (
    "MATCH (n)-[:CONTAINS]->(r:Container) WHERE r.kind = $run AND NOT EXISTS { MATCH (o:Container)-[:CONTAINS]->(r) "
    "WHERE o.tenant = $tenant AND o <> n AND none(each IN $ranges WHERE o.id >= each[0] AND o.id < each[1]) } RETURN count(DISTINCT r)"
)


async def shared(transaction: AsyncManagedTransaction, tenant: str, parent: str) -> list[str]:
    found = await rows(
        transaction,
        "MATCH (p:Container {tenant: $tenant, id: $parent})-[:CONTAINS]->(n:Container) WHERE n.tenant = $tenant "
        "AND EXISTS { MATCH (o:Container)-[:CONTAINS]->(n) WHERE o.tenant = $tenant AND o <> p } RETURN n.id",
        tenant=tenant,
        parent=parent,
    )
    return [row[0] for row in found]


async def ancestors(transaction: AsyncManagedTransaction, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
    known = await read_nodes(transaction, tenant, ids)
    nodes = {node.id: node for node in known}
    parents: dict[str, list[str]] = {}
    frontier = list(nodes)
    while frontier:
        steps = await rows(
            transaction,
            "UNWIND $ids AS id MATCH (:Container {tenant: $tenant, id: id})<-[:CONTAINS]-(n:Container) WHERE n.tenant = $tenant "
            "RETURN id, " + _COLUMNS,
            ids=frontier,
            tenant=tenant,
        )
        frontier = []
        for child, *row in steps:
            node = to_node(row)
            parents.setdefault(child, []).append(node.id)
            if node.id not in nodes:
                nodes[node.id] = node
                frontier.append(node.id)
    return {node.id: climb(node.id, parents, nodes) for node in known}


async def counts(transaction: AsyncManagedTransaction, tenant: str, ranges: Sequence[IdRange] | None = None) -> dict[str, int]:
    """Return the number of nodes of each kind. See `GraphStore.counts` for `ranges`."""
    if ranges is not None:
        inside: LiteralString = (
            "UNWIND $ranges AS range MATCH (n:Container) WHERE n.tenant = $tenant AND n.id >= range[0] AND n.id < range[1] "
        )
        bound = {"tenant": tenant, "ranges": [list(each) for each in ranges]}
        kinds = await rows(transaction, inside + "RETURN n.kind, count(*)", **bound)
        runs = await rows(transaction, inside + _RUNS_INSIDE, **bound, run=NodeKind.RUN.value)
        return {row[0]: row[1] for row in kinds} | ({NodeKind.RUN.value: runs[0][0]} if runs[0][0] else {})
    statement: LiteralString = "MATCH (n:Container) WHERE n.tenant = $tenant" + _INDEXED + " RETURN n.kind, count(*)"
    found = await rows(transaction, statement, tenant=tenant)
    return {row[0]: row[1] for row in found}


async def fingerprint(transaction: AsyncManagedTransaction, tenant: str) -> str:
    """Return the hash of all nodes and edges of the tenant. The rows are streamed."""
    result = Fingerprint()
    nodes = await transaction.run(
        "MATCH (n:Container) WHERE n.tenant = $tenant AND n.id IS NOT NULL RETURN n.id, n.name, n.properties", tenant=tenant
    )
    async for record in nodes:
        result.nodes([tuple(record)])
    edges = await transaction.run(
        "MATCH (s:Container)-[e]->(d:Container) WHERE s.tenant = $tenant AND s.id IS NOT NULL AND d.tenant = $tenant "
        "RETURN s.id, d.id, type(e), coalesce(e.properties, '{}'), coalesce(e.first, ''), coalesce(e.last, '')",
        tenant=tenant,
    )
    async for src, dst, relationship, properties, first, last in edges:
        result.edges([(src, dst, KIND[relationship], properties, first, last)])
    return result.hexdigest()


async def dump(transaction: AsyncManagedTransaction, *, tenant: str, after: str, until: str) -> tuple[Portion, str | None]:
    """Return the nodes whose ids are between `after` and `until`, the edges into them, and the last of these ids (None: no more)."""
    nodes = await rows(
        transaction,
        "MATCH (n:Container) WHERE n.tenant = $tenant AND n.id > $after AND n.id < $until "
        "RETURN n.id, n.name, n.properties, n.stamps ORDER BY n.id LIMIT $limit",
        tenant=tenant,
        after=after,
        until=until,
        limit=_PORTION,
    )
    last = nodes[-1][0] if nodes else after
    edges = await rows(
        transaction,
        "MATCH (d:Container) WHERE d.tenant = $tenant AND d.id > $after AND d.id <= $last MATCH (s:Container)-[e]->(d) "
        "WHERE s.tenant = $tenant RETURN s.id, d.id, type(e), coalesce(e.properties, '{}'), coalesce(e.stamps, '[]'), "
        "coalesce(e.first, ''), coalesce(e.last, '')",
        tenant=tenant,
        after=after,
        last=last,
    )
    portion = Portion(
        [(identifier, name, properties, stamps) for identifier, name, properties, stamps in nodes],
        [(src, dst, KIND[relationship], *rest) for src, dst, relationship, *rest in edges],
    )
    return portion, last if len(nodes) == _PORTION else None


async def offset(transaction: AsyncManagedTransaction, tenant: str) -> int:
    found = await rows(transaction, "MATCH (p:HeadwaterProgress {tenant: $tenant}) RETURN p.offset", tenant=tenant)
    return int(found[0][0]) if found else 0


def to_node(row: Sequence[str]) -> Node:
    identifier, kind, name, properties = row
    return Node(identifier, NodeKind(kind), name, json.loads(properties))


async def _page(transaction: AsyncManagedTransaction, matching: LiteralString, first: int, after: str | None, **parameters: Any) -> Page:
    """Return a page of the nodes that `matching` names n. `matching` must end in a WHERE."""
    folded, identifier = decode_cursor(after)
    total = (await rows(transaction, matching + " RETURN count(n)", **parameters))[0][0]
    found = await rows(transaction, matching + _NEXT + _COLUMNS + _ORDER, **parameters, folded=folded, id=identifier, limit=first + 1)
    shown = found[:first]
    cursor = encode_cursor(shown[-1][0], shown[-1][1]) if len(found) > first and shown else None
    return Page([to_node(row[1:]) for row in shown], cursor, total)


def _names(kinds: Sequence[NodeKind]) -> list[str]:
    return [NodeKind(kind).value for kind in kinds or NodeKind]
