"""A checksum over the rows of a small SQLite file with access rights.

SQLite has no checksum, and a changed byte could mean another right, another expiry, or a revoked key that is valid again. The checksum is
written in the transaction that changes the rows, and checked whenever the file differs from the last check. Files of earlier releases have
no checksum until they change.
"""

from __future__ import annotations

import sqlite3
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

_SCHEMA = "CREATE TABLE IF NOT EXISTS seal (digest BLOB NOT NULL)"
_TICK = 50_000_000  # nanoseconds in which two changes of a file may have one time
_Identity = tuple[int, int, int, int]


class SealedRows:
    """The rows of a query with their checksum. `rows` raises `sqlite3.DatabaseError` if the checksum does not match."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._seen: _Identity | None = None

    def is_seen(self, path: Path) -> bool:
        """Whether the file is unchanged since its rows were last checked."""
        return self._seen is not None and _identity(path) == self._seen

    def read(self, database: sqlite3.Connection, path: Path) -> list[tuple[Any, ...]]:
        before = _identity(path)
        database.execute("BEGIN")
        try:
            rows = self.rows(database)
        finally:
            database.execute("ROLLBACK")
        is_settled = before is not None and time.time_ns() - before[3] > _TICK
        self._seen = before if is_settled and _identity(path) == before else None
        return rows

    def rows(self, database: sqlite3.Connection) -> list[tuple[Any, ...]]:
        """Read and check the rows in a transaction of the caller."""
        rows = database.execute(self._query).fetchall()
        has_seal = database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'seal'").fetchone()
        stated = database.execute("SELECT digest FROM seal").fetchall() if has_seal else []
        if stated and stated != [(_digest(rows),)]:
            raise sqlite3.DatabaseError("its rows are not what was written")
        return rows

    def write(self, database: sqlite3.Connection) -> None:
        """Write the checksum of the current rows, in a transaction of the caller."""
        database.execute(_SCHEMA)
        database.execute("DELETE FROM seal")
        database.execute("INSERT INTO seal VALUES (?)", (_digest(database.execute(self._query).fetchall()),))


def _digest(rows: list[tuple[Any, ...]]) -> bytes:
    return sha256(repr(rows).encode()).digest()


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
