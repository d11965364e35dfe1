"""Finding nodes by a part of their name.

Names are looked at kind by kind, in the order of the index `node_by_name`, so that no page sorts what it does not show. Columns are many
and spelt alike: a lake of millions has some thousand spellings. Each spelling is looked at once, by leaping from one to the next.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from headwater.graph.model import NodeKind
from headwater.graph.stores.paging import decode_cursor, fold
from headwater.graph.stores.protocol import Page
from headwater.graph.stores.sqlite.read import COLUMNS, FACTS, page_of

_OF_KIND = "n.tenant = ? AND n.kind = ?"
_HOLDS = f"WHERE {_OF_KIND} AND (? = '' OR instr(n.folded, ?) > 0)"
_SPELLINGS = """
    WITH RECURSIVE spelling (name) AS (
      SELECT min(folded) FROM node WHERE tenant = ?1 AND kind = ?2
      UNION ALL
      SELECT (SELECT min(folded) FROM node WHERE tenant = ?1 AND kind = ?2 AND folded > spelling.name) FROM spelling WHERE name IS NOT NULL)
    SELECT name FROM spelling WHERE instr(name, ?3) > 0
    """
_AFTER = "AND (n.folded, n.id) > (?, ?) ORDER BY n.folded, n.id LIMIT ?"

_Row = tuple[str, ...]


def search(connection: sqlite3.Connection, tenant: str, text: str, kinds: Sequence[NodeKind], first: int, after: str | None) -> Page:
    """See `GraphStore.search`."""
    position = decode_cursor(after)
    found: list[Iterable[_Row]] = []
    total = 0
    for kind in sorted(set(kinds or NodeKind)):
        spelt = _spelt_alike if kind is NodeKind.COLUMN and text else _spelt_apart
        number, rows = spelt(connection, tenant, kind, fold(text), position, first + 1, counted=after is None)
        total += number
        found.append(rows)
    return page_of(islice(heapq.merge(*found), first + 1), first, total)


def _spelt_apart(
    connection: sqlite3.Connection, tenant: str, kind: NodeKind, folded: str, position: tuple[str, str], limit: int, *, counted: bool
) -> tuple[int, Iterable[_Row]]:
    """How many nodes of a kind there are, and the first after a position, when nearly each has a name of its own."""
    bound = (tenant, kind, folded, folded)
    rows = connection.execute(f"SELECT n.folded, {COLUMNS} FROM node AS n {FACTS} {_HOLDS} {_AFTER}", (*bound, *position, limit)).fetchall()
    if counted and len(rows) < limit:
        return len(rows), rows  # these are all
    return connection.execute(f"SELECT count(*) FROM node AS n {_HOLDS}", bound).fetchone()[0], rows


def _spelt_alike(
    connection: sqlite3.Connection, tenant: str, kind: NodeKind, folded: str, position: tuple[str, str], limit: int, *, counted: bool
) -> tuple[int, Iterable[_Row]]:
    """The same, where many bear one name."""
    del counted  # by the index this costs little
    spellings = [name for (name,) in connection.execute(_SPELLINGS, (tenant, kind, folded))]
    (total,) = connection.execute(
        f"SELECT count(*) FROM json_each(?) AS asked CROSS JOIN node AS n ON {_OF_KIND} AND n.folded = asked.value",
        (json.dumps(spellings), tenant, kind),
    ).fetchone()
    return total, list(islice(_named(connection, tenant, kind, spellings, position), limit))


def _named(
    connection: sqlite3.Connection, tenant: str, kind: NodeKind, spellings: Iterable[str], position: tuple[str, str]
) -> Iterator[_Row]:
    """The nodes of some names, ascending, after a position."""
    for name in spellings:
        if name >= position[0]:
            yield from connection.execute(
                f"SELECT n.folded, {COLUMNS} FROM node AS n {FACTS} WHERE {_OF_KIND} AND n.folded = ? AND n.id > ? ORDER BY n.id",
                (tenant, kind, name, position[1] if name == position[0] else ""),
            )
