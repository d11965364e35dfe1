"""Walks in the SQLite file: one hop, and all reachable nodes.

A level is one statement, and its rows contain all facts of the edges: fetching the facts separately would cost as much as the walk. Nodes
beyond the limit are only counted, without facts.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.model.properties import NOTHING, stored
from headwater.graph.stores.numbered_cones import FAR
from headwater.graph.stores.protocol import COUNTED, Direction, Subgraph
from headwater.graph.stores.sqlite.vocabulary import KIND, any_of, codes
from headwater.graph.stores.sqlite.walk import among, edges_at, first_by_id, keys_of

_NEAR = {Direction.UPSTREAM: "dst", Direction.DOWNSTREAM: "src"}
_NODE_KINDS = {kind.value: kind for kind in NodeKind}  # a look-up takes a tenth of the time of NodeKind(…)

# Source, destination, kind, properties, first, last.
_Row = tuple[int, int, int, str | None, str | None, str | None]
_EDGE = "e.src, e.dst, e.kind, e.properties, e.first, e.last"


def neighbours(
    connection: sqlite3.Connection, tenant: str, ids: Sequence[str], direction: Direction, kinds: Sequence[EdgeKind]
) -> list[Edge]:
    """Return the edges of some kinds that begin (downstream) or end (upstream) at one of the ids."""
    found: dict[tuple[str, str, int], tuple[str | None, str | None, str | None]] = {}
    for way in direction.ways():
        rows = connection.execute(
            f"""
            SELECT s.id, d.id, e.kind, e.properties, e.first, e.last
            FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value
            CROSS JOIN edge AS e ON e.{_NEAR[way]} = n.key AND e.kind IN {any_of(kinds)}
            CROSS JOIN node AS s ON s.key = e.src CROSS JOIN node AS d ON d.key = e.dst
            """,
            (json.dumps(list(ids)), tenant),
        )
        found.update(((src, dst, kind), (properties, first, last)) for src, dst, kind, properties, first, last in rows)
    return [
        Edge(src, dst, KIND[kind], stored(properties), NOTHING, first or "", last or "")
        for (src, dst, kind), (properties, first, last) in found.items()
    ]


def reach(
    connection: sqlite3.Connection,
    tenant: str,
    focus: Sequence[str],
    direction: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
) -> Subgraph:
    start = keys_of(connection, tenant, focus).tolist()
    walks = [_Walk(connection, way, codes(kinds), depth, limit) for way in direction.ways()]
    hops: dict[int, int] = {}
    for walk in walks:
        for key, distance in walk.go(start).items():
            if distance < hops.get(key, distance + 1):
                hops[key] = distance
    kept = _nearest(connection, hops, limit)
    rows = connection.execute(
        "SELECT n.key, n.id, n.kind, n.name, f.properties FROM json_each(?) AS kept "
        "CROSS JOIN node AS n ON n.key = kept.value LEFT JOIN fact AS f ON f.key = n.key",
        (json.dumps(kept),),
    ).fetchall()
    ids = {row[0]: row[1] for row in rows}
    rows.sort(key=itemgetter(1))
    rows.sort(key=lambda row: hops[row[0]])
    return Subgraph(
        # This loop, like the one for edges below, is inlined: a call per element costs as much as making it.
        nodes=[
            Node(identifier, _NODE_KINDS[kind], name, stored(about) if about else NOTHING, NOTHING)
            for _, identifier, kind, name, about in rows
        ],
        edges=[
            Edge(ids[src], ids[dst], KIND[kind], stored(about) if about else NOTHING, NOTHING, first or "", last or "")
            for src, dst, kind, about, first, last in _among(walks[0], ids)
        ],
        distance={row[1]: hops[row[0]] for row in rows},
        truncated=len(hops) - len(kept),
        counted=all(walk.whole for walk in walks),
    )


@dataclass(slots=True)
class _Walk:
    """A walk in one direction. `rows` are the edges of the nodes `expanded`; `whole` is true if every node within the depth was visited."""

    connection: sqlite3.Connection
    way: Direction
    kinds: Sequence[int]
    depth: int
    limit: int
    rows: list[_Row] = field(default_factory=list)
    expanded: set[int] = field(default_factory=set)
    whole: bool = True

    def go(self, start: Sequence[int]) -> dict[int, int]:
        """Walk, and return the distance of each key in hops."""
        hops = dict.fromkeys(start, 0)
        frontier, far = list(start), FAR[self.way]
        for distance in range(1, self.depth + 1):
            if len(hops) > self.limit + COUNTED:
                self.whole = False
                break
            if len(hops) > self.limit:
                found = set(edges_at(self.connection, self.way, np.array(frontier, dtype=np.int64), self.kinds)[:, far].tolist())
            else:
                found = {row[far] for row in self.expand(frontier)}
            frontier = list(found - hops.keys())
            if not frontier:
                break
            hops.update(dict.fromkeys(frontier, distance))
        return hops

    def expand(self, keys: Collection[int]) -> list[_Row]:
        if not keys or not self.kinds:
            return []
        rows: list[_Row] = self.connection.execute(
            f"SELECT {_EDGE} FROM json_each(?) AS level CROSS JOIN edge AS e ON e.{_NEAR[self.way]} = level.value AND {among(self.kinds)}",
            (json.dumps(sorted(keys)),),
        ).fetchall()
        self.expanded.update(keys)
        self.rows += rows
        return rows


def _nearest(connection: sqlite3.Connection, hops: dict[int, int], limit: int) -> list[int]:
    """Return the `limit` nearest keys, in their order. If a level exceeds the limit, the first ids are kept."""
    if len(hops) <= limit:
        return sorted(hops)
    edge = sorted(hops.values())[limit]
    whole = [key for key, distance in hops.items() if distance < edge]
    level = np.array([key for key, distance in hops.items() if distance == edge], dtype=np.int64)
    return sorted([*whole, *first_by_id(connection, level, limit - len(whole)).tolist()])


def _among(walk: _Walk, kept: Mapping[int, str]) -> list[_Row]:
    """Return the edges among the kept nodes: known edges, edges into the last level, and edges between the two directions.

    Most edges of the last two groups lead to other nodes. The index alone excludes them.
    """
    rest = np.array([key for key in kept if key not in walk.expanded], dtype=np.int64)
    found = edges_at(walk.connection, walk.way, rest, walk.kinds).tolist()
    inside = sorted([row for src, dst, _, row in found if src in kept and dst in kept])
    rows = walk.connection.execute(
        f"SELECT {_EDGE} FROM json_each(?) AS kept CROSS JOIN edge AS e ON e.key = kept.value", (json.dumps(inside),)
    ).fetchall()
    return [row for row in walk.rows if row[0] in kept and row[1] in kept] + rows
