"""The tables of one home: a SQLite file. Several processes may have it open at once."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from headwater.backend.ingest.log.sqlite import use_wal
from headwater.backend.tables.database import Row, Schema
from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.damage import translated

_PATIENCE = 30.0  # seconds that a write waits for locks of other processes


class SqliteDatabase:
    """A `Database` in a SQLite file, or in memory if `path` is None. `clock` returns the time."""

    def __init__(self, schema: Schema, path: Path | None, *, clock: Callable[[], float] = time.time) -> None:
        self._what = f"The store of {schema.what}"
        self.name = f"{self._what} {path}" if path else f"{self._what} in memory"
        self._steps = schema.steps
        self._path = path or Path(":memory:")
        self._clock = clock
        self._lock = RLock()
        with translated(self._path, self._what):
            self._connection = self._connect(path)
            self._migrate()

    def _connect(self, path: Path | None) -> sqlite3.Connection:
        if path is None:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # side files get the mode of this file
        except OSError as error:
            raise UnavailableError(f"{self.name} cannot be opened: {error.strerror}.", hint="Check the disk.") from error
        connection = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
        use_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _migrate(self) -> None:
        if self._connection.execute("PRAGMA user_version").fetchone()[0] == len(self._steps):
            return
        with self.transaction() as database:
            (version,) = database.run("PRAGMA user_version")[0]
            if version > len(self._steps):
                raise ConfigurationError(f"{self.name} was written by a newer Headwater.", hint="Upgrade Headwater, or name another home.")
            for number, statements in enumerate(self._steps[version:], version + 1):
                for statement in statements:
                    database.run(statement)
                database.run(f"PRAGMA user_version = {number}")

    @contextmanager
    def transaction(self) -> Iterator[SqliteDatabase]:
        with self._lock, translated(self._path, self._what):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def run(self, sql: str, **values: Any) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def now(self) -> float:
        return self._clock()

    def clock(self) -> float:
        return self._clock()

    def ask(self, sql: str, **values: Any) -> list[Row]:
        with self._lock, translated(self._path, self._what):
            return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()
