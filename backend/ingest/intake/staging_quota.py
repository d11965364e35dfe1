"""The quota of staged segments, which wait for their manifest.

The staged size is read from the disk from time to time, and counted in memory
in between. The sender of a segment beyond the quota is asked to try again later. It keeps the segment until it is acknowledged, so
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
_FULL_SECONDS = 1.0  # time between two measurements if the quota is full


class StagingQuota:
    """A quota of `limit` bytes. Thread-safe."""

    def __init__(self, records: AssociationStore, limit: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._records = records
        self._limit = limit
        self._clock = clock
        self._lock = Lock()
        self._used = 0
        self._wait = 0.0
        self._looked = clock()

    def look(self) -> None:
        """Measure the staged bytes on the disk, unless this was done a moment ago."""
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
        """Yield the share of one arriving segment. The share is released at the end if the segment was not staged."""
        upload = Upload(self)
        try:
            yield upload
        finally:
            if not upload.is_staged:
                self.take(-upload.taken)

    def take(self, size: int) -> None:
        """Count bytes. A negative number releases bytes.

        Raises:
            UnavailableError: the quota is full.
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
        """Count received bytes. Raises `UnavailableError` if the quota is full."""
        self.taken += size
        self.quota.take(size)
