"""A queue of tables that traces computed slowly. The service keeps them, so that the next trace is fast."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

_MOST = 1_000  # that wait; beyond it the oldest are forgotten, and asked for again by the next trace


@dataclass(frozen=True, slots=True)
class Wanted:
    """The table of a boundary that is not kept."""

    tenant: str
    capture: str
    boundary: int


class WantedTables:
    """The queue. A table is taken from it once, unless it is forgotten, so a table that cannot be kept is tried once.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Wanted, None] = OrderedDict()
        self._taken: OrderedDict[Wanted, None] = OrderedDict()

    def add(self, wanted: Wanted) -> None:
        """Ask for one."""
        with self._lock:
            if wanted not in self._taken:
                _put(self._waiting, wanted)

    def take(self) -> Wanted | None:
        """The one that waits longest; None where none does."""
        with self._lock:
            if not self._waiting:
                return None
            wanted, _ = self._waiting.popitem(last=False)
            _put(self._taken, wanted)
            return wanted

    def waits_for(self, tenant: str, capture: str) -> bool:
        """Whether a table of a capture waits to be taken."""
        with self._lock:
            return any((wanted.tenant, wanted.capture) == (tenant, capture) for wanted in self._waiting)

    def forget(self, wanted: Wanted) -> None:
        """Take it again once it is asked for again."""
        with self._lock:
            self._taken.pop(wanted, None)


def _put(queue: OrderedDict[Wanted, None], wanted: Wanted) -> None:
    queue[wanted] = None
    if len(queue) > _MOST:
        queue.popitem(last=False)
