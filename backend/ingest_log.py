"""The ingest log: everything that was accepted, once, byte for byte, in the order of acceptance.

For intake (which appends), the projector (which reads) and audits. An append that was acknowledged must survive a crash of the process
and of the machine; the same document sent again, by any process, must get the offset of the first; a reader must never see an
offset before all smaller ones (SQLite has one writer at a time, so offsets commit in order). What was refused is kept beside it as a
dead letter, without its secrets.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock
from typing import Any

from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from headwater.backend.group_commit import GroupCommit
from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.damage import translated

_WHAT = "The ingest log"
_PATIENCE = 30.0  # seconds that a write waits for those of other processes
_MIGRATIONS = (
    # 1: the log and its dead letters. `key` is the hash of the canonical document; AUTOINCREMENT never gives an offset twice.
    """
    CREATE TABLE entry (
        offset INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, kind TEXT NOT NULL, key BLOB NOT NULL, received TEXT NOT NULL,
        body BLOB NOT NULL, UNIQUE (tenant, key));
    CREATE INDEX entry_tenant ON entry (tenant);
    CREATE TABLE dead_letter (
        id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, stage TEXT NOT NULL, hash BLOB NOT NULL, offset INTEGER NOT NULL,
        reason TEXT NOT NULL, field TEXT, received TEXT NOT NULL, times INTEGER NOT NULL DEFAULT 1, body BLOB NOT NULL,
        UNIQUE (tenant, stage, hash, offset));
    """,
)


class EntryKind(StrEnum):
    """What an entry is: an OpenLineage event, the manifest of a capture, what a user declared, or a PROV document."""

    EVENT = "event"
    CAPTURE = "capture"
    DECLARATION = "declaration"
    PROV = "prov"


class Stage(StrEnum):
    """Where a dead letter was refused: at `intake`, or, accepted, at `projection`."""

    INTAKE = "intake"
    PROJECTION = "projection"


@dataclass(frozen=True, slots=True)
class Draft:
    """A document to append: its canonical key (32 bytes) and its bytes."""

    kind: EntryKind
    key: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of an append. `duplicate`: the document was there already, at `offset`."""

    offset: int
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry as it was accepted. `key` is in hexadecimal, `received` ISO 8601 in UTC with microseconds."""

    offset: int
    kind: EntryKind
    key: str
    received: str
    body: bytes


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What was refused, and why. `offset` is that of the log entry (0 for what never got in); `times` counts how often it came."""

    stage: Stage
    reason: str
    body: bytes
    field: str | None = None
    offset: int = 0
    id: int = 0
    received: str = ""
    times: int = 1


