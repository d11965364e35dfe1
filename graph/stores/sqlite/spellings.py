"""The trigram indexes of names (`spelling`) and of words (`word`). A tenant stores each text once.

A text stays after its last node was renamed. A search then looks for its nodes, and finds none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

_LETTERS = 3  # the index knows all sequences of three letters in a name


def write_spellings(connection: sqlite3.Connection, tenant: str, folded: Iterable[str], *, table: str = "spelling") -> None:
    (last,) = connection.execute(f"SELECT coalesce(max(key), 0) FROM {table}").fetchone()
    connection.executemany(f"INSERT OR IGNORE INTO {table} (tenant, folded) VALUES (?, ?)", [(tenant, name) for name in sorted(folded)])
    connection.execute(f"INSERT INTO {table}_part (rowid, folded) SELECT key, folded FROM {table} WHERE key > ?", (last,))


def drop_spellings(connection: sqlite3.Connection, tenant: str, *, table: str = "spelling") -> None:
    if connection.execute(f"SELECT 1 FROM {table} WHERE tenant <> ? LIMIT 1", (tenant,)).fetchone():
        connection.execute(
            f"INSERT INTO {table}_part ({table}_part, rowid, folded) SELECT 'delete', key, folded FROM {table} WHERE tenant = ?",
            (tenant,),
        )
    else:
        connection.execute(f"INSERT INTO {table}_part ({table}_part) VALUES ('delete-all')")
    connection.execute(f"DELETE FROM {table} WHERE tenant = ?", (tenant,))


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
