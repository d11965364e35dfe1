"""Reads the map of a lake: the largest groups with the flows among them, and the flows of some members."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name
from headwater.graph.model.ids import kind_of
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
    groups_of,
    hub_group,
    lens_of,
    wide_group,
)  # fmt: skip
from headwater.graph.stores.sqlite.read import read_nodes
from headwater.graph.stores.sqlite.vocabulary import CODE

_SHOWN = "(SELECT value FROM json_each(:shown))"
_INSIDE = "(SELECT value FROM json_each(:inside))"


def lake_map(
    connection: sqlite3.Connection, tenant: str, lens: Lens, first: int, include: Sequence[str], permitted: Collection[str] | None
) -> LakeMap:
    """Return the map through a lens: the `first` largest groups and those of `include`. `permitted`: ids of the only groups to read."""
    inside = None if permitted is None else json.dumps(sorted(permitted))
    bound = {"tenant": tenant, "lens": lens.value, "first": first, "inside": inside, "include": json.dumps(list(include))}
    own = f"tenant = :tenant AND lens = :lens AND members > 0{'' if inside is None else f' AND id IN {_INSIDE}'}"
    rows = connection.execute(
        f"SELECT key, id, members FROM map_group WHERE {own} ORDER BY members DESC, id LIMIT :first", bound
    ).fetchall()
    rows += connection.execute(
        f"SELECT key, id, members FROM map_group WHERE {own} AND id IN (SELECT value FROM json_each(:include))", bound
    )
    groups = {key: (identifier, members) for key, identifier, members in rows}
    total, members = connection.execute(f"SELECT count(*), coalesce(sum(members), 0) FROM map_group WHERE {own}", bound).fetchone()
    actors = "" if inside is None else f" AND actor IN (SELECT key FROM map_group WHERE tenant = :tenant AND id IN {_INSIDE})"
    bound["shown"] = json.dumps(list(groups))
    flows: list[Flow] = []
    to_rest: dict[str, int] = {}
    from_rest: dict[str, int] = {}
    names = {key: identifier for key, (identifier, _) in groups.items()}
    # `+` keeps the order of the index, so that nothing needs to be sorted.
    for src, dst, weight in connection.execute(
        f"SELECT src, dst, sum(weight) FROM map_flow WHERE src IN {_SHOWN} AND +dst IN {_SHOWN}{actors} GROUP BY src, dst", bound
    ):
        flows.append(Flow(names[src], names[dst], weight))
    for near, far, rest in (("src", "dst", to_rest), ("dst", "src", from_rest)):
        permitted_ends = "" if inside is None else f" AND {far} IN (SELECT key FROM map_group WHERE tenant = :tenant AND id IN {_INSIDE})"
        found = connection.execute(
            f"SELECT {near}, sum(weight) FROM map_flow WHERE {near} IN {_SHOWN} AND +{far} NOT IN {_SHOWN}{actors}{permitted_ends} "
            f"GROUP BY {near}",
            bound,
        )
        rest.update((names[key], weight) for key, weight in found)
    nodes = _nodes(connection, tenant, names.values())
    wide = connection.execute(
        "SELECT coalesce(sum(f.weight), 0) FROM map_group AS g JOIN map_flow AS f ON f.src = g.key WHERE g.tenant = ? AND g.id = ?",
        (tenant, wide_group(lens.value)),
    ).fetchone()[0]
    return LakeMap(
        [Group(identifier, count, nodes[identifier]) for identifier, count in groups.values()],
        sorted(flows, key=lambda flow: (-flow.weight, flow.src, flow.dst)), total, members, to_rest, from_rest,
        wide if inside is None else 0,
    )  # fmt: skip


def member_flows(
    connection: sqlite3.Connection, tenant: str, lens: Lens, members: Sequence[str], permitted: Collection[str] | None
) -> MemberFlows:
    """Return the flows of datasets or jobs through a lens. `permitted`: ids of the only groups to read, also of hubs."""
    of_jobs = lens is Lens.PIPELINE
    kind = NodeKind.JOB if of_jobs else NodeKind.DATASET
    asked = json.dumps([member for member in members if kind_of(member) is kind])
    own = {
        identifier: (key, groups_of(*about))
        for identifier, key, *about in connection.execute(
            "SELECT n.id, n.key, e.kind, e.namespace, e.pipeline, e.labels FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? "
            "AND n.id = asked.value CROSS JOIN entry AS e ON e.key = n.key",
            (asked, tenant),
        )
    }
    hubs: dict[str, dict[Way, list[int]]] = {}
    is_whole = True
    for identifier, (key, _) in own.items():
        for way, edge in (
            (Way.IN, EdgeKind.WRITES if of_jobs else EdgeKind.READS),
            (Way.OUT, EdgeKind.READS if of_jobs else EdgeKind.WRITES),
        ):
            near, far = ("src", "dst") if way is Way.IN else ("dst", "src")
            found = [
                hub for (hub,) in connection.execute(
                    f"SELECT {far} FROM edge WHERE {near} = ? AND kind = {CODE[edge]} ORDER BY 1 LIMIT {MOST_HUBS + 1}", (key,)
                )
            ]  # fmt: skip
            is_whole = is_whole and len(found) <= MOST_HUBS
            hubs.setdefault(identifier, {})[way] = found[:MOST_HUBS]
    sides = _sides(connection, lens, {hub for by_way in hubs.values() for found in by_way.values() for hub in found}, permitted)
    groups = {
        identifier: [group for group in its if lens_of(group) == lens and (permitted is None or group in permitted)]
        for identifier, (_, its) in own.items()
    }
    known = {member: {way: [hub for hub in found if hub in sides] for way, found in by_way.items()} for member, by_way in hubs.items()}
    return MemberFlows(flows_of_members(HubSides(known, sides, groups)), is_whole)


def _sides(
    connection: sqlite3.Connection, lens: Lens, hubs: Iterable[int], permitted: Collection[str] | None
) -> dict[int, dict[Way, dict[str, int]]]:
    """Return the groups around hubs that may be read, with the numbers of members there."""
    found: dict[int, dict[Way, dict[str, int]]] = {}
    rows = connection.execute(
        "SELECT s.hub, s.way, g.id, s.count, e.kind, e.namespace FROM json_each(?) AS asked CROSS JOIN map_side AS s "
        "ON s.hub = asked.value CROSS JOIN map_group AS g ON g.key = s.grp CROSS JOIN entry AS e ON e.key = s.hub WHERE g.lens = ?",
        (json.dumps(sorted(hubs)), lens.value),
    )
    for hub, way, group, count, kind, namespace in rows:
        if permitted is None or (group in permitted and hub_group(kind, namespace) in permitted):
            found.setdefault(hub, {Way.IN: {}, Way.OUT: {}})[Way(way)][group] = count
    return found


def _nodes(connection: sqlite3.Connection, tenant: str, ids: Iterable[str]) -> Mapping[str, Node]:
    """Return the nodes of groups. A group whose node nothing states has a bare one."""
    asked = list(ids)
    known = {node.id: node for node in read_nodes(connection, tenant, asked)}
    return {each: known.get(each) or Node(each, kind_of(each), bare_name(each)) for each in asked}
