"""A question process, as the service holds it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from itertools import count
from typing import Self

from headwater.backend.masks import Mask
from headwater.backend.messages import LENGTH, packed, unpacked
from headwater.backend.questions.errors import QuestionEndedError
from headwater.backend.questions.wire import (
    Ask,
    Asked,
    Cancel,
    ExportRequest,
    JobRequest,
    MaskRequest,
    Part,
    Reply,
)
from headwater.backend.settings import Settings
from headwater.graph.trace.answer import TraceRequest
from headwater.graph.trace.questions import RowsRequest

_START_SECONDS = 60.0
_INLINE = 1 << 20  # bytes of a reply that are unpacked at once; a larger one is unpacked in a thread
_END_SECONDS = 1.0


class QuestionProcess:
    """One process. It answers one question at a time; the pool sees to that."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = count(1)
        self._number = 0

    @classmethod
    async def start(cls, settings: Settings, *arguments: str) -> Self:
        """Start a process, and wait until it can answer."""
        # A session of its own: the interrupt of a terminal is for the service, which then ends this.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "headwater.backend.questions.child", *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        started = cls(process)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await started._send(settings)
                await started._reply()
        except BaseException:
            await started.close()
            raise
        return started

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it is there to be asked: the machine ends it first where it has no more memory."""
        assert self._process.stdout is not None  # noqa: S101 - it was made with a pipe
        return self._process.returncode is None and not self._process.stdout.at_eof()

    async def ask(self, tenant: str, request: TraceRequest | RowsRequest | MaskRequest, masks: Sequence[Mask]) -> Reply:
        """Ask, and wait for the reply.

        Raises:
            QuestionEndedError: the process ended before it had one.
        """
        await self._ask(tenant, request, masks)
        return await self._reply()

    async def parts(self, tenant: str, request: ExportRequest | JobRequest, masks: Sequence[Mask]) -> AsyncGenerator[Part | Reply, None]:
        """Ask for a document, or a job: its parts, then the reply. Raises as `ask` does."""
        await self._ask(tenant, request, masks)
        while isinstance(message := await self._message(), Part):
            yield message
        yield message

    async def give_up(self) -> bool:
        """Have it leave the question that it is at; whether it can be asked the next."""
        try:
            async with asyncio.timeout(_END_SECONDS):
                await self._send(Cancel(self._number))
                await self._reply()
        except (TimeoutError, QuestionEndedError):
            return False
        return True

    def kill(self) -> None:
        """End it at once."""
        if self._process.returncode is None:
            self._process.kill()

    async def close(self) -> None:
        """End it, and wait until it is gone and its pipes are closed."""
        self.kill()
        assert self._process.stdin is not None  # noqa: S101 - it was made with pipes
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdin.close()
        with suppress(RuntimeError):  # somebody else reads to its end
            await self._process.stdout.read()
        await self._process.wait()

    async def _ask(self, tenant: str, request: Asked, masks: Sequence[Mask]) -> None:
        self._number = next(self._numbers)
        await self._send(Ask(self._number, tenant, request, masks))

    async def _reply(self) -> Reply:
        """The reply to the question that it is at, without the parts before it."""
        while isinstance(message := await self._message(), Part):
            pass
        return message

    async def _send(self, message: object) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was made with a pipe
        try:
            self._process.stdin.write(packed(message))
            await self._process.stdin.drain()
        except OSError as error:
            raise _ended() from error

    async def _message(self) -> Part | Reply:
        assert self._process.stdout is not None  # noqa: S101 - it was made with a pipe
        try:
            (length,) = LENGTH.unpack(await self._process.stdout.readexactly(LENGTH.size))
            body = await self._process.stdout.readexactly(length)
        except asyncio.IncompleteReadError as error:
            raise _ended() from error
        message: Part | Reply = unpacked(body) if length < _INLINE else await asyncio.to_thread(unpacked, body)
        return message


def _ended() -> QuestionEndedError:
    return QuestionEndedError(
        "The process that worked on this question ended.",
        hint="It may have needed more memory than there is: ask for fewer records. The service's log has more.",
    )
