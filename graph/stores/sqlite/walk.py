"""Walks in a SQLite graph by its own keys, level by level, for reach and cones.

A level is one statement over the keys of the previous level (`json_each`), in their order, so that neighbouring rows are read from one
page. The two edge indexes alone answer it. The answer is columns of numbers in one text (`group_concat`): Python objects for a hundred
thousand edges would take five times as long as reading the file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from headwater.graph.stores.numbered_cones import NO_EDGES, Numbers
from headwater.graph.stores.protocol import Direction

_NEAR = {Direction.UPSTREAM: "dst", Direction.DOWNSTREAM: "src"}


def keys_of(connection: sqlite3.Connection, tenant: str, ids: Sequence[str]) -> Numbers:
    """Return the keys of the ids that exist, in the order of the ids."""
    rows = connection.execute(
        "SELECT n.key FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value",
        (json.dumps(list(ids)), tenant),
    )
    return np.array(list(dict.fromkeys(key for (key,) in rows)), dtype=np.int64)


def greatest_key(connection: sqlite3.Connection) -> int:
    """Return the greatest key, which is the length of an array by key."""
    return int(connection.execute("SELECT coalesce(max(key), 0) FROM node").fetchone()[0])


def edges_at(connection: sqlite3.Connection, way: Direction, keys: Numbers, kinds: Sequence[int], *, whole: bool = True) -> Numbers:
    """Return the edges of some kinds whose near end is one of the keys.

    The rows have `SRC` and `DST`, and, if `whole`, `KIND_CODE` and `ROW`.
    """
    if not len(keys) or not kinds:
        return NO_EDGES if whole else NO_EDGES[:, :2]
    columns = "e.src || ',' || e.dst" + (" || ',' || e.kind || ',' || e.key" if whole else "")
    (found,) = connection.execute(
        f"SELECT group_concat({columns}) FROM json_each(?) AS level "
        f"CROSS JOIN edge AS e ON e.{_NEAR[way]} = level.value AND {among(kinds)}",
        (array(np.sort(keys)),),
    ).fetchone()
    width = 4 if whole else 2
    return np.fromstring(found or "", dtype=np.int64, sep=",").reshape(-1, width) if found else NO_EDGES[:, :width]


def array(keys: Numbers) -> str:
    """Return keys as a parameter of an SQL statement."""
    return json.dumps(keys.tolist(), separators=(",", ":"))


def first_by_id(connection: sqlite3.Connection, keys: Numbers, count: int) -> Numbers:
    """Return the `count` keys with the first ids."""
    rows = connection.execute(
        "SELECT n.key FROM json_each(?) AS asked CROSS JOIN node AS n ON n.key = asked.value ORDER BY n.id LIMIT ?", (array(keys), count)
    )
    return np.array([key for (key,) in rows], dtype=np.int64)


def among(kinds: Sequence[int]) -> str:
    """Return an SQL condition for edge kinds. Consecutive numbers become one range of the index."""
    if list(kinds) == list(range(kinds[0], kinds[-1] + 1)):
        return f"e.kind BETWEEN {kinds[0]} AND {kinds[-1]}"
    return f"e.kind IN ({', '.join(map(str, kinds))})"
