"""Traces as jobs: one request starts a job, others read its state, and it ends by request or at a deadline.

Jobs are for traces that are too large to be answered immediately. Each runs in a separate process, which starts Spark if the size requires
it (`traces.large_traces`). A few run at a time, one for each caller, because each may use the whole cluster. Tenants take turns, and so do
their callers. Only its caller may see a job. Its result stays in memory for a while, and is lost when the service ends. All methods run
on the service's event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from uuid import uuid4

from headwater.backend.access.masks import Mask
from headwater.backend.home.settings import Settings
from headwater.backend.process.child_errors import QuestionEndedError, TooManyQuestionsError
from headwater.backend.process.child_process import Part
from headwater.backend.process.turns import Caller, Turns
from headwater.backend.questions.messages import JOB, JobRequest
from headwater.backend.questions.process import QuestionProcess
from headwater.errors import ConfigurationError, HeadwaterError, UnsupportedError
from headwater.graph.trace.answer import TraceAnswer, TraceRequest
from headwater.graph.trace.on_spark.errors import SparkJobError

_EACH = 4  # limit of unfinished jobs of one caller
_WAITING = 32  # limit of waiting jobs of all callers; a tenant without a job may still start one
_KEPT = 32  # limit of finished jobs; above it, the oldest job of the tenant with the most jobs is removed
_LINES = 200  # limit of lines of a job's progress
_log = logging.getLogger("headwater.questions")


class JobState(StrEnum):
    """The progress of a job. The last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class TraceJob:
    """One trace job. `masks` are the rules that masked its answer."""

    id: str
    caller: str
    tenant: str
    request: TraceRequest
    masks: Sequence[Mask] = field(repr=False)
    started_at: str
    state: JobState = JobState.QUEUED
    ended_at: str | None = None
    progress: list[str] = field(default_factory=list)
    error: str | None = None
    answer: TraceAnswer | None = field(default=None, repr=False)
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def has_ended(self) -> bool:
        return self.state not in {JobState.QUEUED, JobState.RUNNING}


class TraceJobs:
    """The large traces that run as jobs of one service."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._turns = Turns(settings.spark_trace_jobs, each=1, waiting=_EACH)
        self._jobs: dict[str, TraceJob] = {}

    def start(self, caller: str, tenant: str, request: TraceRequest, masks: Sequence[Mask]) -> TraceJob:
        """Queue a job.

        Raises:
            UnsupportedError: the operator has configured no cluster.
            TooManyQuestionsError: the caller has too many unfinished jobs, or the service has, and the tenant has one of them.
        """
        if self._settings.spark_master is None:
            raise UnsupportedError(
                "Traces are not run as jobs by this service.", hint="Its operator may name a Spark: HEADWATER_SPARK_MASTER."
            )
        open_jobs = [job for job in self._jobs.values() if not job.has_ended]
        if sum(job.caller == caller for job in open_jobs) >= _EACH:
            raise TooManyQuestionsError(f"{_EACH} of your jobs have not ended.", hint="Wait for them, or cancel one.")
        if len(open_jobs) >= _WAITING and any(job.tenant == tenant for job in open_jobs):
            raise TooManyQuestionsError("The service has too many jobs.", hint="Start it again later.")
        job = TraceJob(uuid4().hex, caller, tenant, request, tuple(masks), _now())
        self._jobs[job.id] = job
        job.task = asyncio.create_task(self._run(job))
        self._forget()
        return job

    def get(self, caller: str, tenant: str, identifier: str) -> TraceJob | None:
        """Return a job of this caller. Jobs of other callers are not found."""
        job = self._jobs.get(identifier)
        return job if job is not None and (job.caller, job.tenant) == (caller, tenant) else None

    async def cancel(self, caller: str, tenant: str, identifier: str) -> TraceJob | None:
        """End a job, and return it. A finished job stays unchanged."""
        job = self.get(caller, tenant, identifier)
        if job is not None and job.task is not None and not job.has_ended:
            job.task.cancel()
            await asyncio.wait({job.task})
            if not job.has_ended:  # the job was cancelled before it began
                job.state, job.ended_at = JobState.CANCELLED, _now()
        return job

    async def close(self) -> None:
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, job: TraceJob) -> None:
        try:
            who = Caller(job.tenant, job.caller)
            place = await self._turns.take(who, None)
            try:
                job.state = JobState.RUNNING
                async with asyncio.timeout(self._settings.spark_trace_seconds):
                    job.answer = await self._answer(job)
            finally:
                self._turns.give_back(who, place)
            job.state = JobState.COMPLETE
        except asyncio.CancelledError:
            job.state = JobState.CANCELLED
            raise
        except TimeoutError:
            job.state, job.error = JobState.FAILED, f"It took more than {self._settings.spark_trace_seconds:g} s and was ended."
        except Exception as error:  # noqa: BLE001 - the state must never stay "running" when nothing runs
            job.state, job.error = JobState.FAILED, _message(error)
        finally:
            job.ended_at = _now()

    async def _answer(self, job: TraceJob) -> TraceAnswer:
        process = await QuestionProcess.start_for(self._settings, JOB)
        try:
            async with aclosing(process.parts(job.tenant, JobRequest(job.request), job.masks)) as parts:
                async for message in parts:
                    if not isinstance(message, Part):
                        if message.error is not None:
                            raise message.error
                        answer: TraceAnswer = message.answer
                        return answer
                    if len(job.progress) < _LINES:
                        job.progress.append(message.chunk.decode())
            raise QuestionEndedError("The process that worked on this job ended.")
        finally:
            await process.close()

    def _forget(self) -> None:
        ended = [job for job in self._jobs.values() if job.has_ended]
        while len(ended) > _KEPT:
            (most, _), *_ = Counter(job.tenant for job in ended).most_common(1)
            earliest = next(job for job in ended if job.tenant == most)
            ended.remove(earliest)
            del self._jobs[earliest.id]


def _message(error: Exception) -> str:
    """Return the reason of a failure for the caller. Details of the cluster's configuration are left out."""
    if isinstance(error, HeadwaterError) and not isinstance(error, ConfigurationError | SparkJobError):
        return str(error)
    _log.error("a job failed", exc_info=error)
    return "Spark could not be used for it. The service's log says more."


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
