"""Reading the SQLite file: nodes by id and by name, children, containers, counts, the fingerprint."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice

from headwater.graph.model import Node, NodeKind
from headwater.graph.stores.containment import climb
from headwater.graph.stores.fingerprint import Fingerprint
from headwater.graph.stores.paging import decode_cursor, encode_cursor, fold
from headwater.graph.stores.protocol import Page

_COLUMNS = "n.id, n.kind, n.name, n.properties"
_KINDS = {kind.value: kind for kind in NodeKind}


def read_nodes(connection: sqlite3.Connection, tenant: str, ids: Sequence[str]) -> list[Node]:
    """The nodes that exist, in the order asked for."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value",
        (json.dumps(ids), tenant),
    )
    return [to_node(row) for row in rows]


def search(connection: sqlite3.Connection, tenant: str, text: str, kinds: Sequence[NodeKind], first: int, after: str | None) -> Page:
    """Kind by kind, each in the order of its index, and merged: so no page sorts what it does not show."""
    position = decode_cursor(after)
    folded = fold(text)
    wanted = sorted(set(kinds or NodeKind))
    matching = "FROM node AS n WHERE n.tenant = ? AND n.kind = ? AND (? = '' OR instr(n.folded, ?) > 0)"
    total = 0
    runs: list[Iterable[tuple[str, ...]]] = []
    for kind in wanted:
        bound = (tenant, kind, folded, folded)
        total += connection.execute(f"SELECT count(*) {matching}", bound).fetchone()[0]
        runs.append(
            connection.execute(
                f"SELECT n.folded, {_COLUMNS} {matching} AND (n.folded, n.id) > (?, ?) ORDER BY n.folded, n.id LIMIT ?",
                (*bound, *position, first + 1),
            )
        )
    return _page(islice(heapq.merge(*runs), first + 1), first, total)


def children(connection: sqlite3.Connection, tenant: str, parent: str, kinds: Sequence[NodeKind], first: int, after: str | None) -> Page:
    """What the parent contains directly: an edge that two steps of containment replace does not count."""
    wanted = list(kinds or NodeKind)
    contained = f"""
        FROM node AS p
        CROSS JOIN edge AS e ON e.tenant = p.tenant AND e.src = p.key AND e.kind = 'contains'
        CROSS JOIN node AS n ON n.key = e.dst
        WHERE p.tenant = ? AND p.id = ? AND n.kind IN ({", ".join("?" * len(wanted))}) AND NOT EXISTS (
          SELECT 1 FROM edge AS second
          CROSS JOIN edge AS first ON first.tenant = second.tenant AND first.dst = second.src AND first.kind = 'contains'
          WHERE second.tenant = e.tenant AND second.dst = e.dst AND second.kind = 'contains' AND second.src <> e.src AND first.src = e.src)
        """
    bound = (tenant, parent, *wanted)
    total = connection.execute(f"SELECT count(*) {contained}", bound).fetchone()[0]
    rows = connection.execute(
        f"SELECT n.folded, {_COLUMNS} {contained} AND (n.folded, n.id) > (?, ?) ORDER BY n.folded, n.id LIMIT ?",
        (*bound, *decode_cursor(after), first + 1),
    )
    return _page(rows, first, total)


def ancestors(connection: sqlite3.Connection, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
    """The containers of each id that exists, innermost first."""
    known = read_nodes(connection, tenant, ids)
    nodes: dict[str, Node] = {node.id: node for node in known}
    parents: dict[str, list[str]] = {}
    frontier = list(nodes)
    while frontier:
        steps = connection.execute(
            f"""
            SELECT asked.value, {_COLUMNS} FROM json_each(?) AS asked CROSS JOIN node AS c ON c.tenant = ? AND c.id = asked.value
            CROSS JOIN edge AS e ON e.tenant = c.tenant AND e.dst = c.key AND e.kind = 'contains' CROSS JOIN node AS n ON n.key = e.src
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


def counts(connection: sqlite3.Connection, tenant: str) -> dict[str, int]:
    """Number of nodes of each kind that there is."""
    return dict(connection.execute("SELECT kind, count(*) FROM node WHERE tenant = ? GROUP BY kind", (tenant,)))


def fingerprint(connection: sqlite3.Connection, tenant: str) -> str:
    """The hash of all that the tenant has."""
    result = Fingerprint()
    result.nodes(connection.execute("SELECT id, name, properties FROM node WHERE tenant = ?", (tenant,)))
    result.edges(
        connection.execute(
            "SELECT s.id, d.id, e.kind, e.properties, coalesce(e.first, ''), coalesce(e.last, '') FROM edge AS e "
            "JOIN node AS s ON s.key = e.src JOIN node AS d ON d.key = e.dst WHERE e.tenant = ?",
            (tenant,),
        )
    )
    return result.hexdigest()


def offset(connection: sqlite3.Connection, tenant: str) -> int:
    """Offset of the last log entry applied."""
    row = connection.execute("SELECT offset FROM progress WHERE tenant = ?", (tenant,)).fetchone()
    return row[0] if row else 0


def to_node(row: tuple[str, ...]) -> Node:
    """A node from (id, kind, name, properties)."""
    identifier, kind, name, properties = row
    return Node(identifier, _KINDS[kind], name, json.loads(properties) if properties != "{}" else {})


def _page(rows: Iterable[tuple[str, ...]], first: int, total: int) -> Page:
    found = list(rows)
    shown = found[:first]
    cursor = encode_cursor(shown[-1][0], shown[-1][1]) if len(found) > first and shown else None
    return Page([to_node(row[1:]) for row in shown], cursor, total)
