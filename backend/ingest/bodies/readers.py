"""The pool of processes that read the request bodies of a service.

The sender of a body waits for a turn. Tenants take turns, and so do the callers of
a tenant. No tenant can occupy all processes. Reading ends when the client disconnects, and at a limit of processor time. Other
work on the machine does not count. An event loop must never read a body that may take long.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from headwater.backend.home.settings import Settings
from headwater.backend.ingest.bodies.inline_budget import InlineTime
from headwater.backend.ingest.bodies.messages import Limits, Task
from headwater.backend.process.child_errors import QuestionEndedError, TooManyQuestionsError
from headwater.backend.process.child_pool import ProcessPool
from headwater.backend.process.child_process import ChildProcess, Reply
from headwater.backend.process.turns import Caller, Turns
from headwater.errors import HeadwaterError, UnavailableError

_CHILD = "headwater.backend.ingest.bodies.child"
_WAITING = 64  # limit of waiting bodies of one caller
_PATIENCE = 60.0  # limit of seconds that a body waits for its turn
_WALL, _LEAST_WALL = 4, 60.0  # elapsed time, as a multiple of the limit of processor time, and in seconds; a busy machine takes longer
_AGAIN = 0.2  # seconds
_OVERDUE = 5.0  # seconds of waiting after which `state` reports bodies as late
_REMEMBERED = 30.0  # seconds for which `state` reports that a body was not read in time
T = TypeVar("T")


class TooManyBodiesError(TooManyQuestionsError):
    """A caller has too many waiting bodies."""


class _Reader(ChildProcess):
    patience = 5.0  # a busy machine takes this long to start another process

    async def give_up(self) -> bool:
        """Cancel the reading (see `ChildProcess`). The signal is repeated, because reading may begin after the first signal."""
        telling = asyncio.ensure_future(self._tell_again())
        try:
            return await super().give_up()
        finally:
            telling.cancel()

    async def interrupt(self) -> None:
        self.signal(signal.SIGUSR1)

    async def _tell_again(self) -> None:
        while True:
            await asyncio.sleep(_AGAIN)
            self.signal(signal.SIGUSR1)


class Readers(ProcessPool[_Reader]):
    """The processes that read bodies. `inline` counts the processor time of small bodies that need no process."""

    def __init__(self, settings: Settings) -> None:
        self.inline = InlineTime()
        self._limits = Limits(settings.body_seconds, settings.question_bytes)
        places = settings.body_processes
        turns = Turns(places, each=max(1, places - 1), waiting=_WAITING, keeps_one=True, too_many=TooManyBodiesError, what="requests")
        super().__init__(turns, self._begin, "bodies")
        self._failed = float("-inf")  # last time at which a body was not read in time

    @property
    def state(self) -> str:
        """Return `ok`, or the reason why bodies are not read in time."""
        overdue = self.turns.overdue_seconds
        if overdue > _OVERDUE:
            return f"late: {self.turns.count_waiting} bodies wait for a process that reads them, the first for {overdue:.0f} s"
        if time.monotonic() - self._failed < _REMEMBERED:
            return f"late: a body was not read within {_PATIENCE:g} s, or no process could be started to read it"
        return "ok"

    async def read(self, caller: Caller, receive: Receive, read: Callable[..., T], *arguments: object) -> T:
        """Call a module's function for a complete body in a process, and return its result.

        `receive` reports when the client disconnects.

        Raises:
            HeadwaterError: as `read` does.
            BodyTooLargeError: reading the body takes too much processor time, or memory.
            TooManyBodiesError, UnavailableError: no process is free now.
            ClientDisconnect: the client has disconnected.
        """
        work = asyncio.ensure_future(self._answer(caller, Task(read, arguments)))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientDisconnect
            return cast("T", work.result())
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.wait({work, gone})
            for task in (work, gone):
                if not task.cancelled():
                    task.exception()

    async def _answer(self, caller: Caller, task: Task) -> Any:
        try:
            place = await self.turns.take(caller, _PATIENCE)
            if self.turns.count_at_work > 1:  # starts a process for other tenants in advance, because a start takes a second
                self.warm_next()
            process = await self.started(caller, place)
        except TooManyBodiesError:
            raise
        except (HeadwaterError, OSError, TimeoutError) as error:
            self._failed = time.monotonic()
            raise UnavailableError("The service is busy with other bodies.", hint="Send it again.") from error
        reply: Reply | None = None
        try:
            async with asyncio.timeout(max(_LEAST_WALL, self._limits.seconds * _WALL)):
                await process.send(task)
                reply = await process.reply()
        except TimeoutError:
            self._failed = time.monotonic()
            raise UnavailableError("The body was not read in time.", hint="Send it again when the service has less to do.") from None
        except QuestionEndedError:  # the operating system has ended the process, usually because of its memory
            raise UnavailableError("The process that read the body ended.", hint="Send it again, or in parts.") from None
        finally:
            self.leave(caller, place, process, reply)
        if reply.error is not None:
            raise reply.error
        return reply.answer

    async def _begin(self) -> _Reader:
        return await _Reader.start(_CHILD, self._limits)


async def _gone(receive: Receive) -> None:
    with suppress(RuntimeError):  # the connection is closed
        while (await receive())["type"] != "http.disconnect":
            pass
