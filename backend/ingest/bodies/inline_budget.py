"""Measures the processor time that small bodies of a tenant take on the event loops of a service.

Endpoints read a small body on the event loop, because that is faster than a process. A small body takes a
millisecond. A malicious one of a few kilobytes takes fifty, and some dozens of connections with such bodies would
delay all other clients for seconds. The bodies of such a tenant are then read in processes, for twenty times as long as
they took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

_USUAL = 0.003  # in seconds; bodies that take less are not counted
_MOST = 0.05  # limit of counted seconds of a tenant; above it, processes read the bodies
_SHARE = 0.05  # counted seconds that expire per second, the share of a loop that such bodies may take


class InlineTime:
    """The processor time of small bodies by tenant (see the module's docstring). Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, processor_clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._processor_clock = processor_clock
        self._lock = Lock()
        self._taken: dict[str, tuple[float, float]] = {}  # by tenant: counted seconds, and the time of the last count

    def has_left(self, tenant: str) -> bool:
        """Whether a small body of a tenant may be read on an event loop now."""
        return tenant not in self._taken or self._seconds(tenant) < _MOST

    @contextmanager
    def counted(self, tenant: str) -> Iterator[None]:
        """Count the processor time of the block, which reads one body in this thread."""
        began = self._processor_clock()
        try:
            yield
        finally:
            seconds = self._processor_clock() - began
            if seconds > _USUAL:
                with self._lock:
                    self._taken[tenant] = (self._seconds(tenant) + seconds, self._clock())

    def _seconds(self, tenant: str) -> float:
        seconds, since = self._taken.get(tenant, (0.0, 0.0))
        return max(0.0, seconds - _SHARE * (self._clock() - since))
