"""Following edges in the SQLite file: one hop, and all that can be reached."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.model.properties import stored
from headwater.graph.stores.protocol import COUNTED, Direction, Subgraph
from headwater.graph.stores.sqlite.vocabulary import KIND, any_of, codes
from headwater.graph.stores.sqlite.walk import DST, FAR, NO_EDGES, ROW, SRC, Numbers, array, edges_at, first_by_id, keys_of

_NEAR = {Direction.UPSTREAM: "dst", Direction.DOWNSTREAM: "src"}
_NODE_KINDS = {kind.value: kind for kind in NodeKind}  # a look-up costs a tenth of NodeKind(…)


def neighbours(
    connection: sqlite3.Connection, tenant: str, ids: Sequence[str], direction: Direction, kinds: Sequence[EdgeKind]
) -> list[Edge]:
    """Edges of the kinds that begin (downstream) or end (upstream) at one of the ids."""
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
    return [_to_edge(*ends, *about) for ends, about in found.items()]


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
    start, flows = keys_of(connection, tenant, focus), codes(kinds)
    hops: dict[int, int] = {}
    met, counted = [NO_EDGES], True
    for way in direction.ways():
        edges, whole = _cone(connection, start, way, flows, depth, limit, hops)
        met.append(edges)
        counted &= whole
    kept = _nearest(connection, hops, limit)
    rows = connection.execute(
        "SELECT n.key, n.id, n.kind, n.name, f.properties FROM json_each(?) AS kept "
        "CROSS JOIN node AS n ON n.key = kept.value LEFT JOIN fact AS f ON f.key = n.key",
        (array(kept),),
    ).fetchall()
    ids = {row[0]: row[1] for row in rows}
    nearest = sorted((hops[row[0]], *row[1:]) for row in rows)  # ids differ: what follows them is never compared
    return Subgraph(
        # Written out, as are edges below: a call an element costs as much as making it.
        nodes=[Node(identifier, _NODE_KINDS[kind], name, stored(about)) for _, identifier, kind, name, about in nearest],
        edges=_edges(connection, ids, _among(connection, kept, np.concatenate(met), direction, flows)),
        distance={row[1]: row[0] for row in nearest},
        truncated=len(hops) - len(kept),
        counted=counted,
    )


def _cone(
    connection: sqlite3.Connection, start: Numbers, way: Direction, flows: Sequence[int], depth: int, limit: int, hops: dict[int, int]
) -> tuple[Numbers, bool]:
    """Notes hops by key, and returns the edges met and whether every node was visited."""
    reached = set(start.tolist())
    hops.update(dict.fromkeys(reached, 0))
    frontier, met = start, [NO_EDGES]
    for distance in range(1, depth + 1):
        if len(reached) > limit + COUNTED:
            return np.concatenate(met), False
        met.append(edges_at(connection, way, frontier, flows))
        new = set(met[-1][:, FAR[way]].tolist()) - reached
        if not new:
            break
        reached |= new
        for key in new:
            hops[key] = min(distance, hops.get(key, distance))
        frontier = np.array(sorted(new), dtype=np.int64)
    return np.concatenate(met), True


def _nearest(connection: sqlite3.Connection, hops: dict[int, int], limit: int) -> Numbers:
    """The `limit` nearest keys, in their order; where a level does not fit whole, those whose ids come first."""
    keys = np.array(sorted(hops), dtype=np.int64)
    if len(keys) <= limit:
        return keys
    distance = np.array([hops[key] for key in keys.tolist()])
    edge = np.sort(distance)[limit]
    whole = keys[distance < edge]
    return np.sort(np.concatenate([whole, first_by_id(connection, keys[distance == edge], limit - len(whole))]))


def _among(connection: sqlite3.Connection, kept: Numbers, met: Numbers, direction: Direction, flows: Sequence[int]) -> Numbers:
    """The edges among the kept: those met, and those that no step went over (into the last level, from one cone into the other)."""
    if direction is Direction.BOTH:
        found = edges_at(connection, Direction.UPSTREAM, kept, flows)
    else:
        near = DST if direction is Direction.UPSTREAM else SRC
        found = np.concatenate([met, edges_at(connection, direction, np.setdiff1d(kept, met[:, near]), flows)])
    inside: Numbers = found[np.isin(found[:, SRC], kept) & np.isin(found[:, DST], kept)]
    return inside


def _edges(connection: sqlite3.Connection, ids: dict[int, str], found: Numbers) -> list[Edge]:
    rows = connection.execute(
        "SELECT e.src, e.dst, e.kind, e.properties, coalesce(e.first, ''), coalesce(e.last, '') "
        "FROM json_each(?) AS kept CROSS JOIN edge AS e ON e.key = kept.value",
        (array(np.sort(found[:, ROW])),),
    ).fetchall()
    return [Edge(ids[src], ids[dst], KIND[kind], stored(about), {}, first, last) for src, dst, kind, about, first, last in rows]


def _to_edge(src: str, dst: str, kind: int, properties: str | None, first: str | None, last: str | None) -> Edge:
    return Edge(src, dst, KIND[kind], stored(properties), {}, first or "", last or "")
