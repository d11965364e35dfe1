"""A child process that does one piece of work at a time."""

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
_INLINE = 1 << 20  # larger replies are unpickled in a thread


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document, or a line of a job's progress. A reply follows the last part."""

    number: int
    chunk: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a piece of work: the answer, or the error. `wanted` are tables that took long to compute."""

    number: int
    answer: Any = None
    error: Exception | None = None
    wanted: Sequence[Any] = ()


class ChildProcess(ABC):
    """A process of a pool. The pool gives the process one piece of work at a time."""

    patience = 1.0
    """Seconds in which it leaves what it is at, or it is replaced."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, module: str, first: object, *arguments: str) -> Self:
        """Start a module as a process, send it the first message, and wait until it is ready."""
        # A separate session, because an interrupt of the terminal must reach only the service, which then ends this process.
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
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process can take work. The operating system may have killed it to free memory."""
        assert self._process.stdout is not None  # noqa: S101 - it was made with a pipe
        return self._process.returncode is None and not self._process.stdout.at_eof()

    @abstractmethod
    async def interrupt(self) -> None:
        """Ask the process to stop its work."""

    async def give_up(self) -> bool:
        """Ask the process to stop its work. Returns whether it is ready for other work."""
        try:
            async with asyncio.timeout(self.patience):
                await self.interrupt()
                await self.reply()
        except (TimeoutError, QuestionEndedError):
            return False
        return True

    def signal(self, number: int) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()

    async def close(self) -> None:
        self.kill()
        assert self._process.stdin is not None  # noqa: S101 - it was made with pipes
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdin.close()
        with suppress(RuntimeError):  # another task reads to its end
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
        """Return the reply, and skip the parts before it. Raises like `message`."""
        while isinstance(message := await self.message(), Part):
            pass
        return message

    async def message(self) -> Part | Reply:
        """Return the next message.

        Raises:
            QuestionEndedError: the process ended without a message.
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
    """Lower the priority of this process, so that the service runs first."""
    with suppress(OSError):
        os.nice(more)
        # Linux may share the processor among sessions first, and this process has its own session.
        Path("/proc/self/autogroup").write_text(str(os.nice(0)), encoding="ascii")


def limit_memory(more: int) -> None:
    """Limit the address space of this process to `more` bytes above the present. Linux kills this process first if memory runs out."""
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
