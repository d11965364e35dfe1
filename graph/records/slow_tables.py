"""A queue of tables that a trace took long to compute. The service keeps these tables, so that the next trace is fast."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

_MOST = 1_000  # tables in the queue; the oldest are dropped beyond this, and the next trace adds them again


@dataclass(frozen=True, slots=True)
class Wanted:
    """The table of a boundary that should be kept."""

    tenant: str
    capture: str
    boundary: int


class WantedTables:
    """The queue. A table that cannot be kept is tried once, unless `forget` is called. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Wanted, None] = OrderedDict()
        self._taken: OrderedDict[Wanted, None] = OrderedDict()

    def add(self, wanted: Wanted) -> None:
        """Add a table, unless it was taken before."""
        with self._lock:
            if wanted not in self._taken:
                _put(self._waiting, wanted)

    def take(self) -> Wanted | None:
        with self._lock:
            if not self._waiting:
                return None
            wanted, _ = self._waiting.popitem(last=False)
            _put(self._taken, wanted)
            return wanted

    def waits_for(self, tenant: str, capture: str) -> bool:
        with self._lock:
            return any((wanted.tenant, wanted.capture) == (tenant, capture) for wanted in self._waiting)

    def forget(self, wanted: Wanted) -> None:
        """Allow a table that was taken to be added again."""
        with self._lock:
            self._taken.pop(wanted, None)


def _put(queue: OrderedDict[Wanted, None], wanted: Wanted) -> None:
    queue[wanted] = None
    if len(queue) > _MOST:
        queue.popitem(last=False)
