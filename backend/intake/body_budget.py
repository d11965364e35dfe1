"""How many bytes of request bodies may be in memory at once, over all connections.

For the guard, which counts what arrives, and for the endpoints, which count what they unpack. Each body has a limit of its own; many at
once must not fill the memory either. What is beyond the budget is refused and never waits: a body that waits is in memory.
"""

from __future__ import annotations

from threading import Lock

from headwater.errors import UnavailableError


class BodiesInFlightError(UnavailableError):
    """There is no room for one more body now."""


class BodyBudget:
    """The bytes that all bodies together may take. Safe to use from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._taken = 0

    @property
    def taken(self) -> int:
        """Bytes of bodies that are in memory now."""
        return self._taken

    def share(self, stated: int = 0) -> BodyShare:
        """The share of one request, which takes nothing yet.

        Raises:
            BodiesInFlightError: a body of `stated` bytes has no room now, so none of it should be read.
        """
        if self._taken + stated > self._most:
            raise self._full()
        return BodyShare(self)

    def take(self, size: int) -> None:
        """Count some bytes more.

        Raises:
            BodiesInFlightError: there is no room for them.
        """
        with self._lock:
            if self._taken + size > self._most:
                raise self._full()
            self._taken += size

    def give_back(self, size: int) -> None:
        """Some bytes are no longer in memory."""
        with self._lock:
            self._taken -= size

    def _full(self) -> BodiesInFlightError:
        return BodiesInFlightError(
            f"The bodies of other requests take {self._taken:,} bytes, and {self._most:,} are the most.",
            hint="Send it again in a second; or raise HEADWATER_BODIES_BYTES.",
        )


class BodyShare:
    """What the body of one request takes of the budget, as it came and unpacked, until the request has its answer."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._taken = 0

    def take(self, size: int) -> None:
        """Count some bytes more.

        Raises:
            BodiesInFlightError: there is no room for them.
        """
        self._budget.take(size)
        self._taken += size

    def release(self) -> None:
        """Give back all that was taken."""
        self._budget.give_back(self._taken)
        self._taken = 0
