"""Reads the SQLite file for an index: the whole graph once, then the changes that its log names. `ref` is a node's key."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from headwater.graph.model import EdgeKind
from headwater.graph.stores.change_log import Touched, pack
from headwater.graph.stores.indexable import CODES, INDEXED, LOGGED, LOGGED_BYTES, NOT_INDEXED, Census, News, Properties, Rows
from headwater.graph.stores.sqlite.vocabulary import CODE, KIND
from headwater.graph.stores.sqlite.walk import keys_of

_PORTION = 50_000
_INDEXED = ", ".join(f"'{kind}'" for kind in INDEXED)
_NODES = (
    f"n.key, n.id, n.name, CASE WHEN n.kind IN ({_INDEXED}) "
    f"THEN coalesce((SELECT f.properties FROM fact AS f WHERE f.key = n.key), '{{}}') ELSE '{NOT_INDEXED}' END"
)
_EDGES = "e.key, e.src, e.dst, e.kind, coalesce(e.first, ''), coalesce(e.last, ''), e.properties IS NOT NULL"
_CODES = {code: CODES[kind] for code, kind in KIND.items()}


def log_change(connection: sqlite3.Connection, touched: Collection[int] | None) -> None:
    """Log the keys of the nodes that this transaction changed. None stands for too many nodes, or all."""
    packed = None if touched is None else pack(touched)
    before = connection.execute("SELECT revision, total FROM change ORDER BY revision DESC LIMIT 1").fetchone() or (0, 0)
    revision, total = before[0] + 1, before[1] + len(packed or b"")
    connection.execute("INSERT INTO change (revision, nodes, total) VALUES (?, ?, ?)", (revision, packed, total))
    # Search from the oldest entry on, so that only the entries to delete and one more are read.
    (oldest,) = connection.execute(
        "SELECT revision FROM change WHERE total - coalesce(length(nodes), 0) >= ? - ? OR revision = ? ORDER BY revision LIMIT 1",
        (total, LOGGED_BYTES, revision),
    ).fetchone()
    connection.execute("DELETE FROM change WHERE revision < ?", (max(oldest, revision - LOGGED + 1),))


def census(connection: sqlite3.Connection) -> Census:
    nodes, edges = (connection.execute(f"SELECT coalesce(max(key), 0) FROM {table}").fetchone()[0] for table in ("node", "edge"))
    return Census(_revision(connection), nodes, edges)


def scan_nodes(connection: sqlite3.Connection, *, after: int) -> tuple[Rows, int | None]:
    """Return a portion of the nodes, and its last key (None: no more)."""
    found = connection.execute(f"SELECT {_NODES} FROM node AS n WHERE n.key > ? ORDER BY n.key LIMIT ?", (after, _PORTION)).fetchall()
    return _rows(found, []), found[-1][0] if len(found) == _PORTION else None


def scan_edges(connection: sqlite3.Connection, *, after: int) -> tuple[Rows, int | None]:
    """Return a portion of the edges, and its last key (None: no more)."""
    found = connection.execute(f"SELECT {_EDGES} FROM edge AS e WHERE e.key > ? ORDER BY e.key LIMIT ?", (after, _PORTION)).fetchall()
    return _rows([], found), found[-1][0] if len(found) == _PORTION else None


def news(connection: sqlite3.Connection, tenant: str, focus: Sequence[str], after: int) -> News:
    start = keys_of(connection, tenant, focus).tolist()
    revision = _revision(connection)
    if revision == after:
        return News(revision, start, Rows())
    log = Touched(after)
    logged = connection.execute("SELECT revision, nodes FROM change WHERE revision > ? ORDER BY revision", (after,))
    if not all(log.take(*row) for row in logged) or log.revision != revision:
        return News(revision, start, None)
    touched = json.dumps(sorted(log.nodes[""]))
    nodes = connection.execute(f"SELECT {_NODES} FROM json_each(?) AS t CROSS JOIN node AS n ON n.key = t.value", (touched,))
    edges = connection.execute(f"SELECT {_EDGES} FROM json_each(?) AS t CROSS JOIN edge AS e ON e.dst = t.value", (touched,))
    return News(revision, start, _rows(nodes.fetchall(), edges.fetchall()))


def properties(connection: sqlite3.Connection, nodes: Sequence[int], edges: Sequence[tuple[int, int, EdgeKind]]) -> Properties:
    found = dict(
        connection.execute(
            "SELECT f.key, f.properties FROM json_each(?) AS asked CROSS JOIN fact AS f ON f.key = asked.value",
            (json.dumps(sorted(nodes)),),
        ).fetchall()
    )
    steps: list[str | None] = []
    for src, dst, kind in edges:
        row = connection.execute("SELECT properties FROM edge WHERE dst = ? AND kind = ? AND src = ?", (dst, CODE[kind], src)).fetchone()
        steps.append(row[0] if row else None)
    return Properties(_revision(connection), [found.get(key) for key in nodes], steps)


def _revision(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(revision), 0) FROM change").fetchone()[0])


def _rows(nodes: Sequence[tuple[Any, ...]], edges: Iterable[tuple[Any, ...]]) -> Rows:
    keys, ids, names, texts = zip(*nodes, strict=True) if nodes else ((), (), (), ())
    _, src, dst, kind, first, last, with_properties = zip(*edges, strict=True) if edges else ((),) * 7
    return Rows(list(keys), list(ids), list(names), list(texts), src, dst, [_CODES[code] for code in kind], first, last, with_properties)
