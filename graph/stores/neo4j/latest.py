"""Returns the last contents of many nodes at many instants: the versions for a page of runs.

Neo4j has no index of the contents of one node. So the whole content of a parent is read, but only once for all instants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import Node, NodeKind
from headwater.graph.stores.neo4j.read import read_nodes
from headwater.graph.stores.paging import until_bound
from headwater.graph.stores.protocol import Moment
from headwater.graph.stores.windows import Windows

_CONTAINED: LiteralString = (
    "UNWIND $asked AS one MATCH (p:Container {tenant: $tenant, id: one[0]}) "
    "CALL (p, one) { MATCH (p)-[e:CONTAINS]->(n:Container) WHERE n.tenant = $tenant AND n.kind = $kind AND coalesce(e.first, '') < one[1] "
    "RETURN coalesce(e.first, '') AS since, n.id AS id ORDER BY since DESC, id"
)
_ALL: LiteralString = _CONTAINED + " } RETURN one[0], since, id"
_FIRST: LiteralString = _CONTAINED + " LIMIT $first } RETURN one[0], since, id"


async def latest_at(
    transaction: AsyncManagedTransaction, tenant: str, asked: Sequence[Moment], kind: NodeKind, first: int
) -> Mapping[Moment, Sequence[Node]]:
    bounds: dict[str, set[str]] = {}
    for parent, until in asked:
        bounds.setdefault(parent, set()).add(until_bound(until))
    windows = {parent: Windows[str](own, first) for parent, own in bounds.items()}
    once = [[parent, *own] for parent, own in bounds.items() if len(own) == 1]
    often = [[parent, max(own)] for parent, own in bounds.items() if len(own) > 1]
    statements = [(_FIRST, once)] if once else []
    for statement, portion in [*statements, *((_ALL, [one]) for one in often)]:
        result = await transaction.run(statement, asked=portion, tenant=tenant, kind=kind.value, first=first)
        async for parent, since, identifier in result:
            if not windows[parent].take(since, identifier) and windows[parent].bound is None and portion is not once:
                break
        await result.consume()
    found = {moment: windows[moment[0]].below(until_bound(moment[1])) for moment in asked}
    nodes = {node.id: node for node in await read_nodes(transaction, tenant, sorted({each for ids in found.values() for each in ids}))}
    return {moment: [nodes[identifier] for identifier in ids] for moment, ids in found.items()}
