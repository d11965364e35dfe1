"""Whose turn it is: a few places, taken in order, of which no caller has all while others wait."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from headwater.backend.questions.errors import TooManyQuestionsError
from headwater.errors import UnavailableError


@dataclass(slots=True)
class _Waiting:
    caller: str
    place: asyncio.Future[int] = field(repr=False)


class Turns:
    """Gives out the places 0 … `places` − 1; `each` at most to one caller at a time, of whom `waiting` questions may wait."""

    def __init__(self, places: int, *, each: int, waiting: int) -> None:
        self._free = list(range(places))
        self._each = each
        self._most = waiting
        self._at_work: Counter[str] = Counter()
        self._waiting: list[_Waiting] = []

    async def take(self, caller: str, patience: float) -> int:
        """Wait for a place: the first that is free, as it is the warmest.

        Raises:
            TooManyQuestionsError: the caller has more waiting than one caller may.
            UnavailableError: none became free in `patience` seconds.
        """
        if sum(one.caller == caller for one in self._waiting) >= self._most:
            raise TooManyQuestionsError(f"{self._most} of your questions wait already.", hint="Wait for their answers, then ask again.")
        waiting = _Waiting(caller, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._give_out()
        try:
            async with asyncio.timeout(patience):
                return await waiting.place
        except BaseException as error:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            elif waiting.place.done() and not waiting.place.cancelled():  # given in the moment in which the caller left
                self.give_back(caller, waiting.place.result())
            if isinstance(error, TimeoutError):
                raise UnavailableError("The service is busy with other questions.", hint="Ask again.") from None
            raise

    def give_back(self, caller: str, place: int) -> None:
        """Free a place."""
        self._at_work[caller] -= 1
        if not self._at_work[caller]:
            del self._at_work[caller]
        self._free.append(place)
        self._free.sort()
        self._give_out()

    def _give_out(self) -> None:
        for waiting in list(self._waiting):
            if not self._free:
                return
            if self._at_work[waiting.caller] < self._each and not waiting.place.done():
                self._waiting.remove(waiting)
                self._at_work[waiting.caller] += 1
                waiting.place.set_result(self._free.pop(0))
