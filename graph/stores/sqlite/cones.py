"""Cones of the SQLite file. Keys alone travel while levels are expanded; ids are read once, at the end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.cone import ConeBuilder
from headwater.graph.stores.protocol import Cone, Direction

_STEP = {Direction.UPSTREAM: ("dst", "src"), Direction.DOWNSTREAM: ("src", "dst")}


def cone(
    connection: sqlite3.Connection,
    tenant: str,
    focus: Sequence[str],
    direction: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
    contained: Sequence[NodeKind],
    facts: bool,
) -> Cone:
    """See `GraphStore.cone`."""
    start = connection.execute(
        "SELECT n.key FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value",
        (json.dumps(list(focus)), tenant),
    )
    builder = ConeBuilder([key for (key,) in start], direction, depth, limit, lambda keys: _by_id(connection, keys), facts)
    marks = ", ".join("?" * len(kinds))
    # Two ends joined by two kinds are two edges, which cones that meet must tell apart.
    about = ", e.kind, e.first, e.last" if facts else ", e.kind" if direction is Direction.BOTH else ""
    while level := builder.level():
        way, frontier = level
        near, far = _STEP[way]
        builder.take(
            connection.execute(
                f"""
                SELECT e.{near}, e.{far}{about} FROM json_each(?) AS level
                CROSS JOIN edge AS e ON e.tenant = ? AND e.{near} = level.value AND e.kind IN ({marks})
                """,
                (json.dumps(frontier), tenant, *kinds),
            ).fetchall()
        )
    ids = _ids(connection, builder.keys)
    prefixes = tuple(f"{kind}:" for kind in contained)
    inner = [number for number, identifier in enumerate(ids) if identifier.startswith(prefixes)] if prefixes else []
    contains = _containers(connection, tenant, builder.keys, inner, ids)
    return Cone(
        ids=ids,
        reached=len(builder.keys),
        edges=builder.edges,
        facts=builder.facts,
        contains=contains,
        upstream=builder.distance.get(Direction.UPSTREAM, {}),
        downstream=builder.distance.get(Direction.DOWNSTREAM, {}),
        beyond=len(builder.beyond),
    )


def _containers(
    connection: sqlite3.Connection, tenant: str, known: Sequence[int], inner: Sequence[int], ids: list[str]
) -> list[tuple[int, int]]:
    """Steps from the nodes numbered `inner` up to their outermost containers; ids of containers that are new are added to `ids`."""
    numbers = {key: number for number, key in enumerate(known)}
    keys = list(known)
    contains: list[tuple[int, int]] = []
    frontier, climbed = [keys[number] for number in inner], set(inner)
    while frontier:
        steps = connection.execute(
            """
            SELECT e.src, e.dst FROM json_each(?) AS asked
            CROSS JOIN edge AS e ON e.tenant = ? AND e.dst = asked.value AND e.kind = 'contains'
            """,
            (json.dumps(frontier), tenant),
        ).fetchall()
        frontier = []
        for container, child in steps:
            number = numbers.get(container)
            if number is None:
                number = numbers[container] = len(keys)
                keys.append(container)
            if number not in climbed:
                climbed.add(number)
                frontier.append(container)
            contains.append((number, numbers[child]))
    ids += _ids(connection, keys[len(ids) :])
    return contains


def _ids(connection: sqlite3.Connection, keys: Iterable[int]) -> list[str]:
    rows = connection.execute("SELECT n.id FROM json_each(?) AS kept CROSS JOIN node AS n ON n.key = kept.value", (json.dumps(list(keys)),))
    return [identifier for (identifier,) in rows]


def _by_id(connection: sqlite3.Connection, keys: list[int]) -> list[int]:
    return [key for _, key in sorted(zip(_ids(connection, keys), keys, strict=True))]
