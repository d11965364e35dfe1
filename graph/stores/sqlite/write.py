"""Applies batches to SQLite: read the affected rows, merge, write back, all in the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter

from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name, kind_of
from headwater.graph.model.bulk import made
from headwater.graph.model.changes import Changes
from headwater.graph.model.merge import NAME, NO_FACTS, Facts, merged
from headwater.graph.model.properties import NOTHING
from headwater.graph.stores.paging import fold
from headwater.graph.stores.sqlite.changes import log_change
from headwater.graph.stores.sqlite.entries import drop_entries, write_entries
from headwater.graph.stores.sqlite.rollups import drop_rollups, last_edge, write_rollups
from headwater.graph.stores.sqlite.spellings import drop_spellings, write_spellings
from headwater.graph.stores.sqlite.vocabulary import CODE

_KNOWN = "SELECT key, properties, stamps FROM edge WHERE dst = ? AND kind = ? AND src = ?"
_NEVER: tuple[str | None, str | None] = (None, None)
_ENDS = {
    EdgeKind.READS: (f"{NodeKind.DATASET}:", f"{NodeKind.JOB}:"), EdgeKind.WRITES: (f"{NodeKind.JOB}:", f"{NodeKind.DATASET}:"),
}  # fmt: skip
_NOTHING: tuple[str | None, str | None] = (None, None)


def write_changes(connection: sqlite3.Connection, tenant: str, changes: Changes, offset: int | None) -> None:
    """Merge `changes` into the tenant's graph and store the offset."""
    before = last_edge(connection)
    keys, fresh, changed = _write_nodes(connection, tenant, changes.nodes)
    _write_edges(connection, changes, keys, {node.id for node in fresh.values()})
    if touched := {*fresh, *changed, *(keys[dst] for _, dst, _ in changes.edges)}:
        log_change(connection, touched)
    regrouped = write_entries(connection, tenant, fresh, changed)
    write_rollups(connection, tenant, before, _flows(changes, keys), regrouped)
    if offset is not None:
        connection.execute(
            "INSERT INTO progress (tenant, offset) VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET offset = max(offset, excluded.offset)",
            (tenant, offset),
        )


