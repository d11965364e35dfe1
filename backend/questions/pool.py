"""The query processes of a service, and the limits of their callers.

See `ProcessPool` for the end of a query. The process of an export does not wait for its reader: the document is buffered
(`answer_buffer`). All methods run on the service's event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, cast

from headwater.backend.access.masks import Mask
from headwater.backend.home.settings import DEFAULT_TENANT, Settings
from headwater.backend.process.child_errors import QuestionEndedError
from headwater.backend.process.child_pool import ProcessPool
from headwater.backend.process.child_process import Part, Reply
from headwater.backend.process.tracing import span
from headwater.backend.process.turns import Caller, Turns
from headwater.backend.questions.answer_buffer import WaitingAnswer, WaitingAnswers
from headwater.backend.questions.messages import ExportRequest, MaskRequest, Single
from headwater.backend.questions.process import QuestionProcess
from headwater.backend.worker import WantsTables
from headwater.graph.prov import ProvFormat
from headwater.graph.trace.answer import RowPage, TraceAnswer, TraceRequest
from headwater.graph.trace.explain import ExplainAnswer, ExplainRequest
from headwater.graph.trace.instances import InstanceAnswer, InstanceRequest
from headwater.graph.trace.questions import RowsRequest
from headwater.graph.trace.rank import RankAnswer, RankRequest
from headwater.graph.trace.version_diff.answer import DiffRequest, VersionDiff

_WAITING = 32  # limit of waiting queries of one caller


class QuestionPool(ProcessPool[QuestionProcess]):
    """The query processes. Tables that they find missing are added to `wanted`.

    `on_outcome` is called with the outcome of each query, and its duration in seconds.
    """

    def __init__(self, settings: Settings, wanted: WantsTables, on_outcome: Callable[[str, float], None] = lambda _, __: None) -> None:
        self._settings = settings
        self._wanted = wanted
        self._on_outcome = on_outcome
        places = settings.question_processes
        turns = Turns(places, each=max(1, places * 2 // 3), waiting=_WAITING)
        super().__init__(turns, partial(QuestionProcess.start_for, settings), "questions")
        self._making: set[asyncio.Future[int]] = set()  # running exports
        self._waiting_answers = WaitingAnswers(settings.answer_bytes)

    def of(self, caller: str, masks: Sequence[Mask] = ()) -> CallersQuestions:
        """Return the `Questions` of one caller, with answers masked by `masks`."""
        return CallersQuestions(self, caller, masks)

    @property
    def waiting_bytes(self) -> int:
        return self._waiting_answers.disk_bytes

    async def ask(self, caller: str, tenant: str, request: Single, masks: Sequence[Mask] = ()) -> Any:
        """Answer a query.

        Raises:
            QuestionEndedError: the query exceeded its time or memory.
            TooManyQuestionsError, UnavailableError: the query could not begin.
            HeadwaterError: the query itself failed.
        """
        seconds = self._settings.question_seconds
        began = time.perf_counter()
        who = Caller(tenant, caller)
        place = await self.turns.take(who, seconds)
        outcome = "ended"
        try:
            with span("question", kind=type(request).__name__):
                reply = await self._reply(who, place, tenant, request, masks, seconds)
            outcome = "refused" if reply.error else "answered"
        finally:
            self._on_outcome(outcome, time.perf_counter() - began)
        if reply.error is not None:
            raise reply.error
        if tenant == DEFAULT_TENANT:  # the code that stores these tables reads below the home's data roots
            for wanted in reply.wanted:
                self._wanted.add(wanted)
        return reply.answer

    async def export(
        self, caller: str, tenant: str, request: ExportRequest, counted: Callable[[int], None], masks: Sequence[Mask] = ()
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of a document, each within the deadline. At the end, `counted` is called with its number of records.

        A reader may be slow, because the process is free once it has made the document. If there is no room for unread parts, the process
        waits for the reader, in total no longer than the deadline. Raises like `ask`.
        """
        who = Caller(tenant, caller)
        answer = self._waiting_answers.open(who)
        made = asyncio.ensure_future(self._make(who, request, masks, answer))
        self._making.add(made)
        try:
            async with aclosing(answer.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
            counted(made.result())
        finally:
            made.cancel()
            await asyncio.wait([made])
            self._making.discard(made)
            answer.close()

    async def _make(self, who: Caller, request: ExportRequest, masks: Sequence[Mask], answer: WaitingAnswer) -> int:
        try:
            count = await self._made(who, request, masks, answer)
        except asyncio.CancelledError:
            answer.end(QuestionEndedError("The service is ending."))  # the other case: the reader is gone
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the reader's
            answer.end(error)
            return 0
        answer.end()
        return count

    async def _made(self, who: Caller, request: ExportRequest, masks: Sequence[Mask], answer: WaitingAnswer) -> int:
        seconds = self._settings.question_seconds
        place = await self.turns.take(who, seconds)
        process = await self.started(who, place)
        reply: Reply | None = None
        patience = seconds  # remaining time to wait for the reader, in seconds
        try:
            async with aclosing(process.parts(who.tenant, request, masks)) as parts:
                while reply is None:
                    try:
                        async with asyncio.timeout(seconds):
                            message = await anext(parts)
                    except TimeoutError:
                        raise _too_long(seconds) from None
                    if isinstance(message, Part):
                        began = time.monotonic()
                        try:
                            async with asyncio.timeout(patience):
                                await answer.add(message.chunk)
                        except TimeoutError:
                            raise _read_too_slowly(seconds) from None
                        patience -= time.monotonic() - began
                    else:
                        reply = message
        finally:
            self.leave(who, place, process, reply)
        if reply.error is not None:
            raise reply.error
        return cast("int", reply.answer)

    async def close(self) -> None:
        self._is_closed = True
        making = list(self._making)
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)
        await super().close()

    async def _reply(
        self, caller: Caller, place: int, tenant: str, request: Single, masks: Sequence[Mask],
        seconds: float,
    ) -> Reply:  # fmt: skip
        process = await self.started(caller, place)
        reply: Reply | None = None
        try:
            async with asyncio.timeout(seconds):
                reply = await process.ask(tenant, request, masks)
        except TimeoutError:
            raise _too_long(seconds) from None
        finally:
            self.leave(caller, place, process, reply)
        return reply


