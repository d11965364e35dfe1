"""The circuit breaker: keeps faults of Headwater away from the user's program.

Every call of Headwater in the program's threads goes through `guard`. A fault there, or too many faults in the background, turn capture off
for the rest of the process. The breaker logs that once, and the program runs as if without Headwater. Interrupts and exits by the user
pass.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_log = logging.getLogger("headwater")
_TOLERATED = 10  # faults in the background; each costs one query its lineage


class Breaker:
    """The circuit breaker of a process.

    `closed` while capture works. Once open, it stays open. In a forked child it is open from the start.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self.reason: str | None = None
        self.faults: list[str] = []

    @property
    def closed(self) -> bool:
        return self.reason is None and not self.forked

    @property
    def forked(self) -> bool:
        return os.getpid() != self._pid

    def problems(self) -> list[dict[str, str | None]]:
        reasons = [*self.faults, *([f"capture turned itself off: {self.reason}"] if self.reason else [])]
        return [{"operator": None, "reason": reason, "kind": "fault"} for reason in reasons]

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Run code of Headwater in the program's thread. A fault turns capture off, and does not reach the program."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # the promise of this module; the reason is logged
            self.open(f"{doing} failed: {type(error).__name__}: {error}")

    @contextmanager
    def counted(self, doing: str) -> Iterator[None]:
        """Run code of Headwater in the background. A fault costs one query its lineage, and is counted."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # the promise of this module; the reason is kept for the ledger
            self.fault(doing, error)

    def fault(self, doing: str, error: Exception) -> None:
        """Count a fault in the background. Too many faults turn capture off."""
        self.faults.append(f"{doing}: {type(error).__name__}: {error}")
        _log.debug("fault while %s", doing, exc_info=error)
        if len(self.faults) >= _TOLERATED:
            self.open(f"{len(self.faults)} faults, the last one while {self.faults[-1]}")

    def open(self, reason: str) -> None:
        with self._lock:
            if not self.closed:
                return
            self.reason = reason
        _log.warning("Headwater turned itself off; the program goes on without it. %s", reason)
        _log.debug("why Headwater turned itself off", exc_info=True)
