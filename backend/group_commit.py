"""One writer for one SQLite file: many small writes, one durable commit.

For the ingest log, whose callers must wait for the disk but must not each pay for it. While a commit is on its way to the disk the next
writes gather, and go together. A future is resolved after the commit and never before; if the commit fails, every write in it fails.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from headwater.errors import UnavailableError

_GROUP = 512  # writes in one commit: bounds how long the first of them waits

T = TypeVar("T")
Write = Callable[[sqlite3.Connection], T]


class GroupCommit:
    """Runs writes on a thread of its own, on a connection that nothing else uses. `committed` is called after each commit."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], *, committed: Callable[[], None] = lambda: None, what: str = "The ingest log"
    ) -> None:
        """`what` names the file in errors."""
        self._connect = connect
        self._committed = committed
        self._what = what
        self._waiting: SimpleQueue[tuple[Write[Any], Future[Any]] | None] = SimpleQueue()
        self._closing = Lock()
        self._closed = False
        self._thread = Thread(target=self._run, name="headwater-log-writer", daemon=True)
        self._thread.start()

    def submit(self, write: Write[T]) -> Future[T]:
        """Queue a write. Its future fails with `UnavailableError` where the disk is full, locked for too long, or the writer closed."""
        future: Future[T] = Future()
        with self._closing:
            if self._closed:
                future.set_exception(UnavailableError("The ingest log is closed.", hint="Send again when the service is back."))
            else:
                self._waiting.put((write, future))
        return future

    def close(self) -> None:
        """Commit what waits, then stop."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        more = True
        while more:
            group, more = self._gather()
            try:
                connection = connection or self._connect()
                self._commit(connection, group)
            except Exception as error:  # noqa: BLE001 - whatever it is, the callers must hear of it and the writer must live on
                for _, future in group:
                    failure = UnavailableError(
                        f"{self._what} could not be written: {error}.", hint="Check the disk (`headwater store check`); then send again."
                    )
                    failure.__cause__ = error
                    future.set_exception(failure)
        if connection is not None:
            connection.close()

    def _gather(self) -> tuple[list[tuple[Write[Any], Future[Any]]], bool]:
        group: list[tuple[Write[Any], Future[Any]]] = []
        item = self._waiting.get()
        while item is not None:
            if item[1].set_running_or_notify_cancel():
                group.append(item)
            if len(group) == _GROUP:
                break
            try:
                item = self._waiting.get_nowait()
            except Empty:
                break
        return group, item is not None

    def _commit(self, connection: sqlite3.Connection, group: list[tuple[Write[Any], Future[Any]]]) -> None:
        if not group:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = [write(connection) for write, _ in group]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        for (_, future), result in zip(group, results, strict=True):
            future.set_result(result)
        self._committed()
