"""The service's handle of a query process."""

from __future__ import annotations

from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Sequence
from itertools import count
from typing import Self

from headwater.backend.access.masks import Mask
from headwater.backend.home.settings import Settings
from headwater.backend.process.child_process import ChildProcess, Part, Reply
from headwater.backend.questions.messages import Ask, Cancel, ExportRequest, JobRequest, QuestionRequest, Single

_CHILD = "headwater.backend.questions.child"


class QuestionProcess(ChildProcess):
    """A process that answers one query at a time."""

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self._numbers = count(1)
        self._number = 0

    @classmethod
    async def start_for(cls, settings: Settings, *arguments: str) -> Self:
        return await cls.start(_CHILD, settings, *arguments)

    async def ask(self, tenant: str, request: Single, masks: Sequence[Mask]) -> Reply:
        """Send a query, and wait for the reply.

        Raises:
            QuestionEndedError: the process ended without a reply.
        """
        await self._ask(tenant, request, masks)
        return await self.reply()

    async def parts(self, tenant: str, request: ExportRequest | JobRequest, masks: Sequence[Mask]) -> AsyncGenerator[Part | Reply, None]:
        """Send a query for a document or a job. Yields its parts, then the reply. Raises like `ask`."""
        await self._ask(tenant, request, masks)
        while isinstance(message := await self.message(), Part):
            yield message
        yield message

    async def interrupt(self) -> None:
        """Report that the answer is no longer needed."""
        await self.send(Cancel(self._number))

    async def _ask(self, tenant: str, request: QuestionRequest, masks: Sequence[Mask]) -> None:
        self._number = next(self._numbers)
        await self.send(Ask(self._number, tenant, request, masks))
