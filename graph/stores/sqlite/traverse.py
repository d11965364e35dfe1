"""Following edges in the SQLite file: one hop, and all that can be reached."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from headwater.graph.model import Edge, EdgeKind
from headwater.graph.model.properties import stored
from headwater.graph.stores.protocol import COUNTED, Direction, Subgraph
from headwater.graph.stores.sqlite.read import to_node
from headwater.graph.stores.sqlite.vocabulary import KIND, any_of, codes
from headwater.graph.stores.sqlite.walk import DST, FAR, NO_EDGES, ROW, SRC, Numbers, array, edges_at, first_by_id, greatest_key, keys_of

_NEAR = {Direction.UPSTREAM: "dst", Direction.DOWNSTREAM: "src"}
_FAR_AWAY = np.iinfo(np.int64).max


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
    start, flows, greatest = keys_of(connection, tenant, focus), codes(kinds), greatest_key(connection)
    hops = np.full(greatest + 1, _FAR_AWAY)
    met, counted = [NO_EDGES], True
    for way in direction.ways():
        edges, whole = _cone(connection, start, way, flows, depth, limit, hops)
        met.append(edges)
        counted &= whole
    reached = np.flatnonzero(hops != _FAR_AWAY)
    kept = _nearest(connection, reached, hops[reached], limit)
    rows = connection.execute(
        "SELECT n.key, n.id, n.kind, n.name, f.properties FROM json_each(?) AS kept "
        "CROSS JOIN node AS n ON n.key = kept.value LEFT JOIN fact AS f ON f.key = n.key",
        (array(kept),),
    )
    nodes = [(distance, row[1], to_node(row[1:]), row[0]) for distance, row in zip(hops[kept].tolist(), rows, strict=True)]
    nodes.sort(key=itemgetter(0, 1))
    ids = {key: identifier for _, identifier, _, key in nodes}
    return Subgraph(
        nodes=[node for _, _, node, _ in nodes],
        edges=_edges(connection, ids, _among(connection, kept, np.concatenate(met), direction, flows, greatest)),
        distance={identifier: distance for distance, identifier, _, _ in nodes},
        truncated=len(reached) - len(kept),
        counted=counted,
    )


def _cone(
    connection: sqlite3.Connection, start: Numbers, way: Direction, flows: Sequence[int], depth: int, limit: int, hops: Numbers
) -> tuple[Numbers, bool]:
    """Notes hops by key, and returns the edges met and whether every node was visited."""
    reached = np.zeros(len(hops), dtype=bool)
    reached[start], hops[start] = True, 0
    frontier, size, met = start, len(start), [NO_EDGES]
    for distance in range(1, depth + 1):
        if size > limit + COUNTED:
            return np.concatenate(met), False
        met.append(edges_at(connection, way, frontier, flows))
        far = met[-1][:, FAR[way]]
        frontier = np.unique(far[~reached[far]])
        if not len(frontier):
            break
        reached[frontier] = True
        hops[frontier] = np.minimum(hops[frontier], distance)
        size += len(frontier)
    return np.concatenate(met), True


def _nearest(connection: sqlite3.Connection, keys: Numbers, hops: Numbers, limit: int) -> Numbers:
    """The `limit` nearest keys, in their order; where a level does not fit whole, those whose ids come first."""
    if len(keys) <= limit:
        return keys
    edge = np.sort(hops)[limit]
    whole = keys[hops < edge]
    return np.sort(np.concatenate([whole, first_by_id(connection, keys[hops == edge], limit - len(whole))]))


def _among(
    connection: sqlite3.Connection, kept: Numbers, met: Numbers, direction: Direction, flows: Sequence[int], greatest: int
) -> Numbers:
    """The edges among the kept: those met, and those that no step went over (into the last level, from one cone into the other)."""
    if direction is Direction.BOTH:
        found = edges_at(connection, Direction.UPSTREAM, kept, flows)
    else:
        near = DST if direction is Direction.UPSTREAM else SRC
        found = np.concatenate([met, edges_at(connection, direction, np.setdiff1d(kept, met[:, near]), flows)])
    inside = np.zeros(greatest + 1, dtype=bool)
    inside[kept] = True
    return found[inside[found[:, SRC]] & inside[found[:, DST]]]


def _edges(connection: sqlite3.Connection, ids: dict[int, str], found: Numbers) -> list[Edge]:
    rows = connection.execute(
        "SELECT e.src, e.dst, e.kind, e.properties, e.first, e.last FROM json_each(?) AS kept CROSS JOIN edge AS e ON e.key = kept.value",
        (array(np.sort(found[:, ROW])),),
    )
    return [_to_edge(ids[src], ids[dst], *about) for src, dst, *about in rows]


def _to_edge(src: str, dst: str, kind: int, properties: str | None, first: str | None, last: str | None) -> Edge:
    return Edge(src, dst, KIND[kind], stored(properties), {}, first or "", last or "")
