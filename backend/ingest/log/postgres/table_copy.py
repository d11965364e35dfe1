"""A copy of a small table that every request needs: named keys, ended sessions.

A request must not wait for the database, so a thread reads the table again every second. A copy older than ten seconds is not used, because
a key may have been revoked meanwhile.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

from headwater.errors import UnavailableError

T = TypeVar("T")
_EVERY = 1.0  # seconds
_OLD = 10.0
_log = logging.getLogger("headwater.log")


class Copied(Generic[T]):
    """A copy of a table (see the module's docstring). `read` reads the table, and `what` is its name for people. Thread-safe."""

    def __init__(self, read: Callable[[], T], what: str) -> None:
        self._read = read
        self._what = what
        self._lock = Lock()
        self._known: T | None = None
        self._as_of = float("-inf")
        self._reader: Thread | None = None
        self._closing = Event()

    def now(self) -> T:
        """Return the copy. The first call reads the table, and may wait.

        Raises:
            UnavailableError: the copy is too old.
        """
        if self._reader is None:
            with self._lock:
                if self._reader is None:
                    # Start the thread even if the database is away: only the first call may wait for it, because calls run on the event
                    # loop.
                    self._reader = Thread(target=self._go_on, name="headwater-copied", daemon=True)
                    self._reader.start()
                    self.learn()
        if self._known is None or time.monotonic() - self._as_of > _OLD:
            raise UnavailableError(f"The {self._what} cannot be read: the shared log does not answer.", hint="Send again when it is back.")
        return self._known

    def learn(self) -> None:
        """Read the table again now. Raises `UnavailableError`."""
        began = time.monotonic()
        self._known = self._read()
        self._as_of = began

    def close(self) -> None:
        """Stop reading."""
        self._closing.set()
        if self._reader is not None:
            self._reader.join()

    def _go_on(self) -> None:
        while not self._closing.wait(_EVERY):
            try:
                self.learn()
            except Exception as error:  # noqa: BLE001 - whatever it is: without this thread, nobody would be let in again
                _log.warning("the %s cannot be read anew: %s", self._what, error)
