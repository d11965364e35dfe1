"""The limit for bytes of request bodies in memory, over all connections.

The guard counts arriving bytes, and the endpoints count decompressed bytes. Each body has a limit of its own.
Many concurrent bodies must not fill the memory either, and a slow sender must not block the others. A caller may use
half of the limit, and a tenant three quarters. A body beyond that is refused and never waits, because a
waiting body occupies memory.
"""

from __future__ import annotations

from collections import Counter
from threading import Lock

from headwater.errors import UnavailableError


class BodiesInFlightError(UnavailableError):
    """The limit leaves no room for another body now."""


class BodyBudget:
    """The limit of bytes for all bodies together. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._taken = 0
        self._of: Counter[tuple[str, ...]] = Counter()  # bytes by tenant, and by tenant and caller

    @property
    def taken(self) -> int:
        """Return the number of bytes of bodies in memory."""
        return self._taken

    def share(self, tenant: str, caller: str, stated: int = 0) -> BodyShare:
        """Return an empty share for one request.

        Raises:
            BodiesInFlightError: a body of `stated` bytes has no room now, so none of it should be read.
        """
        share = BodyShare(self, tenant, caller)
        with self._lock:
            self._check(share, stated)
        return share

    def take(self, share: BodyShare, size: int) -> None:
        """Count more bytes.

        Raises:
            BodiesInFlightError: there is no room for them.
        """
        with self._lock:
            self._check(share, size)
            self._taken += size
            for owner in share.owners:
                self._of[owner] += size

    def give_back(self, share: BodyShare, size: int) -> None:
        with self._lock:
            self._taken -= size
            for owner in share.owners:
                self._of[owner] -= size
                if not self._of[owner]:
                    del self._of[owner]

    def _check(self, share: BodyShare, size: int) -> None:
        tenant, caller = share.owners
        for taken, most, whose in (
            (self._taken, self._most, "other requests"),
            (self._of[tenant], self._most - self._most // 4, "other requests of your tenant"),
            (self._of[caller], self._most // 2, "your other requests"),
        ):
            if taken + size > most:
                raise BodiesInFlightError(
                    f"The bodies of {whose} take {taken:,} bytes, and {most:,} are the most.",
                    hint="Send it again in a second; or raise HEADWATER_BODIES_BYTES.",
                )


class BodyShare:
    """The bytes of one request's body in the budget, compressed and decompressed, until the request is answered."""

    def __init__(self, budget: BodyBudget, tenant: str, caller: str) -> None:
        self.owners = ((tenant,), (tenant, caller))
        self._budget = budget
        self._taken = 0

    def take(self, size: int) -> None:
        """Count more bytes.

        Raises:
            BodiesInFlightError: there is no room for them.
        """
        self._budget.take(self, size)
        self._taken += size

    def release(self) -> None:
        self._budget.give_back(self, self._taken)
        self._taken = 0
