"""The processor time that small bodies of a tenant take on the event loops of a service.

Endpoints read a small body where it arrives, because that is quicker than a process. A small body takes a
millisecond. A malicious one of a few kilobytes takes fifty, and some dozens of connections that send such bodies
delay everybody else for seconds. The bodies of such a tenant are read in processes, until twenty times the time that
they took has passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

_USUAL = 0.003  # seconds: a body that takes less counts for nothing, however many there are
_MOST = 0.05  # seconds that a tenant may have taken; beyond, its bodies are read elsewhere
_SHARE = 0.05  # of each second is forgiven: so much of a loop may a tenant take with such bodies


class InlineTime:
    """See the module's docstring. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, processor_clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._processor_clock = processor_clock
        self._lock = Lock()
        self._taken: dict[str, tuple[float, float]] = {}  # by tenant: seconds, and when they were counted

    def has_left(self, tenant: str) -> bool:
        """Return whether a small body of a tenant may be read on an event loop now."""
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