class IngestLog:
    """The log of one home. Several processes may have it open at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reading = Lock()
        self.appended = Event()  # set after each commit of this process; whoever waits for it clears it
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its side files the modes of this one
        except OSError as error:
            raise UnavailableError(f"The ingest log {path} cannot be opened: {error.strerror}.", hint="Check the disk.") from error
        with translated(path, _WHAT):
            self._reader = self._connect()
            _migrate(self._reader, path)
        self._writer = GroupCommit(self._connect, committed=self.appended.set, what=f"{_WHAT} {path}")

    def append(self, tenant: str, drafts: Sequence[Draft]) -> Future[Sequence[Receipt]]:
        """Append documents in one transaction; the future is done when they are durable, or fails with `UnavailableError`."""
        received = _now()

        def write(connection: sqlite3.Connection) -> Sequence[Receipt]:
            return [_insert(connection, tenant, draft, received) for draft in drafts]

        return self._writer.submit(write)

    def bury(self, tenant: str, letters: Sequence[DeadLetter]) -> Future[None]:
        """Keep dead letters, durably. The same letter again only counts."""
        received = _now()

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO dead_letter (tenant, stage, hash, offset, reason, field, received, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (tenant, stage, hash, offset)"
                " DO UPDATE SET times = times + 1, reason = excluded.reason, field = excluded.field",
                [(tenant, x.stage, sha256(x.body).digest(), x.offset, x.reason, x.field, received, x.body) for x in letters],
            )

        return self._writer.submit(write)

    def forgive(self, tenant: str, offsets: Sequence[int]) -> Future[None]:
        """Strike the dead letters of entries that could be projected after all."""

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "DELETE FROM dead_letter WHERE tenant = ? AND stage = ? AND offset = ?",
                [(tenant, Stage.PROJECTION, offset) for offset in offsets],
            )

        return self._writer.submit(write)

    def go_on_after(self, offset: int) -> Future[None]:
        """Give the next entry a greater offset than this, where the log has lost its last ones."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM sqlite_sequence WHERE name = 'entry' AND seq < ?", [offset])
            connection.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT 'entry', ? WHERE NOT EXISTS"
                " (SELECT 1 FROM sqlite_sequence WHERE name = 'entry')",
                [offset],
            )

        return self._writer.submit(write)

    def read(self, tenant: str, *, after: int, limit: int = 256) -> list[Entry]:
        """Entries of a tenant with an offset above `after`, in order."""
        rows = self._rows(
            "SELECT offset, kind, key, received, body FROM entry WHERE tenant = ? AND offset > ? ORDER BY offset LIMIT ?",
            tenant,
            after,
            limit,
        )
        return [Entry(offset, EntryKind(kind), key.hex(), received, body) for offset, kind, key, received, body in rows]

    def key_at(self, tenant: str, offset: int) -> str:
        """The key of the entry at an offset, in hexadecimal; "" where the tenant has none there."""
        rows = self._rows("SELECT key FROM entry WHERE offset = ? AND tenant = ?", offset, tenant)
        return bytes(rows[0][0]).hex() if rows else ""

    def latest(self, tenant: str) -> int:
        """Offset of the tenant's last entry; 0 where there is none."""
        return int(self._rows("SELECT coalesce(max(offset), 0) FROM entry WHERE tenant = ?", tenant)[0][0])

    def given(self) -> int:
        """The last offset that was ever given, of any tenant, also where its entry was lost; 0 where there is none."""
        return int(self._rows("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'entry'")[0][0])

    def pending(self, tenant: str, *, after: int) -> int:
        """How many entries of a tenant lie above an offset."""
        return int(self._rows("SELECT count(*) FROM entry WHERE tenant = ? AND offset > ?", tenant, after)[0][0])

    def tenants(self) -> list[str]:
        """Tenants that have entries, in order of name."""
        # Hops from name to name in the index, however many entries there are.
        rows = self._rows(
            "WITH RECURSIVE t(name) AS (SELECT min(tenant) FROM entry"
            " UNION ALL SELECT (SELECT min(tenant) FROM entry WHERE tenant > name) FROM t WHERE name IS NOT NULL)"
            " SELECT name FROM t WHERE name IS NOT NULL"
        )
        return [name for (name,) in rows]

    def counts(self, tenant: str) -> dict[str, int]:
        """Number of entries of each kind, and of `dead_letters`."""
        entries = dict(self._rows("SELECT kind, count(*) FROM entry WHERE tenant = ? GROUP BY kind", tenant))
        (dead,) = self._rows("SELECT count(*) FROM dead_letter WHERE tenant = ?", tenant)[0]
        return {**{kind.value: int(entries.get(kind.value, 0)) for kind in EntryKind}, "dead_letters": int(dead)}

    def entry_at(self, tenant: str, offset: int) -> Entry | None:
        """The entry at an offset; None where the tenant has none there."""
        found = self.read(tenant, after=offset - 1, limit=1)
        return found[0] if found and found[0].offset == offset else None

    def refused(self, tenant: str) -> int:
        """How many accepted entries are dead letters of the projection."""
        return int(self._rows("SELECT count(*) FROM dead_letter WHERE tenant = ? AND stage = ?", tenant, Stage.PROJECTION)[0][0])

    def dead_letters(self, tenant: str, *, first: int = 100, after: int = 0, stage: Stage | None = None) -> list[DeadLetter]:
        """Dead letters with an id above `after`, oldest first; of one stage where it is given."""
        rows = self._rows(
            "SELECT stage, reason, body, field, offset, id, received, times FROM dead_letter WHERE tenant = ? AND id > ?"
            " AND stage = coalesce(?, stage) ORDER BY id LIMIT ?",
            tenant,
            after,
            stage,
            first,
        )
        return [DeadLetter(Stage(stage), *rest) for stage, *rest in rows]

    def close(self) -> None:
        """Commit what waits, and close."""
        self._writer.close()
        with self._reading:
            self._reader.close()

    def _rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with self._reading, translated(self.path, _WHAT):
            return self._reader.execute(sql, arguments).fetchall()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        return connection


@retry(
    retry=retry_if_exception_message(match="database is locked"),
    stop=stop_after_delay(_PATIENCE),
    wait=wait_random(0.01, 0.05),
    reraise=True,
)
def _use_wal(connection: sqlite3.Connection) -> None:
    """SQLite waits for other processes everywhere but here."""
    connection.execute("PRAGMA journal_mode = WAL")


def _insert(connection: sqlite3.Connection, tenant: str, draft: Draft, received: str) -> Receipt:
    known = connection.execute("SELECT offset FROM entry WHERE tenant = ? AND key = ?", (tenant, draft.key)).fetchone()
    if known is not None:
        return Receipt(known[0], duplicate=True)
    (offset,) = connection.execute(
        "INSERT INTO entry (tenant, kind, key, received, body) VALUES (?, ?, ?, ?, ?) RETURNING offset",
        (tenant, draft.kind, draft.key, received, draft.body),
    ).fetchone()
    return Receipt(offset, duplicate=False)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(_MIGRATIONS):
        connection.execute("ROLLBACK")
        raise ConfigurationError(
            f"{path} was written by a newer Headwater (its version is {version}, this one knows {len(_MIGRATIONS)}).",
            hint="Upgrade Headwater, or name another home.",
        )
    for number, script in enumerate(_MIGRATIONS[version:], start=version + 1):
        for statement in script.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("COMMIT")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
