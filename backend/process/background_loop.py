"""A thread with an event loop of its own, which works while there is something to do and goes on after a fault."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from threading import Event, Thread

from headwater.errors import HeadwaterError

_IDLE = 1.0  # seconds between two looks whether there is something to do


class BackgroundLoop(ABC):
    """Works between `start` and `stop`. `wake` ends a rest early. `what` is the subject of its messages, in the plural."""

    def __init__(self, what: str, *, pause: float) -> None:
        """`pause` are the seconds of rest after a fault."""
        self._what, self._pause = what, pause
        self._log = logging.getLogger(f"headwater.{what}")
        self._stopping = False
        self._woken = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._go_on()), name=f"headwater-{what}", daemon=True)
        self.state = "idle"

    @abstractmethod
    def _is_needed(self) -> bool:
        """Whether there is something to do at all. While there is not, `_work` is not called."""

    @abstractmethod
    async def _work(self) -> None:
        """Work until `_stopping`. A fault may end it; it is then called again."""

    def start(self) -> None:
        if not self._thread.is_alive() and not self._stopping:
            self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        """Stop the thread, and wait for its end. Processes that it started are not ended."""
        self._stopping = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()

    async def _go_on(self) -> None:
        while not self._stopping:
            self._woken.clear()  # else an earlier wake would end every wait below
            if not self._is_needed():
                await self._wait(_IDLE)
                continue
            try:
                await self._work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the work must go on when it is over
                self._fail(error)
                self._woken.clear()
                await self._wait(self._pause)

    def _fail(self, error: Exception) -> None:
        self.state = f"failed: {error}"
        self._log.warning("%s wait: %s", self._what, error, exc_info=not isinstance(error, HeadwaterError))

    async def _wait(self, seconds: float) -> None:
        if not self._stopping:
            await asyncio.to_thread(self._woken.wait, seconds)
