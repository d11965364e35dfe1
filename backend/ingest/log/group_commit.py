"""A single writer that combines many small writes into one durable commit.

Callers of the ingest log must wait for the disk, but not each for a disk write of its own. Writes that arrive during a commit are
committed together afterwards. A future is resolved only after the commit. If the commit fails, every write in it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, Protocol, TypeVar

from headwater.errors import UnavailableError

_GROUP = 512  # limit of writes per commit, which limits the wait of the first one

W = TypeVar("W")
W_contra = TypeVar("W_contra", contravariant=True)


class Session(Protocol[W_contra]):
    """A connection that only one writer uses."""

    def commit(self, writes: Sequence[W_contra]) -> Sequence[Any]:
        """Do all writes in one durable transaction. Returns a result or an error for each write, and raises if all failed."""

    def close(self) -> None: ...


class GroupCommit(Generic[W]):
    """Runs writes on a separate thread, in a session opened there. `committed` is called after each commit."""

    def __init__(
        self, open_session: Callable[[], Session[W]], *, committed: Callable[[], None] = lambda: None, what: str, hint: str
    ) -> None:
        """`what` names the log in errors, `hint` is their hint."""
        self._open_session = open_session
        self._committed = committed
        self._what = what
        self._hint = hint
        self._waiting: SimpleQueue[tuple[W, Future[Any]] | None] = SimpleQueue()
        self._closing = Lock()
        self._closed = False
        self._thread = Thread(target=self._run, name="headwater-log-writer", daemon=True)
        self._thread.start()

    def submit(self, write: W) -> Future[Any]:
        """Queue a write. Its future fails with `UnavailableError` if the log cannot be written, or the writer is closed."""
        future: Future[Any] = Future()
        with self._closing:
            if self._closed:
                future.set_exception(UnavailableError("The ingest log is closed.", hint="Send again when the service is back."))
            else:
                self._waiting.put((write, future))
        return future

    def close(self) -> None:
        """Commit the waiting writes, then stop."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        session: Session[W] | None = None
        more = True
        while more:
            group, more = self._gather()
            try:
                session = session or self._open_session()
                self._commit(session, group)
            except Exception as error:  # noqa: BLE001 - whatever it is, the callers must hear of it and the writer must live on
                for _, future in group:
                    self._fail(future, error)
        if session is not None:
            session.close()

    def _gather(self) -> tuple[list[tuple[W, Future[Any]]], bool]:
        group: list[tuple[W, Future[Any]]] = []
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

    def _commit(self, session: Session[W], group: list[tuple[W, Future[Any]]]) -> None:
        if not group:
            return
        results = session.commit([write for write, _ in group])
        for (_, future), result in zip(group, results, strict=True):
            if isinstance(result, Exception):
                self._fail(future, result)
            else:
                future.set_result(result)
        self._committed()

    def _fail(self, future: Future[Any], error: Exception) -> None:
        failure = UnavailableError(f"{self._what} could not be written: {error}.", hint=self._hint)
        failure.__cause__ = error
        future.set_exception(failure)
