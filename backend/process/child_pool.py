"""A pool of child processes, whose users take turns.

Queries and request bodies use it. Work ends with its reply, at its deadline, or when its caller leaves. Its process is then asked to stop,
and is killed and replaced if it does not stop within a second. Processes start on demand and are reused. The first free one is used, so
that a single caller always gets the same warm process. All methods run on the service's event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeVar

from headwater.backend.process.child_errors import QuestionEndedError
from headwater.backend.process.child_process import ChildProcess, Reply
from headwater.backend.process.turns import Caller, Turns

P = TypeVar("P", bound=ChildProcess)
_log = logging.getLogger("headwater.processes")


class ProcessPool(Generic[P]):
    """A pool with one process for each place of `turns`. `start` starts a process; `purpose` is for the log."""

    def __init__(self, turns: Turns, start: Callable[[], Awaitable[P]], purpose: str) -> None:
        self.turns = turns
        self._start = start
        self._purpose = purpose
        self._processes: list[P | None] = [None] * turns.places
        self._starts: dict[int, asyncio.Task[P]] = {}  # starting processes by place
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def warm(self, count: int = 1) -> None:
        """Start the first processes in advance, so that the first callers need not wait."""
        for place in range(count):
            self._later(self._process(place))

    def warm_next(self) -> None:
        """Start the process of the next caller's place, if there is none."""
        if (place := self.turns.next_place) is not None and self._processes[place] is None and place not in self._starts:
            self._later(self._process(place))

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes if process is not None]

    async def started(self, caller: Caller, place: int) -> P:
        """Return the process of a caller's place. If it cannot start, the place is released."""
        try:
            return await self._process(place)
        except BaseException:
            self.turns.give_back(caller, place)
            raise

    def leave(self, caller: Caller, place: int, process: P, reply: Reply | None) -> None:
        """Release a place: immediately after a reply, else when its process can take work again."""
        if self._is_closed:
            return
        if reply is None:
            self._later(self._give_up(caller, place, process))
        elif isinstance(reply.error, QuestionEndedError):  # a memory limit: the state of the process is unknown
            self._later(self._replace(caller, place, process))
        else:
            self.turns.give_back(caller, place)

    async def close(self) -> None:
        self._is_closed = True
        tasks = [*self._tasks, *self._starts.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(process.close() for process in self._processes if process is not None))

    async def _process(self, place: int) -> P:
        process = self._processes[place]
        if process is not None and process.is_alive:
            return process
        if self._is_closed:
            raise QuestionEndedError("The service is ending.")
        if (start := self._starts.get(place)) is None:
            start = self._starts[place] = asyncio.ensure_future(self._start_at(place))
            start.add_done_callback(partial(self._started, place))
        return await asyncio.shield(start)  # a caller that leaves does not cancel the start, because others may wait for it

    async def _start_at(self, place: int) -> P:
        self._processes[place] = None
        process = self._processes[place] = await self._start()
        return process

    def _started(self, place: int, start: asyncio.Task[P]) -> None:
        del self._starts[place]
        if not start.cancelled():
            start.exception()  # every waiting caller gets this error, too

    async def _give_up(self, caller: Caller, place: int, process: P) -> None:
        if await process.give_up():
            self.turns.give_back(caller, place)
        else:
            _log.warning("a process for %s did not give up when it was told to; process %d is replaced", self._purpose, process.pid)
            await self._replace(caller, place, process)

    async def _replace(self, caller: Caller, place: int, process: P) -> None:
        self._processes[place] = None
        try:
            await process.close()
            await self._process(place)
        finally:
            self.turns.give_back(caller, place)

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self._is_closed:
            _log.error("a process for %s did not start: %s", self._purpose, error)
