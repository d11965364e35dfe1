"""A fair queue: tenants and their callers take turns to use a limited number of places.

A free place goes to the tenant with the fewest places that has waited longest, however many requests
other tenants send. Within a tenant, callers take turns in the same way.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from headwater.backend.process.child_errors import TooManyQuestionsError
from headwater.errors import UnavailableError


class Caller(NamedTuple):
    """A key or a person of a tenant."""

    tenant: str
    name: str


@dataclass(slots=True)
class _Waiting:
    caller: Caller
    since: float
    place: asyncio.Future[int] = field(repr=False)


class Turns:
    """Assigns the places 0 … `places` − 1.

    A caller has at most `each` of them at a time, and at most `waiting` waiting queries. Once a second tenant has asked, or from the
    beginning (`keeps_one`), no tenant gets all places, unless there is only one. Error messages name the waiting work `what`.
    """

    def __init__(
        self,
        places: int,
        *,
        each: int,
        waiting: int,
        keeps_one: bool = False,
        too_many: type[TooManyQuestionsError] = TooManyQuestionsError,
        what: str = "questions",
    ) -> None:
        self.places = places
        self._keeps_one = keeps_one
        self._too_many = too_many
        self._what = what
        self._free = list(range(places))
        self._each = each
        self._most = waiting
        self._at_work: Counter[Caller] = Counter()
        self._of_tenant: Counter[str] = Counter()
        self._waiting: list[_Waiting] = []
        self._clock = count(1)
        self._served: dict[str | Caller, int] = {}  # number of the last turn of a tenant or caller
        self._tenants: set[str] = set()

    async def take(self, caller: Caller, patience: float | None) -> int:
        """Wait for a place. The first free one is used, because its process is the warmest.

        Raises:
            TooManyQuestionsError: the caller has too many waiting queries.
            UnavailableError: no place became free in `patience` seconds.
        """
        if sum(one.caller == caller for one in self._waiting) >= self._most:
            raise self._too_many(f"{self._most} of your {self._what} wait already.", hint="Wait for their answers, then try again.")
        self._tenants.add(caller.tenant)
        waiting = _Waiting(caller, time.monotonic(), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._give_out()
        try:
            async with asyncio.timeout(patience):
                return await waiting.place
        except BaseException as error:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            elif waiting.place.done() and not waiting.place.cancelled():  # the place was assigned at the moment when the caller left
                self.give_back(caller, waiting.place.result())
            if isinstance(error, TimeoutError):
                raise UnavailableError(f"The service is busy with other {self._what}.", hint="Try again.") from None
            raise

    @property
    def count_waiting(self) -> int:
        return len(self._waiting)

    @property
    def next_place(self) -> int | None:
        return self._free[0] if self._free else None

    @property
    def count_at_work(self) -> int:
        return self.places - len(self._free)

    @property
    def overdue_seconds(self) -> float:
        """Return how many seconds a tenant without any place has waited, which cannot be caused by its own work."""
        since = [waiting.since for waiting in self._waiting if not self._of_tenant[waiting.caller.tenant]]
        return time.monotonic() - min(since) if since else 0.0

    def give_back(self, caller: Caller, place: int) -> None:
        self._at_work[caller] -= 1
        self._of_tenant[caller.tenant] -= 1
        if not self._at_work[caller]:
            del self._at_work[caller]
        if not self._of_tenant[caller.tenant]:
            del self._of_tenant[caller.tenant]
        self._free.append(place)
        self._free.sort()
        self._give_out()

    def _give_out(self) -> None:
        while self._free and (ready := [waiting for waiting in self._waiting if self._may_begin(waiting)]):
            waiting = min(ready, key=self._rank)  # the first one of equal rank
            caller = waiting.caller
            self._waiting.remove(waiting)
            self._at_work[caller] += 1
            self._of_tenant[caller.tenant] += 1
            self._served[caller.tenant] = self._served[caller] = next(self._clock)
            waiting.place.set_result(self._free.pop(0))
        if not self._waiting and not self._at_work:
            self._served.clear()

    def _may_begin(self, waiting: _Waiting) -> bool:
        caller = waiting.caller
        most = self.places - 1 if (self._keeps_one or len(self._tenants) > 1) and self.places > 1 else self.places
        return not waiting.place.done() and self._at_work[caller] < self._each and self._of_tenant[caller.tenant] < most

    def _rank(self, waiting: _Waiting) -> tuple[int, int, int, int]:
        caller = waiting.caller
        return (
            self._of_tenant[caller.tenant], self._served.get(caller.tenant, 0), self._at_work[caller], self._served.get(caller, 0),
        )  # fmt: skip
