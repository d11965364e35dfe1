"""Keeps the map of a lake (`headwater.graph.stores.rollups`) in the transaction that changes flows or groups."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.rollups import Sums, Way, groups_of, hub_group, lens_of, rewrite, way_of
from headwater.graph.stores.sqlite.vocabulary import CODE

_READS, _WRITES = CODE[EdgeKind.READS], CODE[EdgeKind.WRITES]
_KINDS = f"('{NodeKind.DATASET}', '{NodeKind.JOB}')"
_ABOUT = "e.key, e.kind, e.namespace, e.pipeline, e.labels"
_PORTION = 20_000

# The key of a dataset or job → its groups before and after a transaction.
Regrouped = Mapping[int, tuple[Sequence[str], Sequence[str]]]


def last_edge(connection: sqlite3.Connection) -> int:
    """Return the greatest key of an edge. New edges get greater ones."""
    return int(connection.execute("SELECT coalesce(max(key), 0) FROM edge").fetchone()[0])


def write_rollups(
    connection: sqlite3.Connection, tenant: str, before: int, flows: Iterable[tuple[int, int, int]], regrouped: Regrouped
) -> None:
    """Bring the map up to date. `flows` are the stated edges between datasets and jobs; those with keys up to `before` are known.

    The entries of the nodes must be up to date.
    """
    stated = set(flows)
    rows = connection.execute("SELECT src, dst, kind FROM edge WHERE key > ?", (before,)) if stated else ()
    _write(connection, tenant, [row for row in rows if row in stated], regrouped, before)


def write_all_rollups(connection: sqlite3.Connection) -> None:
    """Write the map of all tenants, for a file of an earlier schema."""
    last = 0
    while entries := connection.execute(
        f"SELECT {_ABOUT}, e.tenant FROM entry AS e WHERE e.key > ? AND e.kind IN {_KINDS} ORDER BY e.key LIMIT ?", (last, _PORTION)
    ).fetchall():
        last = entries[-1][0]
        for tenant in sorted({entry[-1] for entry in entries}):
            new = {key: ((), groups_of(*about)) for key, *about, owner in entries if owner == tenant}
            _write(connection, tenant, [], new, 0)
    last = 0
    while edges := connection.execute(
        f"SELECT e.key, e.src, e.dst, e.kind, s.tenant FROM edge AS e CROSS JOIN node AS s ON s.key = e.src CROSS JOIN node AS d "
        f"ON d.key = e.dst WHERE e.key > ? AND e.kind IN ({_READS}, {_WRITES}) AND s.kind IN {_KINDS} AND d.kind IN {_KINDS} "
        "ORDER BY e.key LIMIT ?",
        (last, _PORTION),
    ).fetchall():
        last = edges[-1][0]
        for tenant in sorted({edge[-1] for edge in edges}):
            _write(connection, tenant, [edge[1:4] for edge in edges if edge[-1] == tenant], {}, 0)


def drop_rollups(connection: sqlite3.Connection, tenant: str) -> None:
    """Delete the map of a tenant. Its nodes must still be there."""
    connection.execute("DELETE FROM map_side WHERE hub IN (SELECT key FROM node WHERE tenant = ?)", (tenant,))
    connection.execute("DELETE FROM map_flow WHERE src IN (SELECT key FROM map_group WHERE tenant = ?)", (tenant,))
    connection.execute("DELETE FROM map_group WHERE tenant = ?", (tenant,))


def _write(connection: sqlite3.Connection, tenant: str, new: Sequence[tuple[int, int, int]], regrouped: Regrouped, before: int) -> None:
    sums = Sums()
    for old_groups, new_groups in regrouped.values():
        sums.regroup(old_groups, new_groups)
    ends = {end for src, dst, _ in new for end in (src, dst)}
    about = _about(connection, ends)
    groups = {key: groups_of(*each) for key, each in about.items()}
    for src, dst, kind in new:
        is_read = kind == _READS
        dataset, job = (src, dst) if is_read else (dst, src)
        sums.connect(dataset, job, is_read=is_read, groups=groups)
    moved = {key: change for key, change in regrouped.items() if change[0]}  # a new node has new edges only
    for src, dst, kind, is_source in _edges_of(connection, moved, before):
        node, hub = (src, dst) if is_source else (dst, src)
        old, now = moved[node]
        gone, come = [each for each in old if each not in now], [each for each in now if each not in old]
        sums.move(hub, gone, come, way=way_of(is_read=kind == _READS, is_dataset=is_source is (kind == _READS)))
    if not (sums.members or sums.sides):
        return
    hubs = sorted({int(hub) for hub, _, _ in sums.sides})
    about |= _about(connection, set(hubs) - about.keys())
    actors = {hub: hub_group(about[hub][0], about[hub][1]) for hub in hubs if hub in about}
    _write_sums(connection, tenant, sums, actors)


def _about(connection: sqlite3.Connection, keys: Iterable[int]) -> dict[int, tuple[str, str, str, str]]:
    rows = connection.execute(
        f"SELECT {_ABOUT} FROM json_each(?) AS asked CROSS JOIN entry AS e ON e.key = asked.value", (json.dumps(sorted(keys)),)
    )
    return {key: (kind, namespace, pipeline, labels) for key, kind, namespace, pipeline, labels in rows}


def _edges_of(connection: sqlite3.Connection, nodes: Iterable[int], before: int) -> list[tuple[int, int, int, bool]]:
    """Return the known flows at some datasets and jobs, and whether the node is the source."""
    asked = json.dumps(sorted(nodes))
    found: list[tuple[int, int, int, bool]] = []
    for near, far in (("src", "dst"), ("dst", "src")):
        rows = connection.execute(
            f"SELECT e.src, e.dst, e.kind FROM json_each(?) AS asked CROSS JOIN edge AS e ON e.{near} = asked.value "
            f"AND e.kind IN ({_READS}, {_WRITES}) CROSS JOIN node AS n ON n.key = e.{far} WHERE e.key <= ? AND n.kind IN {_KINDS}",
            (asked, before),
        )
        found += [(src, dst, kind, near == "src") for src, dst, kind in rows]
    return found


def _write_sums(connection: sqlite3.Connection, tenant: str, sums: Sums, actors: Mapping[int, str]) -> None:
    hubs = sorted(actors)
    known: dict[int, dict[tuple[Way, str], int]] = {hub: {} for hub in hubs}
    rows = connection.execute(
        "SELECT s.hub, s.way, g.id, s.count FROM json_each(?) AS asked CROSS JOIN map_side AS s ON s.hub = asked.value "
        "CROSS JOIN map_group AS g ON g.key = s.grp",
        (json.dumps(hubs),),
    )
    for hub, way, group, count in rows:
        known[hub][Way(way), group] = count
    changed = rewrite(sums, known, actors)
    keys = _keys(connection, tenant, changed.groups(sums))
    connection.executemany(
        "UPDATE map_group SET members = members + ? WHERE key = ?", [(count, keys[group]) for group, count in sums.members.items() if count]
    )
    connection.executemany(
        "INSERT OR REPLACE INTO map_side (hub, way, grp, count) VALUES (?, ?, ?, ?)",
        sorted(
            (hub, int(way), keys[group], count)
            for hub, sides in changed.sides.items()
            for (way, group), count in sides.items()
            if count > 0
        ),
    )
    connection.executemany(
        "DELETE FROM map_side WHERE hub = ? AND way = ? AND grp = ?",
        [(hub, int(way), keys[group]) for hub, sides in changed.sides.items() for (way, group), count in sides.items() if count <= 0],
    )
    flows = sorted((keys[src], keys[dst], keys[actor], weight) for (src, dst, actor), weight in changed.flows.items())
    connection.executemany(
        "INSERT INTO map_flow (src, dst, actor, weight) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
        flows,
    )
    connection.executemany(
        "DELETE FROM map_flow WHERE src = ? AND dst = ? AND actor = ? AND weight <= 0", [row[:3] for row in flows if row[3] < 0]
    )
    connection.executemany("UPDATE entry SET weight = weight + ? WHERE key = ?", [(weight, key) for key, weight in sums.weights.items()])


def _keys(connection: sqlite3.Connection, tenant: str, groups: Iterable[str]) -> dict[str, int]:
    """Return the keys of groups. Unknown groups get new ones."""
    asked = sorted(set(groups))
    connection.executemany(
        "INSERT INTO map_group (tenant, lens, id, members) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING",
        [(tenant, lens_of(group), group) for group in asked],
    )
    rows = connection.execute(
        "SELECT g.id, g.key FROM json_each(?) AS asked CROSS JOIN map_group AS g ON g.tenant = ? AND g.id = asked.value",
        (json.dumps(asked), tenant),
    )
    return dict(rows.fetchall())
