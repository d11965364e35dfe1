"""Returns the last contents of many nodes at many instants: the versions for a page of runs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.stores.paging import until_bound
from headwater.graph.stores.protocol import Moment
from headwater.graph.stores.sqlite.read import COLUMNS, FACTS, to_node
from headwater.graph.stores.sqlite.vocabulary import CODE
from headwater.graph.stores.windows import Windows

_CONTAINED = f"""
    SELECT coalesce(e.first, '') AS since, n.key FROM node AS p
    CROSS JOIN edge AS e INDEXED BY contained_by_first ON e.src = p.key AND e.kind = {CODE[EdgeKind.CONTAINS]}
    CROSS JOIN node AS n ON n.key = e.dst
    WHERE p.tenant = ? AND p.id = ? AND n.kind = ? AND coalesce(e.first, '') < ? ORDER BY since DESC, n.id
    """


def latest_at(
    connection: sqlite3.Connection, tenant: str, asked: Sequence[Moment], kind: NodeKind, first: int
) -> Mapping[Moment, Sequence[Node]]:
    """Return the nodes of `GraphStore.latest_at`. Only the needed rows of each parent are read, each once."""
    bounds: dict[str, set[str]] = {}
    for parent, until in asked:
        bounds.setdefault(parent, set()).add(until_bound(until))
    windows = {parent: _windows(connection, tenant, parent, kind, Windows(own, first)) for parent, own in bounds.items()}
    found = {moment: windows[moment[0]].below(until_bound(moment[1])) for moment in asked}
    nodes = _nodes(connection, {key for keys in found.values() for key in keys})
    return {moment: [nodes[key] for key in keys] for moment, keys in found.items()}


def _windows(connection: sqlite3.Connection, tenant: str, parent: str, kind: NodeKind, windows: Windows[int]) -> Windows[int]:
    while (bound := windows.bound) is not None:
        for since, key in connection.execute(_CONTAINED, (tenant, parent, kind, bound)):
            if not windows.take(since, key):
                break
        else:
            break  # there are no more
    return windows


def _nodes(connection: sqlite3.Connection, keys: set[int]) -> dict[int, Node]:
    rows = connection.execute(
        f"SELECT n.key, {COLUMNS} FROM json_each(?) AS asked CROSS JOIN node AS n ON n.key = asked.value {FACTS}",
        (json.dumps(sorted(keys)),),
    )
    return {key: to_node(tuple(row)) for key, *row in rows}
