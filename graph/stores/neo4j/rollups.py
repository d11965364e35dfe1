"""Keeps the map of a lake (`headwater.graph.stores.rollups`) in the transaction that changes flows or groups.

A dataset or job keeps the pipeline and the labels under which it is counted (`grouped`), the groups around it (`sides`) and the number of
its flows (`weight`). A `HeadwaterGroup` counts members and has a number. A `HeadwaterFlow` names two groups by their numbers and counts
the hubs between them. The node `HeadwaterMap` of a
tenant has the number of its map, and every counted element names this number in `map`. A new number, which the deletion of a graph gives,
makes all older counts void at once. A flow or node that a service without the map wrote is counted with the next statement about it.

The node of the map is locked before anything is read, so no count changes between reading and writing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import EdgeKind, NodeKind, kind_of
from headwater.graph.stores.neo4j.connections import Connections, rows
from headwater.graph.stores.neo4j.vocabulary import KIND, RELATIONSHIP
from headwater.graph.stores.rollups import Sides, Sums, Way, groups_of, hub_group, lens_of, rewrite, way_of

_PORTION = 5_000
_DROPPED = 10_000
_KINDS = (NodeKind.DATASET, NodeKind.JOB)
_BREAK = "\n"  # between the pipeline and the labels: neither has one

_LOCK: LiteralString = (
    "MERGE (m:HeadwaterMap {tenant: $tenant}) ON CREATE SET m.number = 1 SET m.tenant = $tenant RETURN m.number, coalesce(m.groups, 0)"
)
_NUMBER: LiteralString = "MATCH (m:HeadwaterMap {tenant: $tenant}) RETURN m.number"
_RENUMBER: LiteralString = "MERGE (m:HeadwaterMap {tenant: $tenant}) ON CREATE SET m.number = 1 SET m.number = m.number + 1"
_REGROUPED: LiteralString = """
    UNWIND $rows AS id
    MATCH (n:Container {tenant: $tenant, id: id})
    WITH n, n.pipeline + $break + n.labels AS grouped
    WHERE grouped IS NOT NULL AND (n.map IS NULL OR n.map <> $map OR n.grouped <> grouped)
    RETURN n.id, n.kind, n.namespace, grouped, CASE WHEN n.map = $map THEN n.grouped END
    """
_REGROUP: LiteralString = """
    UNWIND $rows AS row
    MATCH (n:Container {tenant: $tenant, id: row[0]})
    SET n.grouped = row[1], n.sides = CASE WHEN n.map = $map THEN n.sides END, n.weight = CASE WHEN n.map = $map THEN n.weight ELSE 0 END,
        n.map = $map
    """
_FLOWS_AT: LiteralString = (
    "UNWIND $rows AS id MATCH (n:Container {tenant: $tenant, id: id})-[e:READS|WRITES]-(h:Container) WHERE e.map = $map "
    "RETURN startNode(e).id, endNode(e).id, type(e), startNode(e) = n"
)
_NEW_FLOW: LiteralString = (
    "]->(d:Container {tenant: $tenant, id: row[1]}) WHERE e.map IS NULL OR e.map <> $map SET e.map = $map RETURN s.id, d.id"
)
_ABOUT: LiteralString = (
    "UNWIND $rows AS id MATCH (n:Container {tenant: $tenant, id: id}) WHERE n.map = $map "
    "RETURN n.id, n.kind, n.namespace, n.grouped, n.sides"
)
_SIDES: LiteralString = "UNWIND $rows AS row MATCH (n:Container {tenant: $tenant, id: row[0]}) SET n.sides = row[1]"
_WEIGHTS: LiteralString = (
    "UNWIND $rows AS row MATCH (n:Container {tenant: $tenant, id: row[0]}) SET n.weight = coalesce(n.weight, 0) + row[1]"
)
_NUMBERS: LiteralString = "UNWIND $rows AS id MATCH (g:HeadwaterGroup {tenant: $tenant, map: $map, id: id}) RETURN id, g.number"
_GROUPS: LiteralString = """
    UNWIND $rows AS row
    MERGE (g:HeadwaterGroup {tenant: $tenant, map: $map, id: row[0]})
    ON CREATE SET g.number = row[1], g.lens = row[2], g.members = 0
    SET g.members = g.members + row[3]
    """
_NUMBERED: LiteralString = "UNWIND $rows AS last MATCH (m:HeadwaterMap {tenant: $tenant}) SET m.groups = last"
_FLOWS: LiteralString = """
    UNWIND $rows AS row
    MERGE (f:HeadwaterFlow {tenant: $tenant, map: $map, src: row[0], dst: row[1], actor: row[2]})
    ON CREATE SET f.weight = 0
    SET f.weight = f.weight + row[3]
    WITH f WHERE f.weight <= 0 DELETE f
    """


@dataclass(frozen=True, slots=True)
class _About:
    """A dataset or job of the map."""

    kind: str
    namespace: str
    groups: Sequence[str]
    sides: Sides


async def write_rollups(transaction: AsyncManagedTransaction, tenant: str, nodes: Iterable[str], flows: Iterable[Sequence[Any]]) -> None:
    """Bring the map up to date for nodes that may have other groups, and for stated edges (source, destination, kind).

    The entries of the nodes must be up to date.
    """
    stated: dict[EdgeKind, list[tuple[str, str]]] = {}
    for src, dst, kind in flows:
        if kind in (EdgeKind.READS, EdgeKind.WRITES) and {kind_of(src), kind_of(dst)} == set(_KINDS):
            stated.setdefault(kind, []).append((src, dst))
    ids = {identifier for identifier in nodes if kind_of(identifier) in _KINDS}
    ids.update(end for edges in stated.values() for edge in edges for end in edge)
    if ids:
        number, groups = (await rows(transaction, _LOCK, tenant=tenant))[0]
        await _Writer(transaction, tenant, number, groups).write(sorted(ids), stated)


async def map_number(transaction: AsyncManagedTransaction, tenant: str) -> int:
    """Return the number of the tenant's map, or 0."""
    found = await rows(transaction, _NUMBER, tenant=tenant)
    return int(found[0][0]) if found else 0


