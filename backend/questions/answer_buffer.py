"""Buffers answers for slow readers, first in memory and then in temporary files, so that the process of an answer becomes free.

Exports use it, because clients may read slowly. Parts that were read are removed. All answers share a limited disk space; a tenant may use
half of it, and one answer a quarter. Beyond that, the producer of an answer waits for its reader. The files have no name, so they
vanish when the service ends. All methods run on the service's event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from threading import Lock
from typing import IO

from headwater.backend.process.child_errors import TooManyQuestionsError
from headwater.backend.process.turns import Caller
from headwater.errors import UnavailableError

_IN_MEMORY = 256 * 1024  # limit of bytes of one answer in memory
_PIECE = 256 * 1024  # bytes per read
_FILE = 8 * 1024 * 1024  # bytes of one file, which is removed after it was read
_OPEN = 32  # limit of open answers of one caller


class WaitingAnswers:
    """The buffered answers of a service, with at most `most_bytes` on disk."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._taken: Counter[str] = Counter()  # bytes of disk by tenant
        self._open: Counter[Caller] = Counter()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def disk_bytes(self) -> int:
        return self._taken.total()

    def open(self, caller: Caller) -> WaitingAnswer:
        """Return a new answer for a caller, who must close it.

        Raises:
            TooManyQuestionsError: the caller has too many unread answers.
        """
        if self._open[caller] >= _OPEN:
            raise TooManyQuestionsError(f"{_OPEN} of your exports are not read to their end.", hint="Read them, then ask again.")
        self._open[caller] += 1
        return WaitingAnswer(self, caller)

    def closed(self, caller: Caller) -> None:
        self._open[caller] -= 1
        if not self._open[caller]:
            del self._open[caller]

    def take(self, tenant: str, of_answer: int, count: int) -> bool:
        """Reserve `count` bytes of disk for an answer that has `of_answer` bytes there. Returns whether there is room."""
        most = self._most_bytes
        if of_answer + count > most // 4 or self._taken[tenant] + count > most // 2 or self.disk_bytes + count > most:
            return False
        self._taken[tenant] += count
        return True

    def give_back(self, tenant: str, count: int) -> None:
        """Release disk space, and wake the waiting producers."""
        self._taken[tenant] -= count
        if not self._taken[tenant]:
            del self._taken[tenant]
        self.changed()

    async def change(self) -> None:
        """Wait until a reader has read something."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await waiting
        finally:
            self._waiting.remove(waiting)

    def changed(self) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)


@dataclass(slots=True, eq=False)
class _Portion:
    """A file with a part of an answer: `read` of its `written` bytes were read, and `room` bytes of disk are reserved."""

    file: IO[bytes]
    written: int = 0
    read: int = 0
    room: int = 0
    is_appended_to: bool = False
    lock: Lock = field(default_factory=Lock)  # a file must not be closed while a thread uses it

    def append(self, piece: bytes) -> None:
        with self.lock:
            rest = memoryview(piece)
            while rest and not self.file.closed:
                count = os.pwrite(self.file.fileno(), rest, self.written)
                self.written += count
                rest = rest[count:]

    def next(self) -> bytes:
        with self.lock:
            piece = b"" if self.file.closed else os.pread(self.file.fileno(), _PIECE, self.read)
            self.read += len(piece)
            return piece

    def close(self) -> None:
        with self.lock:
            self.file.close()


class WaitingAnswer:
    """One answer: a task adds its pieces, and its reader takes them in order."""

    def __init__(self, answers: WaitingAnswers, caller: Caller) -> None:
        self._answers = answers
        self._caller = caller
        self._memory: deque[bytes] = deque()  # everything before the files
        self._in_memory = 0
        self._portions: deque[_Portion] = deque()
        self._has_more = asyncio.Event()
        self._is_whole = False
        self._fault: Exception | None = None
        self._is_closed = False

    async def add(self, piece: bytes) -> None:
        """Append a piece. Waits for room.

        Raises:
            UnavailableError: the disk is full.
        """
        while not await self._added(piece):
            await self._answers.change()
        self._has_more.set()

    def end(self, fault: Exception | None = None) -> None:
        """Mark the answer as complete. A `fault` is raised to the reader after the pieces before it."""
        self._is_whole, self._fault = fault is None, fault
        self._has_more.set()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the pieces as they arrive.

        Raises:
            Exception: the fault that ended the answer.
        """
        while True:
            self._has_more.clear()
            piece = await self._next()
            if piece:
                self._answers.changed()
                yield piece
            elif self._memory or (self._portions and not self._portions[0].is_appended_to):
                continue
            elif self._portions or not (self._is_whole or self._fault):
                await self._has_more.wait()
            elif self._fault is not None:
                raise self._fault
            else:
                return

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        while self._portions:
            self._remove(self._portions[0])
        self._memory.clear()
        self._answers.closed(self._caller)

    async def _added(self, piece: bytes) -> bool:
        if not self._portions and (not self._memory or self._in_memory + len(piece) <= _IN_MEMORY):
            self._memory.append(piece)
            self._in_memory += len(piece)
            return True
        if not self._answers.take(self._caller.tenant, sum(portion.room for portion in self._portions), len(piece)):
            return False
        try:
            portion = self._portion(len(piece))
            try:
                await asyncio.to_thread(portion.append, piece)
            finally:
                portion.is_appended_to = False
        except OSError as error:
            raise UnavailableError(
                f"The answer cannot be kept until it is read ({error.strerror}).", hint="Read it more quickly, or ask for fewer records."
            ) from error
        return True

    def _portion(self, room: int) -> _Portion:
        if not self._portions or self._portions[-1].written >= _FILE:
            try:
                self._portions.append(_Portion(TemporaryFile(buffering=0)))  # noqa: SIM115 - closed when it has been read
            except OSError:
                self._answers.give_back(self._caller.tenant, room)
                raise
        portion = self._portions[-1]
        portion.room += room
        portion.is_appended_to = True
        return portion

    async def _next(self) -> bytes:
        """Return the next piece. It is empty if there is none yet, or if a file was read to its end."""
        if self._memory:
            piece = self._memory.popleft()
            self._in_memory -= len(piece)
            return piece
        if not self._portions:
            return b""
        portion = self._portions[0]
        piece = await asyncio.to_thread(portion.next)
        if portion.read == portion.written and not portion.is_appended_to:
            self._remove(portion)
        return piece

    def _remove(self, portion: _Portion) -> None:
        self._portions.remove(portion)
        self._answers.give_back(self._caller.tenant, portion.room)
        asyncio.get_running_loop().run_in_executor(None, portion.close)  # in a thread, because another thread may hold the lock
