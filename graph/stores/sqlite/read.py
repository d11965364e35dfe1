"""Reads a graph in SQLite: nodes by id, children, containers, counts, the fingerprint."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.model.properties import stored
from headwater.graph.stores.containment import climb
from headwater.graph.stores.fingerprint import Fingerprint
from headwater.graph.stores.paging import bounds_of, decode_cursor, encode_cursor, until_bound
from headwater.graph.stores.protocol import IdRange, Listing, Page, Portion
from headwater.graph.stores.sqlite.vocabulary import CODE, KIND

# The columns of a node, and the second table that they come from.
COLUMNS = "n.id, n.kind, n.name, f.properties"
FACTS = "LEFT JOIN fact AS f ON f.key = n.key"
# A condition: the node's id is in one of the ranges, which are bound as JSON.
INSIDE = (
    "EXISTS (SELECT 1 FROM json_each(?) AS range "
    "WHERE n.id >= json_extract(range.value, '$[0]') AND n.id < json_extract(range.value, '$[1]'))"
)
# Another container of the edge's destination than the source of `e`, whose id is in no range.
_BESIDE = (
    "SELECT 1 FROM edge AS other CROSS JOIN node AS n ON n.key = other.src WHERE other.dst = e.dst "
    f"AND other.kind = {CODE[EdgeKind.CONTAINS]} AND other.src <> e.src AND NOT {INSIDE}"
)
_PORTION = 2_000
_CONTAINS = CODE[EdgeKind.CONTAINS]
_KINDS = {kind.value: kind for kind in NodeKind}


def read_nodes(connection: sqlite3.Connection, tenant: str, ids: Sequence[str]) -> list[Node]:
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value {FACTS}",
        (json.dumps(ids), tenant),
    )
    return [to_node(row) for row in rows]


def children(connection: sqlite3.Connection, tenant: str, parent: str, kinds: Sequence[NodeKind], first: int, after: str | None) -> Page:
    """Return the direct contents of the parent. An edge is ignored if two other steps of containment lead to the same node."""
    wanted = list(kinds or NodeKind)
    contained = f"""
        FROM node AS p
        CROSS JOIN edge AS e ON e.src = p.key AND e.kind = {_CONTAINS}
        CROSS JOIN node AS n ON n.key = e.dst {FACTS}
        WHERE p.tenant = ? AND p.id = ? AND n.kind IN ({", ".join("?" * len(wanted))}) AND NOT EXISTS (
          SELECT 1 FROM edge AS second CROSS JOIN edge AS first ON first.dst = second.src AND first.kind = {_CONTAINS}
          WHERE second.dst = e.dst AND second.kind = {_CONTAINS} AND second.src <> e.src AND first.src = e.src)
        """
    bound = (tenant, parent, *wanted)
    total = connection.execute(f"SELECT count(*) {contained}", bound).fetchone()[0]
    rows = connection.execute(
        f"SELECT n.folded, {COLUMNS} {contained} AND (n.folded, n.id) > (?, ?) ORDER BY n.folded, n.id LIMIT ?",
        (*bound, *decode_cursor(after), first + 1),
    )
    return page_of(rows, first, total)


def listed(connection: sqlite3.Connection, tenant: str, prefix: str, first: int, skip: int) -> Listing:
    """Return a page by position, as `GraphStore.listed` does. Skipped nodes are passed over in the index of ids."""
    bound = (tenant, *bounds_of(prefix))
    within = "FROM node INDEXED BY sqlite_autoindex_node_1 WHERE tenant = ? AND id >= ? AND id < ?"
    (total,) = connection.execute(f"SELECT count(*) {within}", bound).fetchone()
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM (SELECT key {within} ORDER BY id LIMIT ? OFFSET ?) AS page CROSS JOIN node AS n ON n.key = page.key {FACTS}"
        " ORDER BY n.id",
        (*bound, first, skip),
    )
    return Listing([to_node(row) for row in rows], total)


def listed_after(connection: sqlite3.Connection, tenant: str, prefix: str, after: str | None, first: int) -> list[Node]:
    least, beyond = bounds_of(prefix)
    within = "FROM node INDEXED BY sqlite_autoindex_node_1 WHERE tenant = ? AND id > ? AND id < ?"
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM (SELECT key {within} ORDER BY id LIMIT ?) AS page CROSS JOIN node AS n ON n.key = page.key {FACTS}"
        " ORDER BY n.id",
        (tenant, max(least, after or ""), beyond, first),
    )
    return [to_node(row) for row in rows]


def latest(connection: sqlite3.Connection, tenant: str, parent: str, kind: NodeKind, until: str | None, first: int, skip: int) -> Listing:
    contained = f"""
        FROM node AS p CROSS JOIN edge AS e INDEXED BY contained_by_first ON e.src = p.key AND e.kind = {_CONTAINS}
        CROSS JOIN node AS n ON n.key = e.dst WHERE p.tenant = ? AND p.id = ? AND n.kind = ? AND coalesce(e.first, '') < ?
        """
    bound = (tenant, parent, kind, until_bound(until))
    (total,) = connection.execute(f"SELECT count(*) {contained}", bound).fetchone()
    page = f"SELECT n.key, coalesce(e.first, '') AS since {contained} ORDER BY since DESC, n.id LIMIT ? OFFSET ?"
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM ({page}) AS page CROSS JOIN node AS n ON n.key = page.key {FACTS} ORDER BY page.since DESC, n.id",
        (*bound, first, skip),
    )
    return Listing([to_node(row) for row in rows], total)


def shared(connection: sqlite3.Connection, tenant: str, parent: str) -> list[str]:
    rows = connection.execute(
        f"""
        SELECT n.id FROM node AS p CROSS JOIN edge AS e ON e.src = p.key AND e.kind = {_CONTAINS} CROSS JOIN node AS n ON n.key = e.dst
        WHERE p.tenant = ? AND p.id = ?
        AND EXISTS (SELECT 1 FROM edge AS other WHERE other.dst = e.dst AND other.kind = {_CONTAINS} AND other.src <> e.src)
        """,
        (tenant, parent),
    )
    return [identifier for (identifier,) in rows]


def ancestors(connection: sqlite3.Connection, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
    known = read_nodes(connection, tenant, ids)
    nodes: dict[str, Node] = {node.id: node for node in known}
    parents: dict[str, list[str]] = {}
    frontier = list(nodes)
    while frontier:
        steps = connection.execute(
            f"""
            SELECT asked.value, {COLUMNS} FROM json_each(?) AS asked CROSS JOIN node AS c ON c.tenant = ? AND c.id = asked.value
            CROSS JOIN edge AS e ON e.dst = c.key AND e.kind = {_CONTAINS} CROSS JOIN node AS n ON n.key = e.src {FACTS}
            """,
            (json.dumps(frontier), tenant),
        )
        frontier = []
        for child, *row in steps:
            node = to_node(tuple(row))
            parents.setdefault(child, []).append(node.id)
            if node.id not in nodes:
                nodes[node.id] = node
                frontier.append(node.id)
    return {node.id: climb(node.id, parents, nodes) for node in known}


def counts(connection: sqlite3.Connection, tenant: str, ranges: Sequence[IdRange] | None = None) -> dict[str, int]:
    """Return the number of nodes of each kind. See `GraphStore.counts` for `ranges`."""
    if ranges is not None:
        inside = """
            FROM json_each(?) AS range CROSS JOIN node AS n INDEXED BY sqlite_autoindex_node_1
            ON n.tenant = ? AND n.id >= json_extract(range.value, '$[0]') AND n.id < json_extract(range.value, '$[1]')
            """
        bound = (json.dumps(ranges), tenant)
        found = dict(connection.execute(f"SELECT n.kind, count(*) {inside} GROUP BY n.kind", bound))
        (runs,) = connection.execute(
            f"SELECT count(DISTINCT e.dst) {inside} CROSS JOIN edge AS e ON e.src = n.key AND e.kind = {_CONTAINS} "
            f"CROSS JOIN node AS r ON r.key = e.dst AND r.kind = ? WHERE NOT EXISTS ({_BESIDE})",
            (*bound, NodeKind.RUN, bound[0]),
        ).fetchone()
        return found | ({NodeKind.RUN.value: runs} if runs else {})
    return dict(connection.execute("SELECT kind, count(*) FROM node WHERE tenant = ? GROUP BY kind", (tenant,)))


def fingerprint(connection: sqlite3.Connection, tenant: str) -> str:
    result = Fingerprint()
    result.nodes(
        connection.execute(f"SELECT n.id, n.name, coalesce(f.properties, '{{}}') FROM node AS n {FACTS} WHERE n.tenant = ?", (tenant,))
    )
    edges = connection.execute(
        "SELECT s.id, d.id, e.kind, coalesce(e.properties, '{}'), coalesce(e.first, ''), coalesce(e.last, '') "
        "FROM node AS d CROSS JOIN edge AS e ON e.dst = d.key "
        "CROSS JOIN node AS s ON s.key = e.src WHERE d.tenant = ?",
        (tenant,),
    )
    result.edges((src, dst, KIND[kind], *rest) for src, dst, kind, *rest in edges)
    return result.hexdigest()


def dump(connection: sqlite3.Connection, *, tenant: str, after: str, until: str) -> tuple[Portion, str | None]:
    """Return the nodes whose ids are between `after` and `until`, the edges into them, and the last of these ids (None: no more).

    The index of ids gives a portion at once. By keys, SQLite would sort all nodes of the tenant for each portion.
    """
    nodes = connection.execute(
        f"SELECT n.id, n.name, coalesce(f.properties, '{{}}'), coalesce(f.stamps, '[]') FROM node AS n {FACTS} "
        "WHERE n.tenant = ? AND n.id > ? AND n.id < ? ORDER BY n.id LIMIT ?",
        (tenant, after, until, _PORTION),
    ).fetchall()
    last = nodes[-1][0] if nodes else after
    edges = connection.execute(
        "SELECT s.id, d.id, e.kind, coalesce(e.properties, '{}'), coalesce(e.stamps, '[]'), coalesce(e.first, ''), coalesce(e.last, '') "
        "FROM node AS d CROSS JOIN edge AS e ON e.dst = d.key CROSS JOIN node AS s ON s.key = e.src "
        "WHERE d.tenant = ? AND d.id > ? AND d.id <= ?",
        (tenant, after, last),
    )
    portion = Portion(nodes, [(src, dst, KIND[kind], *rest) for src, dst, kind, *rest in edges])
    return portion, last if len(nodes) == _PORTION else None


def offset(connection: sqlite3.Connection, tenant: str) -> int:
    row = connection.execute("SELECT offset FROM progress WHERE tenant = ?", (tenant,)).fetchone()
    return row[0] if row else 0


def to_node(row: tuple[Any, ...]) -> Node:
    """Return a node from (id, kind, name, properties). The properties are None if nothing was stated."""
    identifier, kind, name, properties = row
    return Node(identifier, _KINDS[kind], name, stored(properties))


def page_of(rows: Iterable[tuple[str, ...]], first: int, total: int) -> Page:
    """Return a page of rows that begin with the folded name. One row more than requested means that there is a next page."""
    found = list(rows)
    shown = found[:first]
    cursor = encode_cursor(shown[-1][0], shown[-1][1]) if len(found) > first and shown else None
    return Page([to_node(row[1:]) for row in shown], cursor, total)