class CallersQuestions:
    """The `Questions` of one caller, and its exports."""

    def __init__(self, pool: QuestionPool, caller: str, masks: Sequence[Mask]) -> None:
        self._pool = pool
        self._caller = caller
        self._masks = masks

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        return cast("TraceAnswer", await self._pool.ask(self._caller, tenant, request, self._masks))

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        return cast("RowPage", await self._pool.ask(self._caller, tenant, request, self._masks))

    async def diff(self, tenant: str, request: DiffRequest) -> VersionDiff:
        return cast("VersionDiff", await self._pool.ask(self._caller, tenant, request, self._masks))

    async def explain(self, tenant: str, request: ExplainRequest) -> ExplainAnswer:
        return cast("ExplainAnswer", await self._pool.ask(self._caller, tenant, request, self._masks))

    async def instances(self, tenant: str, request: InstanceRequest) -> InstanceAnswer:
        return cast("InstanceAnswer", await self._pool.ask(self._caller, tenant, request, self._masks))

    async def rank(self, tenant: str, request: RankRequest) -> RankAnswer:
        return cast("RankAnswer", await self._pool.ask(self._caller, tenant, request, self._masks))

    async def masked_again(self, tenant: str, request: TraceRequest, answer: TraceAnswer) -> TraceAnswer:
        """Mask the answer of a job by the present rules. Raises like `MaskedQuestions.masked_anew`."""
        return cast("TraceAnswer", await self._pool.ask(self._caller, tenant, MaskRequest(request, answer), self._masks))

    def export(
        self, tenant: str, request: TraceRequest, notation: ProvFormat, *, counted: Callable[[int], None] = lambda _: None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the provenance of traced records as chunks of a document. At the end, `counted` gets the number of records."""
        return self._pool.export(self._caller, tenant, ExportRequest(request, notation), counted, self._masks)


def _too_long(seconds: float) -> QuestionEndedError:
    return QuestionEndedError(
        f"The question took more than {seconds:g} s and was ended.", hint="Ask for fewer records, or raise HEADWATER_QUESTION_SECONDS."
    )


def _read_too_slowly(seconds: float) -> QuestionEndedError:
    return QuestionEndedError(
        f"The export was larger than HEADWATER_ANSWER_BYTES allows to wait for its reader, who was {seconds:g} s behind, and was ended.",
        hint="Read it more quickly, or ask for fewer records.",
    )
