"""Counts the nodes of a list without a text, and their facets. Only some thousands of nodes are read.

The datasets of a larger list are counted by the map of the lake, which has their number for each namespace, owner, tag and term. All other
counts of a larger list are lower bounds.
"""

from __future__ import annotations

from typing import Any, LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import NodeKind, parse_id
from headwater.graph.search.entries import platform_of, urgency_of
from headwater.graph.search.facets import KIND, NAMESPACE, OWNER, PLATFORM, STATE, TAG, TERM, FacetCounts
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.rollups import map_number
from headwater.graph.stores.rollups import Lens

MOST = 20_000  # nodes of a kind that are read
_FACETS = {Lens.NAMESPACE: NAMESPACE, Lens.OWNER: OWNER, Lens.TAG: TAG, Lens.TERM: TERM}
_GROUPED: LiteralString = "WITH n LIMIT $most RETURN n.kind, n.namespace, n.platform, n.state, n.actor, n.pipeline, n.labels, count(*)"
# Few nodes are urgent: failed, or under way.
_URGENT: LiteralString = "AND n.urgency < 2 WITH n LIMIT $most RETURN n.state, count(*)"
_MAP: LiteralString = (
    "MATCH (g:HeadwaterGroup) WHERE g.tenant = $tenant AND g.map = $map AND g.lens = $lens AND g.members > 0 RETURN g.id, g.members"
)


async def count_kind(
    transaction: AsyncManagedTransaction, start: LiteralString, bound: dict[str, Any], counts: FacetCounts, *, by_map: bool
) -> bool:
    """Add the nodes that the beginning of a statement matches to `counts`. Return whether all were counted.

    `by_map`: the statement matches all datasets of the tenant, for a caller who may read all of them.
    """
    grouped = await rows(transaction, start + _GROUPED, most=MOST + 1, **bound)
    if sum(row[-1] for row in grouped) <= MOST:
        counts.take(tuple(row) for row in grouped)
        return True
    if by_map:
        await _count_map(transaction, bound["tenant"], counts)
        for state, count in await rows(transaction, start + _URGENT, most=MOST + 1, **bound):
            counts.add(STATE, state, "", count)
        for *_, state, _, _, _, count in grouped:
            if urgency_of(state) == urgency_of(""):
                counts.add(STATE, state, "", count)
    else:
        counts.take(tuple(row) for row in grouped)
    return False


async def _count_map(transaction: AsyncManagedTransaction, tenant: str, counts: FacetCounts) -> None:
    number = await map_number(transaction, tenant)
    for lens, facet in _FACETS.items():
        groups = await rows(transaction, _MAP, tenant=tenant, map=number, lens=lens.value)
        for group, members in groups:
            name = parse_id(group)[1][0]
            counts.add(facet, name, "", members)
            if lens is Lens.NAMESPACE:
                counts.add(PLATFORM, platform_of(name), "", members)
        if lens is Lens.NAMESPACE:
            counts.add(KIND, NodeKind.DATASET.value, "", sum(members for _, members in groups))
