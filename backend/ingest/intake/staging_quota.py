"""The quota of staged segments: segments that wait for their manifest.

For the endpoint that accepts segments. The staged size is read from the disk from time to time, and counted in memory
between. A segment beyond the quota gets the answer to come again. Its sender keeps it until it is acknowledged, so
nothing is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from headwater.errors import UnavailableError
from headwater.graph.records import AssociationStore

_LOOK_SECONDS = 30.0
_FULL_SECONDS = 1.0  # where there is no room, others may have made some


class StagingQuota:
    """At most `limit` bytes. Thread-safe."""

    def __init__(self, records: AssociationStore, limit: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._records = records
        self._limit = limit
        self._clock = clock
        self._lock = Lock()
        self._used = 0
        self._wait = 0.0
        self._looked = clock()

    def look(self) -> None:
        """Look what is staged, if that was not done a moment ago. Reads the disk."""
        with self._lock:
            if self._clock() - self._looked < self._wait:
                return
            self._looked = self._clock()
            self._wait = _LOOK_SECONDS
        staged = self._records.bytes_staged()
        with self._lock:
            self._used = staged

    @contextmanager
    def upload(self) -> Iterator[Upload]:
        """One segment on its way here; what it took is given back if it is not staged in the end."""
        upload = Upload(self)
        try:
            yield upload
        finally:
            if not upload.is_staged:
                self.take(-upload.taken)

    def take(self, size: int) -> None:
        """Count bytes; a negative number gives some back.

        Raises:
            UnavailableError: there is no room for them.
        """
        with self._lock:
            self._used = max(0, self._used + size)
            if size > 0 and self._used > self._limit:
                self._wait = _FULL_SECONDS
                raise UnavailableError(
                    f"More than {self._limit} bytes of segments wait for their manifests.",
                    hint="Send the manifests of what was sent, or raise HEADWATER_STAGED_BYTES; what is sent again later is taken then.",
                )


@dataclass(slots=True)
class Upload:
    """The share of one segment in the quota."""

    quota: StagingQuota
    taken: int = 0
    is_staged: bool = False

    def take(self, size: int) -> None:
        """Count bytes that have come. Raises `UnavailableError` where there is no room."""
        self.taken += size
        self.quota.take(size)
