"""The process that answers queries: one at a time, until its standard input ends.

The pool starts it as `python -m headwater.backend.questions.child`. It reads the stores of a home, and writes only to the cache of
a shared storage. It has a separate memory limit, so that a query that needs too much memory ends only this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO, cast

import duckdb

from headwater.backend.exports.provenance import chunks_of, open_export
from headwater.backend.home.settings import DEFAULT_TENANT, Settings
from headwater.backend.process.child_errors import QuestionEndedError
from headwater.backend.process.child_process import Part, Reply, limit_memory
from headwater.backend.process.messages import packed, read
from headwater.backend.process.pandas_guard import without_pandas
from headwater.backend.questions.masked_answers import MaskedQuestions
from headwater.backend.questions.messages import JOB, Ask, Cancel, Direct, ExportRequest, JobRequest, MaskRequest
from headwater.backend.traces.large_traces import TracesBySize, refusing_large
from headwater.backend.workspace import association_store, graph_store
from headwater.errors import HeadwaterError
from headwater.graph.prov.model import Kind, Statement
from headwater.graph.records import AssociationStore, Wanted
from headwater.graph.stores import GraphStore
from headwater.graph.trace.answer import RowPage, TraceAnswer, TraceRequest
from headwater.graph.trace.explain import ExplainAnswer, ExplainRequest
from headwater.graph.trace.instances import InstanceAnswer, InstanceRequest
from headwater.graph.trace.questions import DirectQuestions, Questions, RowsRequest
from headwater.graph.trace.rank import RankAnswer, RankRequest
from headwater.graph.trace.tracer import Tracer, get_tracer
from headwater.graph.trace.version_diff.answer import DiffRequest, VersionDiff

DirectAnswer = TraceAnswer | RowPage | VersionDiff | ExplainAnswer | InstanceAnswer | RankAnswer
_REPEAT_SECONDS = 0.02  # interval of interrupts for an abandoned query, which may be between two statements
_log = logging.getLogger("headwater.questions")


class Answerer:
    """Answers queries from `requests` and writes the replies to `replies`."""

    def __init__(self, settings: Settings, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests = requests
        self._replies = replies
        self._graph: GraphStore = graph_store(settings)
        self._is_open = False
        self._settings = settings
        self._records = association_store(settings, settings.folder.registry)
        self._of_tenants: dict[str, AssociationStore] = {}
        self._tracer: Tracer = get_tracer(self._records)  # opens a database before the first query
        self._memory = settings.question_bytes
        self._asked: asyncio.Queue[Ask] = asyncio.Queue()
        self._lock = threading.Lock()  # guards the next two, because an interrupt must never hit the next query
        self._at = 0  # the number of the current query, or 0
        self._cancelled = 0  # the number of the last abandoned query

    async def run(self) -> None:
        """Answer until `requests` ends, which ends the process."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=[loop], name="headwater-questions", daemon=True).start()
        self._send(Reply(0))
        while True:
            ask = await self._asked.get()
            self._begin(ask.number)
            reply = await self._answer(ask)
            self._begin(0)
            self._send(reply)

    def _begin(self, number: int) -> None:
        with self._lock:
            self._at = number

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        while (message := read(self._requests)) is not None:
            if isinstance(message, Cancel):
                with self._lock:
                    self._cancelled = message.number
                threading.Thread(target=self._interrupt, args=[message.number], name="headwater-interrupt", daemon=True).start()
            else:
                loop.call_soon_threadsafe(self._asked.put_nowait, message)
        os._exit(0)  # the service is gone, and nobody waits for the answer

    def _interrupt(self, number: int) -> None:
        while True:
            with self._lock:
                if self._at != number:
                    return
                for tracer in (self._tracer, *map(get_tracer, list(self._of_tenants.values()))):
                    tracer.interrupt()
            time.sleep(_REPEAT_SECONDS)

    async def _answer(self, ask: Ask) -> Reply:
        try:
            if not self._is_open:
                await self._graph.open()
                self._is_open = True
            records = self._records_of(ask.tenant)
            questions = self._questions_of(ask, records)
            if ask.masks:
                is_of_job = isinstance(ask.request, JobRequest)
                questions = MaskedQuestions(questions, self._graph, records, ask.masks, keeps_origins=is_of_job)
            answer: DirectAnswer | int | None = None
            if ask.number == self._cancelled:
                pass  # the query was abandoned
            elif isinstance(ask.request, ExportRequest):
                if isinstance(questions, MaskedQuestions):
                    ask = replace(ask, request=replace(ask.request, trace=await questions.permitted(ask.tenant, ask.request.trace)))
                answer = await self._export(ask, records)
            elif isinstance(ask.request, MaskRequest):
                masked = MaskedQuestions(DirectQuestions(self._graph, records), self._graph, records, ask.masks)
                answer = await masked.masked_anew(ask.tenant, ask.request.trace, ask.request.answer)
            else:
                answer = await _answer_of(questions, ask.tenant, ask.request)
        except HeadwaterError as error:
            return Reply(ask.number, error=error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next question must be answered
            return Reply(ask.number, error=self._fault(ask, error))
        return Reply(ask.number, answer, wanted=self._wanted())

    def _questions_of(self, ask: Ask, records: AssociationStore) -> Questions:
        if isinstance(ask.request, JobRequest):
            return TracesBySize(self._settings, self._graph, records, lambda line: self._send(Part(ask.number, line.encode())))
        if self._settings.spark_master is None:
            return DirectQuestions(self._graph, records)
        return DirectQuestions(self._graph, records, session_factory=refusing_large, larger_than=self._settings.spark_trace_rows)

    async def _export(self, ask: Ask, records: AssociationStore) -> int:
        request = cast("ExportRequest", ask.request)
        count = 0

        def counted(records: Iterator[Statement]) -> Iterator[Statement]:
            nonlocal count
            for statement in records:
                count += statement.kind is Kind.ENTITY
                yield statement

        async with open_export(self._graph, records, ask.tenant, request.trace) as export:
            counted_export = replace(export, records=counted(export.records)) if export.records is not None else export
            async for chunk in chunks_of(counted_export, request.notation):
                if ask.number == self._cancelled:
                    break
                self._send(Part(ask.number, chunk))
        return count

    def _records_of(self, tenant: str) -> AssociationStore:
        """Return the record store of a tenant, which reads data below the tenant's roots only."""
        if tenant == DEFAULT_TENANT:
            return self._records
        if tenant not in self._of_tenants:
            self._of_tenants[tenant] = association_store(self._settings, self._settings.folder.registry, tenant=tenant)
        return self._of_tenants[tenant]

    def _fault(self, ask: Ask, error: Exception) -> Exception:
        if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
            gigabytes = self._memory / 2**30
            return QuestionEndedError(
                f"The question needs more than {gigabytes:g} GiB of memory.",
                hint="Ask for fewer records, or raise HEADWATER_QUESTION_BYTES.",
            )
        if ask.number != self._cancelled:
            _log.error("a question failed", exc_info=error)
        return RuntimeError(f"{type(error).__name__}: {error}")

    def _wanted(self) -> list[Wanted]:
        found = []
        for records in (self._records, *self._of_tenants.values()):
            while (wanted := records.wanted.take()) is not None:
                records.wanted.forget(wanted)  # the service itself remembers which ones it has tried
                found.append(wanted)
        return found

    def _send(self, message: Part | Reply) -> None:
        self._replies.write(packed(message))
        self._replies.flush()


async def _answer_of(questions: Questions, tenant: str, request: TraceRequest | Direct | JobRequest) -> DirectAnswer:
    if isinstance(request, RowsRequest):
        return await questions.rows(tenant, request)
    if isinstance(request, DiffRequest):
        return await questions.diff(tenant, request)
    if isinstance(request, ExplainRequest):
        return await questions.explain(tenant, request)
    if isinstance(request, InstanceRequest):
        return await questions.instances(tenant, request)
    if isinstance(request, RankRequest):
        return await questions.rank(tenant, request)
    return await questions.trace(tenant, request.trace if isinstance(request, JobRequest) else request)


def main() -> None:
    if JOB not in sys.argv:  # Spark may use it
        without_pandas()
    requests: BinaryIO = os.fdopen(os.dup(0), "rb")
    replies: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with replies
    settings: Any = read(requests)
    if settings is None:
        return
    answerer = Answerer(settings, requests, replies)
    if sys.platform == "linux" and JOB not in sys.argv:  # the limit would also apply to the Spark of a job
        limit_memory(settings.question_bytes)
    asyncio.run(answerer.run())


if __name__ == "__main__":
    main()
