"""Applies batches to Neo4j: lock and read the affected elements, merge, write back, all in the caller's transaction.

Stamps per property need a read between two writes if an element exists. The first statement writes to every affected node, and so locks it
until the transaction ends. Therefore no read value changes, and no edge between locked nodes is created twice. Nodes are locked in the
order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, LiteralString, TypeVar

from neo4j import AsyncManagedTransaction

from headwater.graph.model import EdgeKind, NodeKind, bare_name, kind_of
from headwater.graph.model.changes import Changes, EdgeKey
from headwater.graph.model.merge import NAME, Facts, merged
from headwater.graph.stores.change_log import touched
from headwater.graph.stores.neo4j.changes import log_change
from headwater.graph.stores.neo4j.connections import Connections, rows
from headwater.graph.stores.neo4j.entries import write_entries
from headwater.graph.stores.neo4j.rollups import drop_void, void_map, write_rollups
from headwater.graph.stores.neo4j.vocabulary import LABEL, RELATIONSHIP
from headwater.graph.stores.paging import fold

T = TypeVar("T")

_PORTION = 5_000
_FORGOTTEN = 10_000

# Rows are lists, so that names do not travel. New elements are created complete; only changed existing elements are returned.
_LOCK: LiteralString = """
    UNWIND range(0, size($rows) - 1) AS place
    WITH place, $rows[place] AS row
    MERGE (n:Container {tenant: $tenant, id: row[0]})
    ON CREATE SET n.kind = row[1], n.name = row[2], n.folded = row[3], n.properties = row[4], n.stamps = row[5], n:"""
_LOCKED: LiteralString = """
    ON MATCH SET n.kind = row[1]
    WITH n, place, row[5] <> '[]' AND (n.stamps <> row[5] OR n.properties <> row[4] OR n.name <> row[2]) AS other
    RETURN collect([place, elementId(n), COUNT { (n)--() } = 0, n.own IS NULL, CASE WHEN other THEN [n.name, n.properties, n.stamps] END])
    """
_SET_NODES: LiteralString = """
    UNWIND $rows AS row
    MATCH (n) WHERE elementId(n) = row[0]
    SET n.stamps = row[1], n.name = row[2], n.folded = row[3], n.properties = row[4]
    """
_SET_STAMPS: LiteralString = "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row[0] SET n.stamps = row[1]"
# Each end is looked up once, by the server's own id. An edge names both ends by their positions.
_ENDS: LiteralString = """
    UNWIND range(0, size($elements) - 1) AS place
    MATCH (n) WHERE elementId(n) = $elements[place]
    WITH n ORDER BY place
    WITH collect(n) AS ends
    UNWIND $rows AS row
    WITH ends[row[0]] AS s, ends[row[1]] AS d, row
    """
# Comparisons with null are false, so a statement without a time changes no time.
_MERGED: LiteralString = """
    ON CREATE SET e.first = row[2], e.last = row[3], e.properties = row[4], e.stamps = row[5]
    ON MATCH SET e.first = CASE WHEN row[2] < coalesce(e.first, '~') THEN row[2] ELSE e.first END,
        e.last = CASE WHEN row[3] > coalesce(e.last, '') THEN row[3] ELSE e.last END
    WITH e, row WHERE row[5] IS NOT NULL AND (coalesce(e.stamps, '[]') <> row[5] OR coalesce(e.properties, '{}') <> row[4])
    RETURN row[0], row[1], coalesce(e.properties, '{}'), coalesce(e.stamps, '[]')
    """


@dataclass(frozen=True, slots=True)
class _Locked:
    """A node that this transaction has locked. A `bare` node has no edge yet, so no edge of it needs to be looked up."""

    element: str
    bare: bool


async def write_changes(transaction: AsyncManagedTransaction, tenant: str, changes: Changes, offset: int | None) -> None:
    """Merge `changes` into the tenant's graph and store the offset."""
    locked, stale = await _write_nodes(transaction, tenant, changes.nodes)
    by_kind: dict[EdgeKind, dict[EdgeKey, Facts]] = {}
    for key, facts in changes.edges.items():
        by_kind.setdefault(key[2], {})[key] = facts
    for kind, edges in by_kind.items():
        await _write_edges(transaction, kind, edges, changes.seen, locked)
    written = await write_entries(transaction, tenant, stale)
    await write_rollups(transaction, tenant, written.union(changes.nodes), changes.edges)
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
    """Delete the whole graph of the tenant.

    The deletion runs in portions, because a transaction of Neo4j is held in memory. The offset is deleted first, and the map gets a
    new number, so that the log repairs both after a crash.
    """

    async def begin(transaction: AsyncManagedTransaction) -> None:
        await rows(transaction, "MATCH (p:HeadwaterProgress {tenant: $tenant}) DELETE p", tenant=tenant)
        await void_map(transaction, tenant)

    await connections.write_with(begin)

    async def forget(transaction: AsyncManagedTransaction) -> int:
        statement: LiteralString = (
            "MATCH (n:Container) WHERE n.tenant = $tenant AND n.id IS NOT NULL WITH n LIMIT $limit DETACH DELETE n RETURN count(*)"
        )
        (gone,) = (await rows(transaction, statement, tenant=tenant, limit=_FORGOTTEN))[0]
        if gone:
            # Log each portion: a reader between two portions may have read nodes that no longer exist.
            await log_change(transaction, tenant, None)
        return int(gone)

    while await connections.write_with(forget) or await connections.write_with(lambda transaction: drop_void(transaction, tenant)):
        pass


