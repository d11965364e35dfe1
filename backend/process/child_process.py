"""A process that does one thing after the other, as the service holds it.

For questions, jobs and bodies. Requests and answers are messages of `backend.process.messages`; each answer ends with a `Reply`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from headwater.backend.process.child_errors import QuestionEndedError
from headwater.backend.process.messages import LENGTH, packed, unpacked

_START_SECONDS = 60.0
_INLINE = 1 << 20  # bytes of a reply that are unpacked at once; a larger one is unpacked in a thread


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a document, or a line of a job's progress. A reply follows the last one."""

    number: int
    chunk: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a piece of work: its answer, or the error. `wanted` are tables that the process had to find again at length."""

    number: int
    answer: Any = None
    error: Exception | None = None
    wanted: Sequence[Any] = ()


class ChildProcess(ABC):
    """One process. It has one piece of work at a time; its pool sees to that."""

    patience = 1.0
    """Seconds in which it leaves what it is at, or it is replaced."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, module: str, first: object, *arguments: str) -> Self:
        """Start a module as a process, send it the first message, and wait until it can work."""
        # A session of its own: the interrupt of a terminal is for the service, which then ends this.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        started = cls(process)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await started.send(first)
                await started.reply()
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

    @abstractmethod
    async def interrupt(self) -> None:
        """Ask it to leave what it is at."""

    async def give_up(self) -> bool:
        """Have it leave what it is at; whether it can be asked the next."""
        try:
            async with asyncio.timeout(self.patience):
                await self.interrupt()
                await self.reply()
        except (TimeoutError, QuestionEndedError):
            return False
        return True

    def signal(self, number: int) -> None:
        """Send it a signal, if it is there."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

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

    async def send(self, message: object) -> None:
        """Send a message.

        Raises:
            QuestionEndedError: the process has ended.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was made with a pipe
        try:
            self._process.stdin.write(packed(message))
            await self._process.stdin.drain()
        except OSError as error:
            raise _ended() from error

    async def reply(self) -> Reply:
        """The reply to what it is at, without the parts before it. Raises as `message` does."""
        while isinstance(message := await self.message(), Part):
            pass
        return message

    async def message(self) -> Part | Reply:
        """The next message.

        Raises:
            QuestionEndedError: the process ended before it had one.
        """
        assert self._process.stdout is not None  # noqa: S101 - it was made with a pipe
        try:
            (length,) = LENGTH.unpack(await self._process.stdout.readexactly(LENGTH.size))
            body = await self._process.stdout.readexactly(length)
        except asyncio.IncompleteReadError as error:
            raise _ended() from error
        message: Part | Reply = unpacked(body) if length < _INLINE else await asyncio.to_thread(unpacked, body)
        return message


def give_way(more: int) -> None:
    """Let the service go first, where both want the processor."""
    with suppress(OSError):
        os.nice(more)
        # Linux may weigh sessions first, and processes within theirs alone; this one has a session of its own.
        Path("/proc/self/autogroup").write_text(str(os.nice(0)), encoding="ascii")


def limit_memory(more: int) -> None:
    """Let this process take `more` bytes of address space beside what it has now, and be the first to go where the machine has no more."""
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _ended() -> QuestionEndedError:
    return QuestionEndedError(
        "The process that worked on this question ended.",
        hint="It may have needed more memory than there is: ask for fewer records. The service's log has more.",
    )
