"""Applying batches to Neo4j: lock and read the touched elements, merge, write back, all in the caller's transaction.

Per-property stamps need a read between two writes where an element was there. The first statement writes to every node that is
touched, which locks it until the end of the transaction; so what is read cannot change, and the edges between locked nodes cannot be
made twice. Nodes are locked in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, LiteralString, TypeVar

from neo4j import AsyncManagedTransaction

from headwater.graph.index.log import touched
from headwater.graph.model import EdgeKind, bare_name, kind_of
from headwater.graph.model.changes import Changes, EdgeKey
from headwater.graph.model.merge import NAME, Facts, merged
from headwater.graph.stores.neo4j.changes import log_change
from headwater.graph.stores.neo4j.connections import Connections, rows
from headwater.graph.stores.neo4j.vocabulary import RELATIONSHIP, label
from headwater.graph.stores.paging import fold

T = TypeVar("T")

_PORTION = 5_000
_FORGOTTEN = 10_000

# Rows are lists, whose names need not travel. What is created is complete at once; only what was there and says otherwise comes back.
_LOCK_NODES: LiteralString = """
    UNWIND $rows AS row
    MERGE (n:Container {tenant: $tenant, id: row[0]})
    ON CREATE SET n:$(row[1]), n.kind = row[2], n.name = row[3], n.folded = row[4], n.properties = row[5], n.stamps = row[6]
    ON MATCH SET n.kind = row[2]
    WITH n, row WHERE row[6] <> '[]' AND (n.stamps <> row[6] OR n.properties <> row[5] OR n.name <> row[3])
    RETURN n.id, n.name, n.properties, n.stamps
    """
_SET_NODES: LiteralString = """
    UNWIND $rows AS row
    MATCH (n:Container {tenant: $tenant, id: row[0]})
    SET n.name = row[1], n.folded = row[2], n.properties = row[3], n.stamps = row[4]
    """
# Each end is looked up once, and an edge names both by their place among the ids.
_ENDS: LiteralString = """
    UNWIND range(0, size($ids) - 1) AS place
    MATCH (n:Container {tenant: $tenant, id: $ids[place]})
    WITH n ORDER BY place
    WITH collect(n) AS ends
    UNWIND $rows AS row
    WITH ends[row[0]] AS s, ends[row[1]] AS d, row
    """
# A null compares as neither: a statement without a time changes none.
_MERGED: LiteralString = """
    ON CREATE SET e.first = row[2], e.last = row[3], e.properties = row[4], e.stamps = row[5]
    ON MATCH SET e.first = CASE WHEN row[2] < coalesce(e.first, '~') THEN row[2] ELSE e.first END,
        e.last = CASE WHEN row[3] > coalesce(e.last, '') THEN row[3] ELSE e.last END
    WITH e, row WHERE row[5] IS NOT NULL AND (coalesce(e.stamps, '[]') <> row[5] OR coalesce(e.properties, '{}') <> row[4])
    RETURN row[0], row[1], coalesce(e.properties, '{}'), coalesce(e.stamps, '[]')
    """


async def write_changes(transaction: AsyncManagedTransaction, tenant: str, changes: Changes, offset: int | None) -> None:
    """Merge `changes` into the tenant's graph and remember the offset."""
    await _write_nodes(transaction, tenant, changes.nodes)
    for kind in EdgeKind:
        of_kind = {key: facts for key, facts in changes.edges.items() if key[2] is kind}
        await _write_edges(transaction, tenant, kind, of_kind, changes.seen)
    if offset is not None:
        await rows(
            transaction,
            "MERGE (p:HeadwaterProgress {tenant: $tenant}) SET p.offset = CASE WHEN p.offset > $offset THEN p.offset ELSE $offset END",
            tenant=tenant,
            offset=offset,
        )
    if named := touched(changes):
        await log_change(transaction, tenant, named)


async def drop_tenant(connections: Connections, tenant: str) -> None:
    """Delete all that the tenant has.

    In portions, since a transaction of Neo4j lives in memory; the offset first, so that the log heals what a crash leaves.
    """
    await connections.run("MATCH (p:HeadwaterProgress {tenant: $tenant}) DELETE p", tenant=tenant)

    async def forget(transaction: AsyncManagedTransaction) -> int:
        statement: LiteralString = (
            "MATCH (n:Container) WHERE n.tenant = $tenant AND n.id IS NOT NULL WITH n LIMIT $limit DETACH DELETE n RETURN count(*)"
        )
        (gone,) = (await rows(transaction, statement, tenant=tenant, limit=_FORGOTTEN))[0]
        if gone:
            # With each portion: what was read between two of them holds nodes that are there no more.
            await log_change(transaction, tenant, None)
        return int(gone)

    while await connections.write_with(forget):
        pass


async def _write_nodes(transaction: AsyncManagedTransaction, tenant: str, nodes: Mapping[str, Facts]) -> None:
    updates: list[list[str]] = []
    for portion in _portions(sorted(nodes)):
        stated = [_stated(identifier, nodes[identifier]) for identifier in portion]
        for identifier, name, properties, stamps in await rows(transaction, _LOCK_NODES, tenant=tenant, rows=stated):
            if after := merged(name, properties, stamps, nodes[identifier]):
                updates.append([identifier, after[0], fold(after[0]), after[1], after[2]])
    for changed in _portions(updates):
        await rows(transaction, _SET_NODES, tenant=tenant, rows=changed)


async def _write_edges(
    transaction: AsyncManagedTransaction,
    tenant: str,
    kind: EdgeKind,
    edges: Mapping[EdgeKey, Facts],
    seen: Mapping[EdgeKey, tuple[str, str]],
) -> None:
    relationship = RELATIONSHIP[kind]
    for portion in _portions(edges.items()):
        ids = list(dict.fromkeys(end for (src, dst, _), _ in portion for end in (src, dst)))
        places = {identifier: place for place, identifier in enumerate(ids)}
        stated = [
            [places[edge[0]], places[edge[1]], *seen.get(edge, (None, None)), *(facts.dump() if facts else (None, None))]
            for edge, facts in portion
        ]
        merge: LiteralString = _ENDS + "MERGE (s)-[e:" + relationship + "]->(d)" + _MERGED
        updates: list[list[Any]] = []
        for src, dst, properties, stamps in await rows(transaction, merge, tenant=tenant, ids=ids, rows=stated):
            if after := merged("", properties, stamps, edges[ids[src], ids[dst], kind]):
                updates.append([src, dst, after[1], after[2]])
        if updates:
            change: LiteralString = _ENDS + "MATCH (s)-[e:" + relationship + "]->(d) SET e.properties = row[2], e.stamps = row[3]"
            await rows(transaction, change, tenant=tenant, ids=ids, rows=updates)


def _stated(identifier: str, facts: Facts) -> list[str]:
    """A node as the first statement that names it leaves it."""
    kind = kind_of(identifier)
    name = facts.values.get(NAME) or bare_name(identifier)
    return [identifier, label(kind), kind.value, name, fold(name), *facts.dump()]


def _portions(items: Iterable[T]) -> Iterator[Sequence[T]]:
    iterator = iter(items)
    while portion := list(islice(iterator, _PORTION)):
        yield portion
