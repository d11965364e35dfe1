"""Reads the map of a lake: the largest groups with the flows among them, and the flows of some members."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import Node, NodeKind, bare_name
from headwater.graph.model.ids import kind_of
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.read import read_nodes
from headwater.graph.stores.neo4j.rollups import groups_under, map_number, unpack_sides
from headwater.graph.stores.rollups import (
    MOST_HUBS,
    Flow,
    Group,
    HubSides,
    LakeMap,
    Lens,
    MemberFlows,
    Way,
    flows_of_members,
    hub_group,
    lens_of,
    wide_group,
)  # fmt: skip

_GROUPS: LiteralString = (
    "MATCH (g:HeadwaterGroup) WHERE g.tenant = $tenant AND g.map = $map AND g.lens = $lens AND g.members > 0 "
    "AND ($inside IS NULL OR g.id IN $inside) "
)
_LARGEST: LiteralString = _GROUPS + "RETURN g.number, g.id, g.members ORDER BY g.members DESC, g.id LIMIT $first"
_INCLUDED: LiteralString = (
    "UNWIND $include AS id MATCH (g:HeadwaterGroup {tenant: $tenant, map: $map, id: id}) WHERE g.lens = $lens AND g.members > 0 "
    "AND ($inside IS NULL OR g.id IN $inside) RETURN g.number, g.id, g.members"
)
_TOTALS: LiteralString = _GROUPS + "RETURN count(g), coalesce(sum(g.members), 0)"
_NUMBERS: LiteralString = "UNWIND $ids AS id MATCH (g:HeadwaterGroup {tenant: $tenant, map: $map, id: id}) RETURN g.number"
_WIDE: LiteralString = (
    "MATCH (g:HeadwaterGroup {tenant: $tenant, map: $map, id: $wide}) "
    "MATCH (f:HeadwaterFlow) WHERE f.tenant = $tenant AND f.map = $map AND f.src = g.number AND f.dst = g.number "
    "AND f.actor IS NOT NULL AND f.weight IS NOT NULL RETURN coalesce(sum(f.weight), 0)"
)
# All properties are in the condition, so that they are read from the index alone.
_FLOWS: LiteralString = (
    "UNWIND $shown AS near MATCH (f:HeadwaterFlow) WHERE f.tenant = $tenant AND f.map = $map AND f.src IS NOT NULL AND f.dst IS NOT NULL "
    "AND f.actor IS NOT NULL AND f.weight IS NOT NULL AND ($permitted IS NULL OR f.actor IN $permitted) "
)
# One record of columns is unpacked faster than a record for each flow.
_FLOWS_OUT: LiteralString = (
    _FLOWS + "AND f.src = near AND ($permitted IS NULL OR f.dst IN $permitted) "
    "WITH near, CASE WHEN f.dst IN $shown THEN f.dst ELSE 0 END AS far, sum(f.weight) AS weight "
    "RETURN collect(near), collect(far), collect(weight)"
)
_FLOWS_IN: LiteralString = (
    _FLOWS + "AND f.dst = near AND ($permitted IS NULL OR f.src IN $permitted) AND NOT f.src IN $shown "
    "WITH near, sum(f.weight) AS weight RETURN collect(near), collect(weight)"
)
_MEMBERS: LiteralString = (
    "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id}) WHERE n.map = $map "
    "RETURN n.id, n.kind, n.namespace, n.grouped, COLLECT { MATCH (n)-[e:READS|WRITES]->(h:Container) WHERE e.map = $map RETURN h.id LIMIT "
    "$most }, COLLECT { MATCH (n)<-[e:READS|WRITES]-(h:Container) WHERE e.map = $map RETURN h.id LIMIT $most }"
)
_HUBS: LiteralString = (
    "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id}) WHERE n.sides IS NOT NULL RETURN n.id, n.kind, n.namespace, n.sides"
)


async def lake_map(
    transaction: AsyncManagedTransaction, tenant: str, lens: Lens, first: int, include: Sequence[str], permitted: Collection[str] | None
) -> LakeMap:
    """Return the map through a lens: the `first` largest groups and those of `include`. `permitted`: ids of the only groups to read."""
    inside = None if permitted is None else sorted(permitted)
    bound: dict[str, Any] = {"tenant": tenant, "map": await map_number(transaction, tenant), "inside": inside, "lens": lens.value}
    found = await rows(transaction, _LARGEST, first=first, **bound)
    found += await rows(transaction, _INCLUDED, include=list(include), **bound) if include else []
    names: dict[int, str] = {number: identifier for number, identifier, _ in found}
    groups: dict[str, int] = {identifier: members for _, identifier, members in found}
    total, members = (await rows(transaction, _TOTALS, **bound))[0]
    numbers = None if inside is None else [number for (number,) in await rows(transaction, _NUMBERS, ids=inside, **bound)]
    bound |= {"shown": list(names), "permitted": numbers}
    flows: list[Flow] = []
    to_rest: dict[str, int] = {}
    for near, far, weight in zip(*(await rows(transaction, _FLOWS_OUT, **bound))[0], strict=True):
        if far:
            flows.append(Flow(names[near], names[far], weight))
        else:
            to_rest[names[near]] = weight
    from_rest = {names[near]: weight for near, weight in zip(*(await rows(transaction, _FLOWS_IN, **bound))[0], strict=True)}
    wide = 0 if inside is not None else (await rows(transaction, _WIDE, wide=wide_group(lens.value), **bound))[0][0]
    nodes = await _nodes(transaction, tenant, groups)
    return LakeMap(
        [Group(identifier, count, nodes[identifier]) for identifier, count in groups.items()],
        sorted(flows, key=lambda flow: (-flow.weight, flow.src, flow.dst)), total, members, to_rest, from_rest, wide,
    )  # fmt: skip


async def member_flows(
    transaction: AsyncManagedTransaction, tenant: str, lens: Lens, members: Sequence[str], permitted: Collection[str] | None
) -> MemberFlows:
    """Return the flows of datasets or jobs through a lens. `permitted`: ids of the only groups to read, also of hubs."""
    kind = NodeKind.JOB if lens is Lens.PIPELINE else NodeKind.DATASET
    bound: dict[str, Any] = {"tenant": tenant, "map": await map_number(transaction, tenant)}
    asked = [member for member in members if kind_of(member) is kind]
    hubs: dict[str, dict[Way, list[str]]] = {}
    groups: dict[str, list[str]] = {}
    is_whole = True
    for identifier, kind_, namespace, grouped, after, before in await rows(transaction, _MEMBERS, ids=asked, most=MOST_HUBS + 1, **bound):
        is_whole = is_whole and len(after) <= MOST_HUBS and len(before) <= MOST_HUBS
        # A member comes into the hub after it, and the hub before a member goes out to it.
        hubs[identifier] = {Way.IN: after[:MOST_HUBS], Way.OUT: before[:MOST_HUBS]}
        its = groups_under(kind_, namespace, grouped)
        groups[identifier] = [group for group in its if lens_of(group) == lens and (permitted is None or group in permitted)]
    every = sorted({hub for by_way in hubs.values() for found in by_way.values() for hub in found})
    sides: dict[str, dict[Way, dict[str, int]]] = {}
    for identifier, kind_, namespace, packed in await rows(transaction, _HUBS, ids=every, **bound):
        if permitted is None or hub_group(kind_, namespace) in permitted:
            for (way, group), count in unpack_sides(packed).items():
                if lens_of(group) == lens and (permitted is None or group in permitted):
                    sides.setdefault(identifier, {Way.IN: {}, Way.OUT: {}})[way][group] = count
    known = {member: {way: [hub for hub in found if hub in sides] for way, found in by_way.items()} for member, by_way in hubs.items()}
    return MemberFlows(flows_of_members(HubSides(known, sides, groups)), is_whole)


async def _nodes(transaction: AsyncManagedTransaction, tenant: str, ids: Iterable[str]) -> Mapping[str, Node]:
    """Return the nodes of groups. A group whose node nothing states has a bare one."""
    asked = list(ids)
    known = {node.id: node for node in await read_nodes(transaction, tenant, asked)}
    return {each: known.get(each) or Node(each, kind_of(each), bare_name(each)) for each in asked}
