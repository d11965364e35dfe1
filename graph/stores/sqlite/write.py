"""Applying batches to the SQLite file: read the touched rows, merge, write back, all in the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping

from headwater.graph.model import bare_name, kind_of
from headwater.graph.model.merge import NAME, Changes, EdgeKey, Facts, merged
from headwater.graph.stores.paging import fold


def write_changes(connection: sqlite3.Connection, tenant: str, changes: Changes, offset: int | None) -> None:
    """Merge `changes` into the tenant's graph and remember the offset."""
    keys = _write_nodes(connection, tenant, changes.nodes)
    _write_edges(connection, tenant, changes, keys)
    if offset is not None:
        connection.execute(
            "INSERT INTO progress (tenant, offset) VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET offset = max(offset, excluded.offset)",
            (tenant, offset),
        )


def drop_tenant(connection: sqlite3.Connection, tenant: str) -> None:
    """Delete all that the tenant has."""
    for table in ("edge", "node", "progress"):
        connection.execute(f"DELETE FROM {table} WHERE tenant = ?", (tenant,))


def _write_nodes(connection: sqlite3.Connection, tenant: str, nodes: Mapping[str, Facts]) -> dict[str, int]:
    """Returns the key of every node named."""
    keys: dict[str, int] = {}
    updates: list[tuple[str, str, str, str, int]] = []
    known = connection.execute(
        "SELECT n.key, n.id, n.name, n.properties, n.stamps FROM json_each(?) AS asked "
        "CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value",
        (json.dumps(list(nodes)), tenant),
    )
    for key, identifier, name, properties, stamps in known:
        keys[identifier] = key
        if nodes[identifier] and (after := merged(name, properties, stamps, nodes[identifier])):
            updates.append((after[0], fold(after[0]), after[1], after[2], key))
    connection.executemany("UPDATE node SET name = ?, folded = ?, properties = ?, stamps = ? WHERE key = ?", updates)
    for identifier, facts in nodes.items():
        if identifier not in keys:
            name = facts.values.get(NAME) or bare_name(identifier)
            cursor = connection.execute(
                "INSERT INTO node (tenant, id, kind, name, folded, properties, stamps) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (tenant, identifier, kind_of(identifier), name, fold(name), *facts.dump()),
            )
            keys[identifier] = cursor.lastrowid or 0  # never None behind an INSERT
    return keys


def _write_edges(connection: sqlite3.Connection, tenant: str, changes: Changes, keys: Mapping[str, int]) -> None:
    # Most edges state nothing but themselves and when: they need no reading.
    connection.executemany(
        """
        INSERT INTO edge (tenant, dst, kind, src, first, last) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET first = min(coalesce(first, excluded.first), excluded.first),
          last = max(coalesce(last, excluded.last), excluded.last)
        WHERE excluded.first < coalesce(first, '~') OR excluded.last > coalesce(last, '')
        """,
        [(tenant, keys[key[1]], key[2], keys[key[0]], *changes.seen.get(key, (None, None))) for key in changes.edges],
    )
    connection.executemany(
        "UPDATE edge SET properties = ?, stamps = ? WHERE tenant = ? AND dst = ? AND kind = ? AND src = ?",
        _merged_edges(connection, tenant, changes.edges, keys),
    )


def _merged_edges(
    connection: sqlite3.Connection, tenant: str, edges: Mapping[EdgeKey, Facts], keys: Mapping[str, int]
) -> Iterator[tuple[str, str, str, int, str, int]]:
    for (src, dst, kind), stated in edges.items():
        if not stated:
            continue
        place = (tenant, keys[dst], kind, keys[src])
        row = connection.execute(
            "SELECT properties, stamps FROM edge WHERE tenant = ? AND dst = ? AND kind = ? AND src = ?", place
        ).fetchone()
        if after := merged("", row[0], row[1], stated):
            yield after[1], after[2], *place
