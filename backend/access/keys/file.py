"""Stores named keys in a SQLite file of the home, mode 0600. Changes take effect immediately in all processes that use the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock

from headwater.backend.access.keys.model import NamedKey, key_of
from headwater.backend.access.keys.row_checksum import SealedRows
from headwater.errors import UnavailableError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS key (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, tenant TEXT NOT NULL, digest BLOB NOT NULL, scopes TEXT NOT NULL,
  created REAL NOT NULL, expires REAL, revoked REAL, used REAL
) STRICT
"""
_SEALED = "SELECT rowid, id, name, tenant, digest, scopes, created, expires, revoked FROM key ORDER BY rowid"
_COLUMNS = "id, name, tenant, digest, scopes, created, expires, revoked, used"


class KeyFile:
    """The table of named keys in a file. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._open: sqlite3.Connection | None = None
        self._sealed = SealedRows(_SEALED)

    def all(self) -> list[NamedKey]:
        if not self._path.exists():
            return []
        with self._reading() as database:
            return _all(database)

    def one(self, identifier: str) -> NamedKey | None:
        if not self._path.exists():
            return None
        with self._reading() as database:
            row = database.execute(f"SELECT {_COLUMNS} FROM key WHERE id = ?", (identifier,)).fetchone()
        return key_of(row) if row else None

    def note_use(self, identifier: str, at: float) -> None:
        with suppress(UnavailableError), self._reading() as database:
            database.execute("UPDATE key SET used = ? WHERE id = ?", (at, identifier))

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    @contextmanager
    def changes(self) -> Iterator[_Changes]:
        try:
            self._path.touch(mode=0o600)
            self._path.chmod(0o600)
            with closing(_connect(self._path)) as database:
                database.execute(_SCHEMA)
                database.execute("BEGIN IMMEDIATE")
                self._sealed.rows(database)
                yield _Changes(database)
                self._sealed.write(database)
                database.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise _unreadable(self._path, error) from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._open is None:
                    self._open = _connect(self._path)
                if not self._sealed.is_seen(self._path):
                    self._sealed.read(self._open, self._path)
                yield self._open
            except sqlite3.Error as error:
                if self._open is not None:
                    self._open.close()
                    self._open = None
                raise _unreadable(self._path, error) from error


class _Changes:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def all(self) -> list[NamedKey]:
        return _all(self._database)

    def add(self, key: NamedKey) -> None:
        stated = (key.id, key.name, key.tenant, key.digest, key.rights.kept(), key.created, key.expires, None, None)
        self._database.execute(f"INSERT INTO key ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", stated)

    def end(self, name: str, tenant: str, at: float) -> None:
        statement = "UPDATE key SET expires = min(coalesce(expires, ?), ?) WHERE name = ? AND tenant = ? AND revoked IS NULL"
        self._database.execute(statement, (at, at, name, tenant))

    def revoke(self, identifiers: Sequence[str], at: float) -> None:
        self._database.executemany("UPDATE key SET revoked = ? WHERE id = ?", [(at, one) for one in identifiers])


def _all(database: sqlite3.Connection) -> list[NamedKey]:
    return [key_of(row) for row in database.execute(f"SELECT {_COLUMNS} FROM key ORDER BY rowid")]


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=2, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    return database


def _unreadable(path: Path, error: Exception) -> UnavailableError:
    return UnavailableError(
        f"The file of named keys {path} cannot be used: {error}.",
        hint="The home's own key (file `key`) works without it. Stop the service and run `headwater store repair`, then make them anew.",
    )