async def _write_nodes(
    transaction: AsyncManagedTransaction, tenant: str, nodes: Mapping[str, Facts]
) -> tuple[dict[str, _Locked], set[str]]:
    """Lock and write nodes. Returns all of them, and the ids of those that have no entry or whose content has changed."""
    stale: set[str] = set()
    locked: dict[str, _Locked] = {}
    updates: list[list[str]] = []
    restated: list[list[str]] = []  # with the same content, which is the case for most nodes
    # Sorted ids group nodes of one kind, so that a statement can name their label.
    for kind, of_kind in groupby(sorted(nodes), key=kind_of):
        lock: LiteralString = _LOCK + LABEL[kind] + _LOCKED
        for portion in _portions(of_kind):
            stated = [_stated(identifier, kind, nodes[identifier]) for identifier in portion]
            for place, element, bare, lacks_entry, other in (await rows(transaction, lock, tenant=tenant, rows=stated))[0][0]:
                identifier = portion[place]
                locked[identifier] = _Locked(element, bare)
                if lacks_entry:
                    stale.add(identifier)
                if not other or (after := merged(other[0], other[1], other[2], nodes[identifier])) is None:
                    continue
                if after[:2] == (other[0], other[1]):
                    restated.append([element, after[2]])
                else:
                    updates.append([element, after[2], after[0], fold(after[0]), after[1]])
                    stale.add(identifier)
    for statement, changed in ((_SET_NODES, updates), (_SET_STAMPS, restated)):
        for some in _portions(changed):
            await rows(transaction, statement, rows=some)
    return locked, stale


async def _write_edges(
    transaction: AsyncManagedTransaction,
    kind: EdgeKind,
    edges: Mapping[EdgeKey, Facts],
    seen: Mapping[EdgeKey, tuple[str, str]],
    locked: Mapping[str, _Locked],
) -> None:
    """Write edges of one kind. Edges that cannot exist yet are created without a look-up, which is most of the cost."""
    relationship = RELATIONSHIP[kind]
    created: LiteralString = "CREATE (s)-[:" + relationship + " {first: row[2], last: row[3], properties: row[4], stamps: row[5]}]->(d)"
    merge: LiteralString = "MERGE (s)-[e:" + relationship + "]->(d)" + _MERGED
    change: LiteralString = "MATCH (s)-[e:" + relationship + "]->(d) SET e.properties = row[2], e.stamps = row[3]"
    new = {edge: facts for edge, facts in edges.items() if locked[edge[0]].bare or locked[edge[1]].bare}
    for portion in _portions(new.items()):
        elements, stated = _placed(portion, seen, locked)[1:]
        await rows(transaction, _ENDS + created, elements=elements, rows=stated)
    for portion in _portions((edge, facts) for edge, facts in edges.items() if edge not in new):
        ids, elements, stated = _placed(portion, seen, locked)
        updates: list[list[Any]] = []
        for src, dst, properties, stamps in await rows(transaction, _ENDS + merge, elements=elements, rows=stated):
            if after := merged("", properties, stamps, edges[ids[src], ids[dst], kind]):
                updates.append([src, dst, after[1], after[2]])
        if updates:
            await rows(transaction, _ENDS + change, elements=elements, rows=updates)


def _placed(
    edges: Sequence[tuple[EdgeKey, Facts]], seen: Mapping[EdgeKey, tuple[str, str]], locked: Mapping[str, _Locked]
) -> tuple[list[str], list[str], list[list[Any]]]:
    """Return the ends of edges, as ids and as element ids, and the statements about each edge by the positions of its ends."""
    ids = list(dict.fromkeys(end for (src, dst, _), _ in edges for end in (src, dst)))
    places = {identifier: place for place, identifier in enumerate(ids)}
    stated = [
        [places[edge[0]], places[edge[1]], *seen.get(edge, (None, None)), *(facts.dump() if facts else (None, None))]
        for edge, facts in edges
    ]
    return ids, [locked[identifier].element for identifier in ids], stated


def _stated(identifier: str, kind: NodeKind, facts: Facts) -> list[str]:
    name = facts.values.get(NAME) or bare_name(identifier)
    return [identifier, kind.value, name, fold(name), *facts.dump()]


def _portions(items: Iterable[T]) -> Iterator[Sequence[T]]:
    iterator = iter(items)
    while portion := list(islice(iterator, _PORTION)):
        yield portion
