"""Search for nodes by a part of their name.

The index of spellings finds the names that contain the part. The index does not help for a part of one or two letters, or one that
thousands of names contain. Then names are read kind by kind, in the order of the index `node_by_name`, so that no page sorts rows that it
does not show. Many columns share a spelling, so each spelling is read once, by skipping from one to the next.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from headwater.graph.model import NodeKind
from headwater.graph.stores.paging import decode_cursor, fold
from headwater.graph.stores.protocol import IdRange, Page
from headwater.graph.stores.sqlite.read import COLUMNS, FACTS, INSIDE, page_of
from headwater.graph.stores.sqlite.spellings import spelt_with

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

# Finding the nodes of one spelling takes a microsecond or two for each kind. For more spellings than this, reading each name is faster.
_LOOKS = 20_000

_Row = tuple[str, ...]


def search(
    connection: sqlite3.Connection, tenant: str, text: str, kinds: Sequence[NodeKind], first: int, after: str | None,
    ranges: Sequence[IdRange] | None = None,
) -> Page:  # fmt: skip
    position = decode_cursor(after)
    part = fold(text)
    wanted = sorted(set(kinds or NodeKind))
    spellings = spelt_with(connection, tenant, part, _LOOKS // len(wanted))
    inside = _Inside.of(ranges)
    found: list[Iterable[_Row]] = []
    total = 0
    for kind in wanted:
        if spellings is not None:
            number, rows = _of_spellings(connection, tenant, kind, spellings, position, first + 1, inside)
        elif kind is NodeKind.COLUMN and part:
            looked_at = [name for (name,) in connection.execute(_SPELLINGS, (tenant, kind, part))]
            number, rows = _of_spellings(connection, tenant, kind, looked_at, position, first + 1, inside)
        else:
            number, rows = _spelt_apart(connection, tenant, kind, part, position, first + 1, inside, counted=after is None)
        total += number
        found.append(rows)
    return page_of(islice(heapq.merge(*found), first + 1), first, total)


@dataclass(frozen=True, slots=True)
class _Inside:
    """An SQL condition that ids are in ranges, and its parameters. Without ranges, the condition is an empty text."""

    clause: str
    bound: tuple[str, ...]

    @classmethod
    def of(cls, ranges: Sequence[IdRange] | None) -> _Inside:
        return cls("", ()) if ranges is None else cls(f"AND {INSIDE}", (json.dumps(ranges),))


def _spelt_apart(
    connection: sqlite3.Connection, tenant: str, kind: NodeKind, folded: str, position: tuple[str, str], limit: int, inside: _Inside, *,
    counted: bool,
) -> tuple[int, Iterable[_Row]]:  # fmt: skip
    """Return the number of nodes of a kind, and the first nodes after a position, if most nodes have a name of their own."""
    bound = (tenant, kind, folded, folded, *inside.bound)
    holds = f"{_HOLDS} {inside.clause}"
    rows = connection.execute(f"SELECT n.folded, {COLUMNS} FROM node AS n {FACTS} {holds} {_AFTER}", (*bound, *position, limit)).fetchall()
    if counted and len(rows) < limit:
        return len(rows), rows  # these are all
    return connection.execute(f"SELECT count(*) FROM node AS n {holds}", bound).fetchone()[0], rows


def _of_spellings(
    connection: sqlite3.Connection, tenant: str, kind: NodeKind, spellings: Sequence[str], position: tuple[str, str], limit: int,
    inside: _Inside,
) -> tuple[int, Iterable[_Row]]:  # fmt: skip
    """Return the number of nodes with one of several names, and the first of them after a position."""
    (total,) = connection.execute(
        f"SELECT count(*) FROM json_each(?) AS asked CROSS JOIN node AS n ON {_OF_KIND} AND n.folded = asked.value {inside.clause}",
        (json.dumps(spellings), tenant, kind, *inside.bound),
    ).fetchone()
    return total, list(islice(_named(connection, tenant, kind, spellings, position, inside), limit)) if total else []


def _named(
    connection: sqlite3.Connection, tenant: str, kind: NodeKind, spellings: Iterable[str], position: tuple[str, str], inside: _Inside
) -> Iterator[_Row]:
    for name in spellings:
        if name >= position[0]:
            yield from connection.execute(
                f"SELECT n.folded, {COLUMNS} FROM node AS n {FACTS} WHERE {_OF_KIND} AND n.folded = ? AND n.id > ? {inside.clause}"
                " ORDER BY n.id",
                (tenant, kind, name, position[1] if name == position[0] else "", *inside.bound),
            )
