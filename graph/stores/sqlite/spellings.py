"""The trigram index of names. A tenant stores each spelling once.

A spelling stays after its last node was renamed. A search then looks for its nodes, and finds none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

_LETTERS = 3  # the index knows all sequences of three letters in a name


def write_spellings(connection: sqlite3.Connection, tenant: str, folded: Iterable[str]) -> None:
    (last,) = connection.execute("SELECT coalesce(max(key), 0) FROM spelling").fetchone()
    connection.executemany("INSERT OR IGNORE INTO spelling (tenant, folded) VALUES (?, ?)", [(tenant, name) for name in sorted(folded)])
    connection.execute("INSERT INTO spelling_part (rowid, folded) SELECT key, folded FROM spelling WHERE key > ?", (last,))


def drop_spellings(connection: sqlite3.Connection, tenant: str) -> None:
    if connection.execute("SELECT 1 FROM spelling WHERE tenant <> ? LIMIT 1", (tenant,)).fetchone():
        connection.execute(
            "INSERT INTO spelling_part (spelling_part, rowid, folded) SELECT 'delete', key, folded FROM spelling WHERE tenant = ?",
            (tenant,),
        )
    else:
        connection.execute("INSERT INTO spelling_part (spelling_part) VALUES ('delete-all')")
    connection.execute("DELETE FROM spelling WHERE tenant = ?", (tenant,))


def spelt_with(connection: sqlite3.Connection, tenant: str, part: str, most: int) -> list[str] | None:
    """Return the spellings that contain a part, in order. None if the part is too short, or if more than `most` contain it."""
    if len(part) < _LETTERS:
        return None
    # Every third trigram and the last one cover the part. The statement compares the rest.
    starts = {*range(0, len(part) - _LETTERS + 1, _LETTERS), len(part) - _LETTERS}
    triples = [part[start : start + _LETTERS].replace('"', '""') for start in sorted(starts)]
    found = connection.execute(
        "SELECT s.folded FROM spelling_part CROSS JOIN spelling AS s ON s.key = spelling_part.rowid "
        "WHERE spelling_part MATCH ? AND s.tenant = ? AND instr(s.folded, ?) > 0 LIMIT ?",
        (" AND ".join(f'"{triple}"' for triple in triples), tenant, part, most + 1),
    ).fetchall()
    return sorted(name for (name,) in found) if len(found) <= most else None