def _flows(changes: Changes, keys: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    """Yield the flows between datasets and jobs. Versions and runs have edges of the same kinds."""
    for src, dst, kind in changes.edges:
        ends = _ENDS.get(kind)
        if ends is not None and src.startswith(ends[0]) and dst.startswith(ends[1]):
            yield keys[src], keys[dst], CODE[kind]


def drop_tenant(connection: sqlite3.Connection, tenant: str) -> None:
    connection.execute("PRAGMA secure_delete = ON")  # what was erased from the log must not stay in freed pages
    connection.execute("DELETE FROM edge WHERE dst IN (SELECT key FROM node WHERE tenant = ?)", (tenant,))
    connection.execute("DELETE FROM fact WHERE key IN (SELECT key FROM node WHERE tenant = ?)", (tenant,))
    drop_rollups(connection, tenant)
    drop_spellings(connection, tenant)
    drop_entries(connection, tenant)
    for table in ("node", "progress"):
        connection.execute(f"DELETE FROM {table} WHERE tenant = ?", (tenant,))
    log_change(connection, None)


def _write_nodes(
    connection: sqlite3.Connection, tenant: str, nodes: Mapping[str, Facts]
) -> tuple[dict[str, int], dict[int, Node], list[int]]:
    """Write nodes. Return the key of every node, the new nodes by key, and the keys of nodes whose content changed."""
    keys: dict[str, int] = {}
    names: list[tuple[str, str, int]] = []
    facts: list[tuple[int, str, str]] = []
    changed: list[int] = []
    known = connection.execute(
        "SELECT n.key, n.id, n.name, coalesce(f.properties, '{}'), coalesce(f.stamps, '[]') FROM json_each(?) AS asked "
        "CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value LEFT JOIN fact AS f ON f.key = n.key",
        (json.dumps(list(nodes)), tenant),
    )
    for key, identifier, name, properties, stamps in known:
        keys[identifier] = key
        if nodes[identifier] and (after := merged(name, properties, stamps, nodes[identifier])):
            facts.append((key, after[1], after[2]))
            if after[:2] != (name, properties):  # no reader uses stamps alone
                changed.append(key)
            if after[0] != name:
                names.append((after[0], fold(after[0]), key))
    connection.executemany("UPDATE node SET name = ?, folded = ? WHERE key = ?", names)
    fresh = _number(connection, [identifier for identifier in nodes if identifier not in keys])
    added = _new_nodes(fresh, nodes)
    rows = [(key, tenant, node.id, node.kind.value, node.name, fold(node.name)) for key, node in added.items()]
    facts += [(key, *stated.dump()) for identifier, key in fresh.items() if (stated := nodes[identifier])]
    connection.executemany("INSERT INTO node (key, tenant, id, kind, name, folded) VALUES (?, ?, ?, ?, ?, ?)", rows)
    write_spellings(connection, tenant, {row[-1] for row in rows}.union(folded for _, folded, _ in names))
    connection.executemany("INSERT OR REPLACE INTO fact (key, properties, stamps) VALUES (?, ?, ?)", facts)
    return keys | fresh, added, changed


def _new_nodes(fresh: Mapping[str, int], nodes: Mapping[str, Facts]) -> dict[int, Node]:
    stated = [nodes[identifier] for identifier in fresh]
    names = [facts.values.get(NAME) or bare_name(identifier) for identifier, facts in zip(fresh, stated, strict=True)]
    properties = [facts.visible() if facts else NOTHING for facts in stated]
    columns = (fresh, map(kind_of, fresh), names, properties, repeat(NOTHING))
    return dict(zip(fresh.values(), made(Node, len(fresh), columns), strict=True))


def _number(connection: sqlite3.Connection, identifiers: Sequence[str]) -> dict[str, int]:
    """Return keys for new nodes: the numbers after the greatest key. The caller's transaction holds the write lock."""
    (greatest,) = connection.execute("SELECT coalesce(max(key), 0) FROM node").fetchone()
    return {identifier: key for key, identifier in enumerate(identifiers, greatest + 1)}


def _write_edges(connection: sqlite3.Connection, changes: Changes, keys: Mapping[str, int], fresh: Collection[str]) -> None:
    """Write edges. Most edges state only themselves and a time, and need no reading. An edge with a new end needs none either.

    A new edge is written once, with all its facts.
    """
    rows: list[tuple[int | str | None, ...]] = []
    updates: list[tuple[str, str, int]] = []
    seen = changes.seen
    for edge, stated in changes.edges.items():  # inlined: there are thousands
        src, dst, kind = edge
        place = (keys[dst], CODE[kind], keys[src])
        first, last = seen.get(edge, _NEVER)
        about = _NOTHING
        if stated is not NO_FACTS and stated:
            known = None if src in fresh or dst in fresh else connection.execute(_KNOWN, place).fetchone()
            if known is None:
                about = stated.dump()
            elif after := merged("", known[1] or "{}", known[2] or "[]", stated):
                updates.append((after[1], after[2], known[0]))
        rows.append((*place, first, last, *about))
    rows.sort(key=itemgetter(0, 1, 2))  # the order of the index, which is cheapest
    connection.executemany(
        """
        INSERT INTO edge (dst, kind, src, first, last, properties, stamps) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET first = min(coalesce(first, excluded.first), excluded.first),
          last = max(coalesce(last, excluded.last), excluded.last)
        WHERE excluded.first < coalesce(first, '~') OR excluded.last > coalesce(last, '')
        """,
        rows,
    )
    connection.executemany("UPDATE edge SET properties = ?, stamps = ? WHERE key = ?", updates)
