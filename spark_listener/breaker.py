"""The circuit breaker: what keeps faults of ours away from the user's program.

Every entry of ours into the program's own threads goes through `guard`. A fault there, or too many in the background, turns capture off for
the rest of the process, says so once, and leaves the program as if we were not there. What the user causes (an interrupt, an exit)
passes: it is theirs.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_log = logging.getLogger("headwater")
_TOLERATED = 10  # faults in the background, each of which costs one query its lineage


class Breaker:
    """`closed` while capture works. It opens once, and in a forked child it is open from the start."""

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
        """Whether this process is a fork of the one that captures."""
        return os.getpid() != self._pid

    def problems(self) -> list[dict[str, str | None]]:
        """What the ledger should say of our own faults."""
        reasons = [*self.faults, *([f"capture turned itself off: {self.reason}"] if self.reason else [])]
        return [{"operator": None, "reason": reason, "kind": "fault"} for reason in reasons]

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Run a part of ours in the program's thread: a fault turns capture off and goes no further."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # the promise of this module; the reason is logged
            self.open(f"{doing} failed: {type(error).__name__}: {error}")

    @contextmanager
    def counted(self, doing: str) -> Iterator[None]:
        """Run a part of ours in the background: a fault costs one query its lineage, and is counted."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # the promise of this module; the reason is kept for the ledger
            self.fault(doing, error)

    def fault(self, doing: str, error: Exception) -> None:
        """Count a fault in the background; the last one that is tolerated turns capture off."""
        self.faults.append(f"{doing}: {type(error).__name__}: {error}")
        _log.debug("fault while %s", doing, exc_info=error)
        if len(self.faults) >= _TOLERATED:
            self.open(f"{len(self.faults)} faults, the last one while {self.faults[-1]}")

    def open(self, reason: str) -> None:
        """Turn capture off."""
        with self._lock:
            if not self.closed:
                return
            self.reason = reason
        _log.warning("Headwater turned itself off; the program goes on without it. %s", reason)
        _log.debug("why Headwater turned itself off", exc_info=True)