async def write_all_rollups(connections: Connections) -> None:
    """Write the map of all tenants, for a database of an earlier schema. What the map already counts stays as it is."""
    for (tenant,) in await connections.read("MATCH (n:Container) WHERE n.tenant IS NOT NULL RETURN DISTINCT n.tenant"):
        last: str | None = ""
        while last is not None:
            last = await connections.write_with(_filling(tenant, last))


def _filling(tenant: str, last: str) -> Any:
    nodes: LiteralString = (
        "MATCH (n:Container) WHERE n.tenant = $tenant AND n.id > $last RETURN n.id, n.kind ORDER BY n.tenant, n.id LIMIT $limit"
    )
    edges: LiteralString = (
        "UNWIND $ids AS id MATCH (d:Container {tenant: $tenant, id: id})<-[e:READS|WRITES]-(s:Container) WHERE s.kind IN $kinds "
        "RETURN s.id, d.id, type(e)"
    )

    async def fill(transaction: AsyncManagedTransaction) -> str | None:
        found = await rows(transaction, nodes, tenant=tenant, last=last, limit=_PORTION)
        ids = [identifier for identifier, kind in found if kind in _KINDS]
        flows = await rows(transaction, edges, tenant=tenant, ids=ids, kinds=list(_KINDS))
        await write_rollups(transaction, tenant, ids, [(src, dst, KIND[relationship]) for src, dst, relationship in flows])
        return found[-1][0] if len(found) == _PORTION else None

    return fill


async def void_map(transaction: AsyncManagedTransaction, tenant: str) -> None:
    """Make all counts of the tenant's map void. `drop_void` deletes them."""
    await rows(transaction, _RENUMBER, tenant=tenant)


async def drop_void(transaction: AsyncManagedTransaction, tenant: str) -> int:
    """Delete some groups and flows of former maps of a tenant, and return their number."""
    number = await map_number(transaction, tenant)
    gone = 0
    groups: LiteralString = "MATCH (e:HeadwaterGroup) WHERE e.id IS NOT NULL "
    flows: LiteralString = "MATCH (e:HeadwaterFlow) WHERE e.src IS NOT NULL AND e.dst IS NOT NULL AND e.actor IS NOT NULL "
    for start in (groups, flows):
        statement = start + "AND e.tenant = $tenant AND e.map < $map WITH e LIMIT $limit DELETE e RETURN count(*)"
        gone += (await rows(transaction, statement, tenant=tenant, map=number, limit=_DROPPED))[0][0]
    return gone


