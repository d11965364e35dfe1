"""Walking the SQLite file: one hop, and all that can be reached, level by level.

A level is one statement over the keys of the level before (`json_each`). Only keys travel until it is known which nodes are kept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from headwater.graph.model import Edge, EdgeKind
from headwater.graph.stores.protocol import Direction, Subgraph
from headwater.graph.stores.sqlite.read import to_node

_KINDS = {kind.value: kind for kind in EdgeKind}  # a look-up costs a tenth of EdgeKind(…), and large answers have thousands
_STEP = {Direction.UPSTREAM: ("dst", "src"), Direction.DOWNSTREAM: ("src", "dst")}


def neighbours(
    connection: sqlite3.Connection, tenant: str, ids: Sequence[str], direction: Direction, kinds: Sequence[EdgeKind]
) -> list[Edge]:
    """Edges of the kinds that begin (downstream) or end (upstream) at one of the ids."""
    found: dict[tuple[str, str, str], tuple[str, str | None, str | None]] = {}
    for way in direction.ways():
        near, _ = _STEP[way]
        rows = connection.execute(
            f"""
            SELECT s.id, d.id, e.kind, e.properties, e.first, e.last
            FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value
            CROSS JOIN edge AS e ON e.tenant = n.tenant AND e.{near} = n.key AND e.kind IN ({_marks(kinds)})
            CROSS JOIN node AS s ON s.key = e.src CROSS JOIN node AS d ON d.key = e.dst
            """,
            (json.dumps(list(ids)), tenant, *kinds),
        )
        found.update(((src, dst, kind), (properties, first, last)) for src, dst, kind, properties, first, last in rows)
    return [_to_edge(*ends, *rest) for ends, rest in found.items()]


def reach(
    connection: sqlite3.Connection,
    tenant: str,
    focus: Sequence[str],
    direction: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
) -> Subgraph:
    """See `GraphStore.reach`."""
    start = {
        key
        for (key,) in connection.execute(
            "SELECT n.key FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value",
            (json.dumps(list(focus)), tenant),
        )
    }
    distance: dict[int, int] = {}
    for way in direction.ways():
        for key, hops in _cone(connection, tenant, start, way, kinds, depth).items():
            distance[key] = min(hops, distance.get(key, hops))
    rows = _nearest(connection, distance, limit)
    nodes = [(row[0], to_node(row[1:])) for row in rows]
    ids = {key: node.id for key, node in nodes}
    nodes.sort(key=lambda entry: (distance[entry[0]], entry[1].id))
    return Subgraph(
        nodes=[node for _, node in nodes],
        edges=_edges_among(connection, tenant, ids, kinds),
        distance={node.id: distance[key] for key, node in nodes},
        truncated=len(distance) - len(nodes),
    )


def _cone(
    connection: sqlite3.Connection, tenant: str, start: Iterable[int], way: Direction, kinds: Sequence[EdgeKind], depth: int
) -> dict[int, int]:
    """Every key within `depth` hops, with its distance."""
    near, far = _STEP[way]
    statement = f"""
        SELECT DISTINCT e.{far} FROM json_each(?) AS level
        CROSS JOIN edge AS e ON e.tenant = ? AND e.{near} = level.value AND e.kind IN ({_marks(kinds)})
        """
    distance = dict.fromkeys(start, 0)
    frontier = list(distance)
    for hops in range(1, depth + 1):
        rows = connection.execute(statement, (json.dumps(frontier), tenant, *kinds))
        frontier = [key for (key,) in rows if key not in distance]
        if not frontier:
            break
        distance.update(dict.fromkeys(frontier, hops))
    return distance


def _nearest(connection: sqlite3.Connection, distance: dict[int, int], limit: int) -> list[tuple[int, str, str, str, str]]:
    """Rows of the `limit` nearest nodes, the first ids going first where a level does not fit whole."""
    ordered = sorted(distance, key=distance.__getitem__)
    if len(ordered) > limit:
        edge = distance[ordered[limit]]
        whole = [key for key in ordered[:limit] if distance[key] < edge]
        last = connection.execute(
            "SELECT key FROM node WHERE key IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?",
            (json.dumps([key for key in ordered if distance[key] == edge]), limit - len(whole)),
        )
        ordered = whole + [key for (key,) in last]
    return connection.execute(
        "SELECT n.key, n.id, n.kind, n.name, n.properties FROM json_each(?) AS kept CROSS JOIN node AS n ON n.key = kept.value",
        (json.dumps(ordered),),
    ).fetchall()


def _edges_among(connection: sqlite3.Connection, tenant: str, ids: dict[int, str], kinds: Sequence[EdgeKind]) -> list[Edge]:
    keys = json.dumps(list(ids))
    # The plus keeps the planner from probing the index for every pair of nodes.
    rows = connection.execute(
        f"""
        SELECT e.src, e.dst, e.kind, e.properties, e.first, e.last FROM json_each(?) AS kept
        CROSS JOIN edge AS e ON e.tenant = ? AND e.dst = kept.value AND e.kind IN ({_marks(kinds)})
        WHERE +e.src IN (SELECT value FROM json_each(?))
        """,
        (keys, tenant, *kinds, keys),
    )
    return [_to_edge(ids[src], ids[dst], *rest) for src, dst, *rest in rows]


def _to_edge(src: str, dst: str, kind: str, properties: str, first: str | None, last: str | None) -> Edge:
    about = json.loads(properties) if properties != "{}" else {}
    return Edge(src, dst, _KINDS[kind], about, first=first or "", last=last or "")


def _marks(kinds: Sequence[EdgeKind]) -> str:
    return ", ".join("?" * len(kinds))
