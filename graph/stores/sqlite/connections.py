"""Connections to one SQLite file for asynchronous callers: one writer, several readers, each on a thread of its own.

Several processes may have the file open. A writer waits for another's transaction (`_BUSY_SECONDS`) before it gives up with
`UnavailableError`; readers never wait for a writer (WAL).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.damage import translated

T = TypeVar("T")

_READERS = 4
_BUSY_SECONDS = 30.0
_MAPPED = 2**31 - 65536  # SQLite's upper limit


class Connections:
    """Runs functions with a connection, on the connection's thread."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._threads = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="graph-writer")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="graph-reader")

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction that holds the write lock from its start. If `work` raises, the transaction is rolled back."""
        return await self._run(self._writer, "BEGIN IMMEDIATE", work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` over one snapshot of the file."""
        return await self._run(self._readers, "BEGIN", work)

    async def close(self) -> None:
        """Wait for running work, then close every connection."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        while self._open:
            self._open.pop().close()

    async def _run(self, pool: ThreadPoolExecutor, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        def call() -> T:
            with _translated(self._path):
                connection = self._connection()
                connection.execute(begin)
                try:
                    result = work(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    connection.rollback()
                    raise
                return result

        return await asyncio.get_running_loop().run_in_executor(pool, call)

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._threads, "connection", None)
        if connection is None:
            # Another thread closes the connection, hence check_same_thread. Only one thread uses it.
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            _use_wal(connection)
            # A power failure may lose the last transactions, offset and effect together. The log restores them.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -65536")
            # The write-ahead log is copied into the file, and both are synced, every 32 MB: the same pages change again and again.
            connection.execute("PRAGMA wal_autocheckpoint = 8192")
            connection.execute("PRAGMA temp_store = MEMORY")
            # Walks read thousands of pages all over the file. With a memory map, they need no system call for each.
            connection.execute(f"PRAGMA mmap_size = {_MAPPED}")
            self._threads.connection = connection
            self._open.append(connection)
        return connection


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        with translated(path, "The graph file"):
            yield
    except UnavailableError as error:
        cause = error.__cause__
        if isinstance(cause, sqlite3.Error) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CANTOPEN and not path.parent.is_dir():
            raise ConfigurationError(
                f"The graph file {path} cannot be opened.", hint="Check that its folder exists and may be written to."
            ) from cause
        raise


def _use_wal(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log. SQLite does not wait for other connections in this case, so this function waits."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
