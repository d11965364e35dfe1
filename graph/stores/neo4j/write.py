"""Applying batches to Neo4j: lock and read the touched elements, merge, write back, all in the caller's transaction.

Per-property stamps need a read between two writes. The first statement writes to every node that is touched, which locks it until the
end of the transaction; so what is read cannot change, and the edges between locked nodes cannot be made twice. Nodes are locked in the
order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, LiteralString, TypeVar

from neo4j import AsyncManagedTransaction

from headwater.graph.model import EdgeKind, bare_name, kind_of
from headwater.graph.model.merge import Changes, EdgeKey, Facts, merged
from headwater.graph.stores.neo4j.connections import Connections, rows
from headwater.graph.stores.neo4j.vocabulary import RELATIONSHIP, label
from headwater.graph.stores.paging import fold

T = TypeVar("T")

_PORTION = 5_000

_LOCK_NODES: LiteralString = """
    UNWIND $rows AS row
    MERGE (n:Container {tenant: $tenant, id: row.id})
    ON CREATE SET n:$(row.label), n.kind = row.kind, n.name = row.name, n.folded = row.folded, n.properties = '{}', n.stamps = '[]'
    SET n.kind = row.kind
    WITH n, row WHERE row.stated
    RETURN n.id, n.name, n.properties, n.stamps
    """
_SET_NODES: LiteralString = """
    UNWIND $rows AS row
    MATCH (n:Container {tenant: $tenant, id: row.id})
    SET n.name = row.name, n.folded = row.folded, n.properties = row.properties, n.stamps = row.stamps
    """
_ENDS: LiteralString = """
    UNWIND $rows AS row
    MATCH (s:Container {tenant: $tenant, id: row.src})
    MATCH (d:Container {tenant: $tenant, id: row.dst})
    """
# A null compares as neither: a statement without a time changes none.
_SEE: LiteralString = """
    SET e.first = CASE WHEN row.first < coalesce(e.first, '~') THEN row.first ELSE e.first END,
        e.last = CASE WHEN row.last > coalesce(e.last, '') THEN row.last ELSE e.last END
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


async def drop_tenant(connections: Connections, tenant: str) -> None:
    """Delete all that the tenant has.

    In portions, since a transaction of Neo4j lives in memory; the offset first, so that the log heals what a crash leaves.
    """
    await connections.run("MATCH (p:HeadwaterProgress {tenant: $tenant}) DELETE p", tenant=tenant)
    await connections.run(
        "MATCH (n:Container) WHERE n.tenant = $tenant AND n.id IS NOT NULL CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS",
        tenant=tenant,
    )


async def _write_nodes(transaction: AsyncManagedTransaction, tenant: str, nodes: Mapping[str, Facts]) -> None:
    touched = [_bare(identifier, stated=bool(nodes[identifier])) for identifier in sorted(nodes)]
    updates: list[dict[str, str]] = []
    for portion in _portions(touched):
        for identifier, name, properties, stamps in await rows(transaction, _LOCK_NODES, tenant=tenant, rows=portion):
            if after := merged(name, properties, stamps, nodes[identifier]):
                updates.append({"id": identifier, "name": after[0], "folded": fold(after[0]), "properties": after[1], "stamps": after[2]})
    for portion in _portions(updates):
        await rows(transaction, _SET_NODES, tenant=tenant, rows=portion)


async def _write_edges(
    transaction: AsyncManagedTransaction,
    tenant: str,
    kind: EdgeKind,
    edges: Mapping[EdgeKey, Facts],
    seen: Mapping[EdgeKey, tuple[str, str]],
) -> None:
    relationship = RELATIONSHIP[kind]
    merge: LiteralString = _ENDS + "MERGE (s)-[e:" + relationship + "]->(d)" + _SEE
    bare = [_timed(key, seen) for key, facts in edges.items() if not facts]
    for portion in _portions(bare):
        await rows(transaction, merge, tenant=tenant, rows=portion)
    stated = [_timed(key, seen) for key, facts in edges.items() if facts]
    updates: list[dict[str, str | None]] = []
    for portion in _portions(stated):
        known = await rows(
            transaction,
            merge + " RETURN row.src, row.dst, coalesce(e.properties, '{}'), coalesce(e.stamps, '[]')",
            tenant=tenant,
            rows=portion,
        )
        for src, dst, properties, stamps in known:
            if after := merged("", properties, stamps, edges[src, dst, kind]):
                updates.append({"src": src, "dst": dst, "properties": after[1], "stamps": after[2]})
    for portion in _portions(updates):
        await rows(
            transaction,
            _ENDS + "MATCH (s)-[e:" + relationship + "]->(d) SET e.properties = row.properties, e.stamps = row.stamps",
            tenant=tenant,
            rows=portion,
        )


def _timed(key: EdgeKey, seen: Mapping[EdgeKey, tuple[str, str]]) -> dict[str, str | None]:
    first, last = seen.get(key, (None, None))
    return {"src": key[0], "dst": key[1], "first": first, "last": last}


def _bare(identifier: str, *, stated: bool) -> dict[str, Any]:
    """What a node is at first, before anything is stated of it."""
    kind, name = kind_of(identifier), bare_name(identifier)
    return {"id": identifier, "kind": kind.value, "label": label(kind), "name": name, "folded": fold(name), "stated": stated}


def _portions(items: Iterable[T]) -> Iterator[Sequence[T]]:
    iterator = iter(items)
    while portion := list(islice(iterator, _PORTION)):
        yield portion
