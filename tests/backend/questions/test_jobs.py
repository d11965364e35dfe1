"""Traces as jobs, in processes of their own: what they answer, who may see them, and how they end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.questions import JobState, TooManyQuestionsError, TraceJob, TraceJobs
from headwater.errors import LargeTraceError, UnsupportedError
from headwater.graph.trace.answer import TraceRequest
from tests.backend.questions.conftest import HARD, Opened
from tests.graph.jobs import TENANT

_ALL = TraceRequest(dataset="out", where="v = 7")
_LARGE = 10**12
Started = Callable[..., AbstractAsyncContextManager[TraceJobs]]


@pytest.fixture
def jobs(home: Path) -> Started:
    """Opens the jobs of a service over the home, which names a Spark of this machine."""

    @asynccontextmanager
    async def open_jobs(**options: Any) -> AsyncIterator[TraceJobs]:
        given = {"spark_master": "local[1]", "spark_trace_rows": _LARGE, **options}
        made = TraceJobs(load_settings(home=home, data_roots=[home.parent / "data"], **given))
        try:
            yield made
        finally:
            await made.close()

    return open_jobs


async def until(job: TraceJob, *states: JobState) -> TraceJob:
    deadline = time.monotonic() + 300
    while job.state not in states:
        assert time.monotonic() < deadline, job
        assert not job.has_ended, job
        await asyncio.sleep(0.02)
    return job


async def test_a_small_job_has_the_answer_of_a_question(jobs: Started, opened: Opened) -> None:
    async with jobs() as made, opened() as pool:
        job = await until(made.start("ann", TENANT, _ALL, ()), JobState.COMPLETE)
        answer = await pool.of("ann").trace(TENANT, _ALL)
    assert job.answer is not None
    assert (job.answer.records, job.answer.exact, job.progress) == (answer.records, True, [])
    assert job.ended_at is not None


async def test_a_job_is_its_callers_alone(jobs: Started) -> None:
    async with jobs() as made:
        job = made.start("ann", TENANT, _ALL, ())
        assert made.get("ann", TENANT, job.id) is job
        assert made.get("bob", TENANT, job.id) is made.get("ann", "other", job.id) is made.get("ann", TENANT, "0" * 32) is None
        assert await made.cancel("bob", TENANT, job.id) is None
        assert not job.has_ended


async def test_a_job_that_fails_says_what_was_wrong(jobs: Started) -> None:
    async with jobs() as made:
        job = await until(made.start("ann", TENANT, TraceRequest(dataset="nowhere", where="true"), ()), JobState.FAILED)
    assert job.error is not None
    assert "nowhere" in job.error
    assert job.answer is None


async def test_one_callers_long_job_keeps_no_other_waiting(jobs: Started) -> None:
    async with jobs() as made:
        long = await until(made.start("ann", TENANT, TraceRequest(dataset="out", where=HARD), ()), JobState.RUNNING)
        own = made.start("ann", TENANT, _ALL, ())
        other = await until(made.start("bob", TENANT, _ALL, ()), JobState.COMPLETE)
        assert (long.state, own.state, other.error) == (JobState.RUNNING, JobState.QUEUED, None)


async def test_a_job_at_work_and_one_that_waits_are_cancelled(jobs: Started) -> None:
    async with jobs() as made:
        at_work = await until(made.start("ann", TENANT, TraceRequest(dataset="out", where=HARD), ()), JobState.RUNNING)
        waiting, unborn = (made.start("ann", TENANT, _ALL, ()) for _ in range(2))
        assert await made.cancel("ann", TENANT, unborn.id) is unborn  # before it had its first turn
        await asyncio.sleep(0)
        for job in (waiting, at_work):
            await made.cancel("ann", TENANT, job.id)
        assert {job.state for job in (at_work, waiting, unborn)} == {JobState.CANCELLED}
        after = await until(made.start("ann", TENANT, _ALL, ()), JobState.COMPLETE)  # the place is free again
        assert after.answer is not None
        assert (await made.cancel("ann", TENANT, after.id)) is after
        assert after.state is JobState.COMPLETE


async def test_a_job_beyond_its_deadline_is_ended(jobs: Started) -> None:
    async with jobs(spark_trace_seconds=0.5) as made:
        job = await until(made.start("ann", TENANT, TraceRequest(dataset="out", where=HARD), ()), JobState.FAILED)
    assert job.error == "It took more than 0.5 s and was ended."


async def test_one_caller_does_not_take_all_jobs(jobs: Started) -> None:
    async with jobs() as made:
        for _ in range(4):
            made.start("ann", TENANT, _ALL, ())
        with pytest.raises(TooManyQuestionsError):
            made.start("ann", TENANT, _ALL, ())
        made.start("bob", TENANT, _ALL, ())


@pytest.mark.slow
async def test_one_tenant_does_not_keep_the_jobs_of_another_out(jobs: Started) -> None:
    hard = TraceRequest(dataset="out", where=HARD)
    async with jobs() as made:
        at_work = await until(made.start("ann", TENANT, hard, ()), JobState.RUNNING)
        waiting = [made.start(f"caller {number}", TENANT, hard, ()) for number in range(31)]
        with pytest.raises(TooManyQuestionsError, match="too many jobs"):
            made.start("bob", TENANT, _ALL, ())
        others = made.start("sue", "other", _ALL, ())
        with pytest.raises(TooManyQuestionsError, match="too many jobs"):
            made.start("sam", "other", _ALL, ())
        await made.cancel("ann", TENANT, at_work.id)
        await until(others, JobState.FAILED)  # that tenant has no such dataset
        assert sum(job.state is not JobState.QUEUED for job in waiting) <= 1


async def test_the_answers_of_one_tenant_do_not_push_out_anothers(jobs: Started) -> None:
    async with jobs() as made:
        others = made.start("sue", "other", _ALL, ())
        await made.cancel("sue", "other", others.id)
        jobs_of_ann = []
        for _ in range(40):
            jobs_of_ann.append(made.start("ann", TENANT, _ALL, ()))
            await made.cancel("ann", TENANT, jobs_of_ann[-1].id)
        assert made.get("sue", "other", others.id) is others
        assert made.get("ann", TENANT, jobs_of_ann[0].id) is None
        assert made.get("ann", TENANT, jobs_of_ann[-1].id) is jobs_of_ann[-1]


async def test_without_a_cluster_nothing_is_a_job_and_nothing_is_refused(jobs: Started, opened: Opened) -> None:
    async with jobs(spark_master=None) as made, opened(spark_trace_rows=0) as pool:
        with pytest.raises(UnsupportedError, match="HEADWATER_SPARK_MASTER"):
            made.start("ann", TENANT, _ALL, ())
        assert (await pool.of("ann").trace(TENANT, _ALL)).records


async def test_a_question_that_is_large_is_to_be_started_as_a_job(opened: Opened) -> None:
    async with opened(spark_master="local[1]", spark_trace_rows=0) as pool:
        with pytest.raises(LargeTraceError, match="expected to look at") as caught:
            await pool.of("ann").trace(TENANT, _ALL)
    assert caught.value.hint is not None
    assert "startTrace" in caught.value.hint
