"""A copy of a small table, for what every request asks: named keys, sessions that were ended.

A request must not wait for the database, so the copy is read anew every second by a thread. One that could not be read anew for ten seconds
tells nothing: a key that was revoked meanwhile must not go on opening doors.
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
    """See the module's docstring. `read` reads the table, which people know as `what`. Thread-safe."""

    def __init__(self, read: Callable[[], T], what: str) -> None:
        self._read = read
        self._what = what
        self._lock = Lock()
        self._known: T | None = None
        self._as_of = float("-inf")
        self._reader: Thread | None = None
        self._closing = Event()

    def now(self) -> T:
        """The copy. The first time it is read; what is asked then may wait.

        Raises:
            UnavailableError: it is too old.
        """
        if self._reader is None:
            with self._lock:
                if self._reader is None:
                    # Begun even where the database is away: only the first question may wait for it, since it is asked on the event loop.
                    self._reader = Thread(target=self._go_on, name="headwater-copied", daemon=True)
                    self._reader.start()
                    self.learn()
        if self._known is None or time.monotonic() - self._as_of > _OLD:
            raise UnavailableError(f"The {self._what} cannot be read: the shared log does not answer.", hint="Send again when it is back.")
        return self._known

    def learn(self) -> None:
        """Read it anew at once. Raises `UnavailableError`."""
        began = time.monotonic()
        self._known = self._read()
        self._as_of = began

    def close(self) -> None:
        """Read no more."""
        self._closing.set()
        if self._reader is not None:
            self._reader.join()

    def _go_on(self) -> None:
        while not self._closing.wait(_EVERY):
            try:
                self.learn()
            except Exception as error:  # noqa: BLE001 - whatever it is: without this thread, nobody would be let in again
                _log.warning("the %s cannot be read anew: %s", self._what, error)