class _Writer:
    """Writes changes of one map in one transaction."""

    def __init__(self, transaction: AsyncManagedTransaction, tenant: str, number: int, groups: int) -> None:
        self._transaction = transaction
        self._last = groups  # the number of the last group
        self._bound: dict[str, Any] = {"tenant": tenant, "map": number, "break": _BREAK}

    async def write(self, ids: Sequence[str], stated: Mapping[EdgeKind, Sequence[tuple[str, str]]]) -> None:
        sums = Sums()
        moved = await self._regroup(ids, sums)
        known = await self._rows(_FLOWS_AT, sorted(moved))
        new = [(*edge, kind) for kind, edges in stated.items() for edge in await self._count(kind, edges)]
        about = await self._about({end for src, dst, _ in new for end in (src, dst)})
        groups = {identifier: each.groups for identifier, each in about.items()}
        for src, dst, kind in new:
            is_read = kind is EdgeKind.READS
            sums.connect(src if is_read else dst, dst if is_read else src, is_read=is_read, groups=groups)
        for src, dst, relationship, is_source in known:
            node, hub = (src, dst) if is_source else (dst, src)
            old, now = moved[node]
            is_read = relationship == RELATIONSHIP[EdgeKind.READS]
            gone, come = [each for each in old if each not in now], [each for each in now if each not in old]
            sums.move(hub, gone, come, way=way_of(is_read=is_read, is_dataset=is_source is is_read))
        if sums.members or sums.sides:
            about |= await self._about({str(hub) for hub, _, _ in sums.sides} - about.keys())
            await self._write_sums(sums, about)

    async def _regroup(self, ids: Sequence[str], sums: Sums) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
        """Count nodes in their present groups. Return the old and the new groups of those that were counted in others."""
        changed: list[list[str]] = []
        moved: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
        for identifier, kind, namespace, grouped, former in await self._rows(_REGROUPED, ids):
            old = groups_under(kind, namespace, former) if former is not None else ()
            new = groups_under(kind, namespace, grouped)
            sums.regroup(old, new)
            changed.append([identifier, grouped])
            if old:  # a new node has new edges only
                moved[identifier] = old, new
        await self._rows(_REGROUP, changed)
        return moved

    async def _count(self, kind: EdgeKind, edges: Sequence[tuple[str, str]]) -> list[list[str]]:
        """Mark edges as counted, and return those that were not."""
        statement: LiteralString = (
            "UNWIND $rows AS row MATCH (s:Container {tenant: $tenant, id: row[0]})-[e:" + RELATIONSHIP[kind] + _NEW_FLOW
        )
        return await self._rows(statement, [list(edge) for edge in edges])

    async def _about(self, ids: Collection[str]) -> dict[str, _About]:
        return {
            identifier: _About(kind, namespace, groups_under(kind, namespace, grouped), unpack_sides(sides))
            for identifier, kind, namespace, grouped, sides in await self._rows(_ABOUT, sorted(ids))
        }

    async def _write_sums(self, sums: Sums, about: Mapping[str, _About]) -> None:
        actors = {hub: hub_group(each.kind, each.namespace) for hub, each in about.items()}
        changed = rewrite(sums, {hub: each.sides for hub, each in about.items()}, actors)
        sides = [[hub, _pack({**about[hub].sides, **counts})] for hub, counts in sorted(changed.sides.items())]
        await self._rows(_SIDES, sides)
        await self._rows(_WEIGHTS, [[identifier, weight] for identifier, weight in sorted(sums.weights.items())])
        numbers = await self._write_groups(changed.groups(sums), sums.members)
        flows = [[*(numbers[group] for group in flow), weight] for flow, weight in sorted(changed.flows.items())]
        await self._rows(_FLOWS, flows)

    async def _write_groups(self, groups: Collection[str], members: Mapping[str, int]) -> dict[str, int]:
        """Count members, and return the numbers of groups. Unknown groups get new ones."""
        numbers: dict[str, int] = dict(await self._rows(_NUMBERS, sorted(groups)))
        new = sorted(set(groups) - numbers.keys())
        numbers |= {group: number for number, group in enumerate(new, self._last + 1)}
        await self._rows(_GROUPS, [[group, numbers[group], lens_of(group), members.get(group, 0)] for group in sorted(groups)])
        if new:
            self._last += len(new)
            await self._rows(_NUMBERED, [self._last])
        return numbers

    async def _rows(self, statement: LiteralString, items: Sequence[Any]) -> list[list[Any]]:
        """Run a statement over `$rows`, in portions."""
        found: list[list[Any]] = []
        for start in range(0, len(items), _PORTION):
            found += await rows(self._transaction, statement, rows=items[start : start + _PORTION], **self._bound)
        return found


def unpack_sides(text: str | None) -> dict[tuple[Way, str], int]:
    return {(Way(way), group): count for way, group, count in json.loads(text or "[]")}


def _pack(sides: Sides) -> str:
    return json.dumps([[int(way), group, count] for (way, group), count in sorted(sides.items()) if count > 0], separators=(",", ":"))


def groups_under(kind: str, namespace: str, grouped: str) -> tuple[str, ...]:
    pipeline, _, labels = grouped.partition(_BREAK)
    return groups_of(kind, namespace, pipeline, labels)
