"""Page sessions that were ended before their expiry, in a file of the home or in the database that replicas share.

A session is a signed cookie, which the service does not store. Signing out stores a digest of the cookie until the cookie expires, so that
copies of it become useless. If the file cannot be read, every session is refused.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from headwater.backend.access.keys.row_checksum import SealedRows
from headwater.errors import UnavailableError

if TYPE_CHECKING:
    from headwater.backend.home.quick_settings import HomeSettings
    from headwater.backend.ingest.log.postgres.address import Address

_SEALED = "SELECT session, until FROM ended ORDER BY session"
_EVERY = b"*"  # stored instead of a digest; ends every session that began before an instant
_SCHEMA = "CREATE TABLE IF NOT EXISTS ended (session BLOB PRIMARY KEY, until REAL NOT NULL) STRICT, WITHOUT ROWID"


class EndedSessions(Protocol):
    """A store of digests of ended sessions. Thread-safe."""

    def end(self, session: str, until: float) -> None:
        """End a session that would have expired at `until`, in seconds since 1970. Durable on return.

        Raises:
            UnavailableError: the digest cannot be stored.
        """

    def has(self, session: str, began: float) -> bool:
        """Whether a session was ended. `began` is in seconds since 1970.

        Raises:
            UnavailableError: the store does not answer.
        """


def ended_of(settings: HomeSettings) -> EndedSessions:
    if settings.ingest_log is None:
        return OwnEndedSessions(settings.folder.ended_sessions)
    from headwater.backend.ingest.log.postgres.log import address_of

    return SharedEndedSessions(address_of(settings))


class OwnEndedSessions:
    """Ended sessions in a file, which several processes may use."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = Lock()
        self._open: sqlite3.Connection | None = None
        self._sealed = SealedRows(_SEALED)
        self._ended: dict[bytes, float] = {}

    def end(self, session: str, until: float) -> None:
        self._write(_digest(session), until)

    def end_all(self) -> None:
        """End all sessions, because the file with the ended ones was lost."""
        self._write(_EVERY, self._clock())

    def has(self, session: str, began: float) -> bool:
        if not self._path.exists():
            return False
        with self._lock:
            try:
                if self._open is None or not self._sealed.is_seen(self._path):
                    self._open = self._open or _connect(self._path)
                    self._ended = {bytes(digest): until for digest, until in self._sealed.read(self._open, self._path)}
                return _digest(session) in self._ended or began <= self._ended.get(_EVERY, 0.0)
            except sqlite3.Error as error:
                if self._open is not None:
                    self._open.close()
                    self._open = None
                raise _unusable(self._path, error) from error

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def _make(self) -> None:
        """Create the file and its table in one step, because a file without the table counts as damaged."""
        draft = self._path.with_name(f".{self._path.name}.{uuid4().hex}")
        try:
            draft.touch(mode=0o600)
            with closing(_connect(draft)) as database:
                database.execute(_SCHEMA)
            with suppress(FileExistsError):
                os.link(draft, self._path)
        finally:
            draft.unlink(missing_ok=True)

    def _write(self, digest: bytes, until: float) -> None:
        try:
            if not self._path.exists():
                self._make()
            with closing(_connect(self._path)) as database:
                database.execute("BEGIN IMMEDIATE")
                self._sealed.rows(database)
                database.execute("DELETE FROM ended WHERE until <= ? AND session <> ?", (self._clock(), _EVERY))
                database.execute("INSERT OR REPLACE INTO ended VALUES (?, ?)", (digest, until))
                self._sealed.write(database)
                database.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise _unusable(self._path, error) from error


class SharedEndedSessions:
    """Ended sessions in the database of a shared log. Each replica learns of an ended session within two seconds."""

    def __init__(self, address: Address, *, clock: Callable[[], float] = time.time) -> None:
        from headwater.backend.ingest.log.postgres.address import Questions
        from headwater.backend.ingest.log.postgres.table_copy import Copied

        self._clock = clock
        self._questions = Questions(address)
        self._known = Copied(self._read, "ended sessions")

    def end(self, session: str, until: float) -> None:
        self._questions.ask("DELETE FROM ended_session WHERE until <= :now", now=self._clock())
        self._questions.ask(
            "INSERT INTO ended_session VALUES (:digest, :until) ON CONFLICT (digest) DO NOTHING", digest=_digest(session), until=until
        )
        self._known.learn()

    def has(self, session: str, began: float) -> bool:
        del began
        return _digest(session) in self._known.now()

    def _read(self) -> frozenset[bytes]:
        return frozenset(bytes(digest) for (digest,) in self._questions.ask("SELECT digest FROM ended_session"))


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=2, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    return database


def _digest(session: str) -> bytes:
    return sha256(session.encode("utf-8", "replace")).digest()


def _unusable(path: Path, error: Exception) -> UnavailableError:
    return UnavailableError(
        f"The file of ended sessions {path} cannot be used: {error}.",
        hint="Keys work without it. Stop the service and run `headwater store repair`, which ends all sessions.",
    )
