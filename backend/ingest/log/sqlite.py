"""The ingest log in a SQLite file of the home: the embedded default.

SQLite has one writer at a time, so offsets commit in order. Dead letters are in the same file. A few statements write all appends of a
commit (`sqlite_writer`).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock
from typing import Any

from headwater.backend.ingest.log.group_commit import GroupCommit
from headwater.backend.ingest.log.model import ERASED, DeadLetter, Draft, Entry, EntryKind, Receipt, Stage
from headwater.backend.ingest.log.sqlite_writer import Append, insert
from headwater.errors import ConfigurationError, DamagedError, UnavailableError
from headwater.graph.damage import REPAIR, translated

_WHAT = "The ingest log"
_LOOK = "Check the disk (`headwater store check`); then send again."
_Write = Callable[[sqlite3.Connection], Any] | Append
_BEYOND = (1 << 63) - 1  # greater than every offset
_READ_BYTES = 64 << 20  # bytes of entries or dead letters to read at once
_PATIENCE = 30.0  # seconds that a write waits for other processes
_PAUSE = 0.02  # seconds between attempts
_MIGRATIONS = (
    # 1: the log and its dead letters. `key` is the hash of the canonical document; AUTOINCREMENT never assigns an offset twice.
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
    # 2: the positions of intake in files, prefixes and the like.
    "CREATE TABLE mark (source TEXT NOT NULL, item TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (source, item)) WITHOUT ROWID",
    # 3: erased entries (`model.ERASED`), whose body is empty.
    "CREATE INDEX erased_entry ON entry (tenant, offset) WHERE kind = 'erased'",
)


class SqliteLog:
    """The log of one home. Several processes may have it open at once."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open the log. Without `create`, the file must exist: a vanished log of a running service is a fault, not a new log.

        Raises:
            DamagedError: the file is damaged or missing.
            UnavailableError: the disk does not answer.
        """
        self.path = path
        self._reading = Lock()
        self.appended = Event()  # set after each commit of this process; the waiting reader clears it
        try:
            # SQLite gives its side files the mode of this file.
            os.close(os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600))
        except FileNotFoundError as error:
            raise DamagedError(f"{_WHAT} {path} is missing.", path=path, hint=REPAIR) from error
        except OSError as error:
            raise UnavailableError(f"The ingest log {path} cannot be opened: {error.strerror}.", hint="Check the disk.") from error
        with translated(path, _WHAT):
            self._reader = self._connect()
            _migrate(self._reader, path)
        self._writer: GroupCommit[_Write] = GroupCommit(
            lambda: _Session(self._connect()), committed=self.appended.set, what=self.name, hint=_LOOK
        )

    @property
    def name(self) -> str:
        return f"{_WHAT} {self.path}"

    def append(self, tenant: str, drafts: Sequence[Draft]) -> Future[Sequence[Receipt]]:
        return self._writer.submit(Append(tenant, drafts, _now()))

    def bury(self, tenant: str, letters: Sequence[DeadLetter]) -> Future[None]:
        received = _now()

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO dead_letter (tenant, stage, hash, offset, reason, field, received, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (tenant, stage, hash, offset)"
                " DO UPDATE SET times = times + 1, reason = excluded.reason, field = excluded.field",
                [(tenant, x.stage, sha256(x.body).digest(), x.offset, x.reason, x.field, received, x.body) for x in letters],
            )

        return self._writer.submit(write)

    def forgive(self, tenant: str, offsets: Sequence[int], *, stage: Stage = Stage.PROJECTION) -> Future[None]:

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "DELETE FROM dead_letter WHERE tenant = ? AND stage = ? AND offset = ?",
                [(tenant, stage, offset) for offset in offsets],
            )

        return self._writer.submit(write)

    def go_on_after(self, offset: int) -> Future[None]:

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM sqlite_sequence WHERE name = 'entry' AND seq < ?", [offset])
            connection.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT 'entry', ? WHERE NOT EXISTS"
                " (SELECT 1 FROM sqlite_sequence WHERE name = 'entry')",
                [offset],
            )

        return self._writer.submit(write)

    def read(self, tenant: str, *, after: int, limit: int = 256) -> list[Entry]:
        return self._entries("offset > ? ORDER BY offset", tenant, after, limit)

    def read_back(self, tenant: str, *, before: int | None, limit: int = 256) -> list[Entry]:
        return self._entries("offset < ? ORDER BY offset DESC", tenant, _BEYOND if before is None else before, limit)

    def key_at(self, tenant: str, offset: int) -> str:
        rows = self._rows("SELECT key FROM entry WHERE offset = ? AND tenant = ?", offset, tenant)
        return bytes(rows[0][0]).hex() if rows else ""

    def latest(self, tenant: str) -> int:
        return int(self._rows("SELECT coalesce(max(offset), 0) FROM entry WHERE tenant = ? AND kind <> ?", tenant, ERASED)[0][0])

    def given(self) -> int:
        return int(self._rows("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'entry'")[0][0])

    def pending(self, tenant: str, *, after: int) -> int:
        # An index has each of the two counts, and no body is read.
        ((entries,),) = self._rows("SELECT count(*) FROM entry WHERE tenant = ? AND offset > ?", tenant, after)
        ((erased,),) = self._rows("SELECT count(*) FROM entry WHERE tenant = ? AND offset > ? AND kind = 'erased'", tenant, after)
        return int(entries) - int(erased)

    def tenants(self) -> list[str]:
        # The query skips from name to name in the index, so its time does not depend on the number of entries.
        rows = self._rows(
            "WITH RECURSIVE t(name) AS (SELECT min(tenant) FROM entry"
            " UNION ALL SELECT (SELECT min(tenant) FROM entry WHERE tenant > name) FROM t WHERE name IS NOT NULL)"
            " SELECT name FROM t WHERE name IS NOT NULL"
        )
        return [name for (name,) in rows]

    def counts(self, tenant: str) -> dict[str, int]:
        entries = dict(self._rows("SELECT kind, count(*) FROM entry WHERE tenant = ? GROUP BY kind", tenant))
        (dead,) = self._rows("SELECT count(*) FROM dead_letter WHERE tenant = ?", tenant)[0]
        return {**{kind.value: int(entries.get(kind.value, 0)) for kind in EntryKind}, "dead_letters": int(dead)}

    def entry_at(self, tenant: str, offset: int) -> Entry | None:
        found = self.read(tenant, after=offset - 1, limit=1)
        return found[0] if found and found[0].offset == offset else None

    def refused(self, tenant: str) -> int:
        return int(self._rows("SELECT count(*) FROM dead_letter WHERE tenant = ? AND stage = ?", tenant, Stage.PROJECTION)[0][0])

    def buried(self, stage: Stage | None = None) -> int:
        return int(self._rows("SELECT count(*) FROM dead_letter WHERE stage = coalesce(?, stage)", stage)[0][0])

    def buried_at(self, tenant: str, stage: Stage) -> list[int]:
        rows = self._rows("SELECT offset FROM dead_letter WHERE tenant = ? AND stage = ? ORDER BY offset", tenant, stage)
        return [int(offset) for (offset,) in rows]

    def dead_letters(self, tenant: str, *, first: int = 100, after: int = 0, stage: Stage | None = None) -> list[DeadLetter]:
        sql = (
            "SELECT stage, reason, body, field, offset, id, received, times FROM dead_letter WHERE tenant = ? AND id > ?"
            " AND stage = coalesce(?, stage) ORDER BY id LIMIT ?"
        )
        letters: list[DeadLetter] = []
        size = 0
        with self._reading, translated(self.path, _WHAT), closing(self._reader.execute(sql, (tenant, after, stage, first))) as rows:
            for of_stage, reason, body, *rest in rows:
                size += len(body)
                if letters and size > _READ_BYTES:
                    break
                letters.append(DeadLetter(Stage(of_stage), reason, body, *rest))
        return letters

    def take_lease(self, work: str, *, seconds: float) -> bool:
        """Return True. One process has the role of the home (`role`), so all work belongs to it."""
        del work, seconds
        return True

    def end_lease(self, work: str) -> None:
        del work

    def marks(self, source: str) -> Mapping[str, str]:
        return dict(self._rows("SELECT item, state FROM mark WHERE source = ?", source))

    def mark(self, source: str, item: str, state: str) -> Future[None]:
        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO mark VALUES (?, ?, ?)", (source, item, state))

        return self._writer.submit(write)

    def find_offsets(self, tenant: str, texts: Collection[bytes]) -> list[int]:
        """Return the offsets of the entries whose body has one of some texts. All bodies of the tenant are read."""
        is_there = " OR ".join(["instr(body, ?)"] * len(texts))
        rows = self._rows(f"SELECT offset FROM entry WHERE tenant = ? AND kind <> ? AND ({is_there})", tenant, ERASED, *texts)
        return [int(offset) for (offset,) in rows]

    def erase(self, tenant: str, offsets: Collection[int], letters: Collection[int] = ()) -> None:
        """Erase the bodies of entries, their dead letters, and other dead letters by their ids.

        The key of an entry stays, so that the same document is not accepted again. The freed parts of the file are overwritten.

        Raises:
            UnavailableError: another process reads the log, so the write-ahead log still has the contents.
        """

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA secure_delete = ON")
            erased = set(offsets)
            values = [(ERASED, tenant, offset) for offset in erased]
            connection.executemany("UPDATE entry SET kind = ?, body = x'' WHERE tenant = ? AND offset = ?", values)
            of_entries = connection.execute("SELECT id, offset FROM dead_letter WHERE tenant = ? AND offset > 0", [tenant]).fetchall()
            gone = {*letters, *(letter for letter, offset in of_entries if offset in erased)}
            connection.executemany("DELETE FROM dead_letter WHERE id = ?", [(letter,) for letter in gone])

        self._writer.submit(write).result()
        ((is_busy, *_),) = self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if is_busy:
            raise UnavailableError(f"Another process reads {self.path}.", hint="Stop it, and give the command again.")

    def lost_entries(self, graph: int) -> DamagedError:
        text = f"The ingest log {self.path} ends at entry {self.given()}; the graph has what came up to entry {graph}."
        return DamagedError(text, path=self.path, hint=REPAIR)

    def close(self) -> None:
        self._writer.close()
        with self._reading:
            self._reader.close()

    def _entries(self, which: str, tenant: str, offset: int, limit: int) -> list[Entry]:
        entries: list[Entry] = []
        size = 0
        sql = f"SELECT offset, kind, key, received, body FROM entry WHERE tenant = ? AND kind <> '{ERASED}' AND {which} LIMIT ?"
        with self._reading, translated(self.path, _WHAT), closing(self._reader.execute(sql, (tenant, offset, limit))) as rows:
            for number, kind, key, received, body in rows:
                size += len(body)
                if entries and size > _READ_BYTES:
                    break
                entries.append(Entry(number, EntryKind(kind), key.hex(), received, body))
        return entries

    def _rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with self._reading, translated(self.path, _WHAT):
            return self._reader.execute(sql, arguments).fetchall()

    def _connect(self) -> sqlite3.Connection:
        where = f"{self.path.absolute().as_uri()}?mode=rw"  # never creates a file
        connection = sqlite3.connect(where, uri=True, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
        use_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        return connection


class _Session:
    """The writing connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def commit(self, writes: Sequence[_Write]) -> Sequence[Any]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = _done(connection, writes)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return results

    def close(self) -> None:
        self._connection.close()


def _done(connection: sqlite3.Connection, writes: Sequence[_Write]) -> list[Any]:
    """Do all writes in order, consecutive appends together. Returns a result for each."""
    results: list[Any] = []
    appends: list[Append] = []
    for write in writes:
        if isinstance(write, Append):
            appends.append(write)
            continue
        results += insert(connection, appends)
        appends = []
        results.append(write(connection))
    return results + insert(connection, appends)


def use_wal(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log. Retries are needed here, because SQLite does not wait for other processes in this statement."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if str(error) != "database is locked" or time.monotonic() > until:
                raise
        time.sleep(_PAUSE)


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
