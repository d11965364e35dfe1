"""The searches for culprits of a service, for GraphQL: culprits of runs and rows, comparisons of runs, and cleanings of results.

They wait for replays and recaptures, which run programs of the home, too.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

from headwater.backend.rerun.culprits.origins import find_origins
from headwater.backend.rerun.culprits.search import HomeOfSearch, blame_records, explain_failure, find_wrong_result
from headwater.backend.rerun.culprits.trials import Values
from headwater.backend.rerun.culprits.wrong_rows import BlameRequest, WrongRows
from headwater.backend.rerun.queued_jobs import QueuedJob, QueuedJobs, now
from headwater.backend.rerun.replay import Replays
from headwater.backend.rerun.replay.kinds import Sources
from headwater.backend.rerun.replay.model import Limits
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.culprits.record_set import RecordSet
from headwater.graph.trace import TracedRecord
from headwater.graph.trace.questions import Questions, RowsRequest

if TYPE_CHECKING:
    from headwater.backend.rerun.cleaning.clean import Cleaned, CleanPlan, CleanRequest
    from headwater.backend.rerun.comparison.report import Comparison

_MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class Culprit:
    """A record to blame: its file, its row from 0, and its values by column."""

    file: str
    row: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cleaning:
    """A cleaning of a result. `cleaned` is None until its replay has ended, and if no replay was asked for."""

    plan: CleanPlan
    cleaned: Cleaned | None = None


@dataclass(kw_only=True)
class CulpritSearchJob(QueuedJob):
    """The state of a search: for the records at which a run failed (`why`), or that make a result wrong (`blame`).

    Or for the records that still give a row (`witness`). A comparison of two runs (`compare`) has its result in `comparison`. A cleaning
    (`clean`) has its result in `cleaning`, and the records that it leaves out in `records`. `replay` is the id of its replay. `doing` says
    what a search does now.

    `subject` is the run (of two, the second one) or the dataset. `left` is the number of records in the present trial. `count` counts the
    culprits, and `records` has the first ones. `problem` says why there is none. `wrong_rows` counts the wrong rows of a dataset.
    """

    kind: str
    subject: str
    trials: int = 0
    left: int = 0
    step: str | None = None
    function: str | None = None
    wrong_rows: int | None = None
    records: Sequence[Culprit] = ()
    count: int = 0
    is_minimal: bool = False
    problem: str | None = None
    origins: Sequence[Culprit] = ()
    notes: Sequence[str] = ()
    doing: str | None = None
    comparison: Comparison | None = None
    cleaning: Cleaning | None = None
    replay: str | None = None
    cancelled: Event = field(default_factory=Event, repr=False)


class CulpritSearches(QueuedJobs[CulpritSearchJob]):
    """Implements the schema's `CulpritService`. `questions` answers without masks, so the caller needs the right."""

    def __init__(self, home: HomeOfSearch, questions: Questions, replays: Replays, turn: asyncio.Lock) -> None:
        super().__init__(turn, "searches for culprits")
        self._replays = replays
        self._home = home
        self._questions = questions

    async def start_why(self, tenant: str, run: str | None, seconds: float) -> str:
        """Queue a search for the record at which a run failed, and return its id. `run` is a run or a job; None: the last failed run.

        Raises:
            InvalidQueryError: the run did not fail.
            NotFoundError: there is no such run.
            UnsupportedError: its program is not registered or changed since.
        """
        from headwater.backend.rerun.culprits.failed_runs import find_failed_run

        failed = await find_failed_run(self._home.graph, tenant, self._home.registry, run)
        failed.invocation(self._home.registry)
        job = self._job(tenant, "why", failed.run.id)

        async def search() -> None:
            report = await explain_failure(self._home, failed, seconds=seconds, progress=_advance(job), cancel=job.cancelled)
            if report.repeated is not None:
                job.step, job.function = report.repeated.place, report.repeated.function
            await self._keep(job, report.records, report.values, is_minimal=report.is_minimal, problem=report.problem, notes=report.notes)

        return self.add(job, search)

    async def start_blame(self, tenant: str, request: BlameRequest, seconds: float) -> str:
        """Queue a search for the records that make rows wrong, and return its id. Raises as `find_wrong_rows`."""
        wrong: WrongRows = await find_wrong_result(self._home, tenant, request, self._questions)
        job = self._job(tenant, "blame" if request.like is None else "witness", wrong.read_as.dataset)
        job.wrong_rows = wrong.total

        async def search() -> None:
            report = await blame_records(self._home, tenant, wrong, seconds=seconds, progress=_advance(job), cancel=job.cancelled)
            notes = [*wrong.notes, *report.notes]
            await self._keep(job, report.records, report.values, is_minimal=report.is_minimal, problem=report.problem, notes=notes)

        return self.add(job, search)

    async def start_compare(self, tenant: str, first: str, second: str, seconds: float, *, replays: bool) -> str:
        """Queue a comparison of two runs of a job, and return its id. Raises as `find_compared_runs`."""
        from headwater.backend.rerun.comparison.attribution import compare_runs  # imported late, because it loads DuckDB
        from headwater.backend.rerun.comparison.compared_runs import find_compared_runs

        sources = Sources(tenant, self._home.graph, self._home.records.sources, self._questions.trace)
        runs = await find_compared_runs(first, second, sources, self._home.registry)
        job = self._job(tenant, "compare", runs[1].run)

        async def search() -> None:
            job.comparison = await compare_runs(
                self._home, tenant, runs[0].run, runs[1].run, self._questions, replays=replays, seconds=seconds, progress=_tell(job),
                cancel=job.cancelled,
            )  # fmt: skip
            job.trials = job.comparison.trials
            _check_not_cancelled(job)

        return self.add(job, search)

    async def start_clean(self, tenant: str, request: CleanRequest, seconds: float | None, *, by: str, dry_run: bool) -> str:
        """Queue a cleaning of a result, and return its id. The quality must be an expression.

        Raises:
            InvalidQueryError: the expression cannot be computed.
            NotFoundError: there is no such dataset.
        """
        from headwater.backend.rerun.cleaning.clean import plan_cleaning, run_cleaning  # imported late, because it loads DuckDB

        expression = str(request.quality)
        check = RowsRequest(request.dataset, where=f"hash((\n{expression}\n)) IS NULL", first=0)
        await self._questions.rows(tenant, check)  # in a process with limits, before this one computes it
        job = self._job(tenant, "clean", request.dataset)

        async def search() -> None:
            tell = _tell(job)
            tell("tracing the worst and the best rows")
            plan = await plan_cleaning(self._home, tenant, request, self._questions)
            job.subject = plan.read_as.dataset
            job.count, job.notes, job.cleaning = len(plan.records), plan.notes, Cleaning(plan)
            job.records = [Culprit(file, row, {}) for file, row in plan.records.slice(0, _MOST_LISTED)]
            _check_not_cancelled(job)
            if dry_run:
                return

            async def keep(replay: str) -> None:
                job.replay = replay
                if job.cancelled.is_set():
                    await self._replays.cancel(tenant, replay)

            cleaned = await run_cleaning(
                self._home, self._replays, tenant, request, plan, limits=Limits(seconds=seconds), by=by, progress=tell, planned=keep
            )
            job.cleaning, job.notes = Cleaning(plan, cleaned), [*plan.notes, *cleaned.replay.notes]

        return self.add(job, search)

    async def cancel(self, tenant: str, identifier: str) -> CulpritSearchJob:
        """Ask a waiting or running search to end. The smallest set so far stays.

        Raises:
            NotFoundError: there is no such search.
            InvalidQueryError: the search has ended.
        """
        job = await self.get(tenant, identifier)
        if job is None:
            raise NotFoundError(f"There is no search {identifier}.", hint="A service forgets its searches when it ends.")
        if job.has_ended:
            raise InvalidQueryError(
                f"The search {identifier} has ended: it is {job.state}.", field="id", hint="There is nothing to cancel."
            )
        job.cancelled.set()
        if job.replay is not None:
            with suppress(InvalidQueryError):  # it has just ended
                await self._replays.cancel(tenant, job.replay)
        return job

    async def close(self) -> None:
        """End the running search, and forget those that wait."""
        for job in self._jobs.values():
            job.cancelled.set()
        await super().close()

    def _job(self, tenant: str, kind: str, subject: str) -> CulpritSearchJob:
        return CulpritSearchJob(id=uuid.uuid4().hex, tenant=tenant, started_at=now(), kind=kind, subject=subject)

    async def _keep(
        self,
        job: CulpritSearchJob,
        records: RecordSet,
        values: Mapping[tuple[str, int], Values],
        *,
        is_minimal: bool,
        problem: str | None,
        notes: Sequence[str],
    ) -> None:
        job.count, job.is_minimal, job.problem, job.notes = len(records), is_minimal, problem, notes
        job.records = [Culprit(file, row, values.get((file, row), {})) for file, row in records.slice(0, _MOST_LISTED)]
        origins: Sequence[TracedRecord] = await find_origins(self._questions, job.tenant, records)
        job.origins = [Culprit(one.file, one.row, one.values) for one in origins if one.file is not None and one.row is not None]
        _check_not_cancelled(job)


def _check_not_cancelled(job: CulpritSearchJob) -> None:
    if job.cancelled.is_set():
        raise InvalidQueryError("The search was cancelled.")


def _tell(job: CulpritSearchJob) -> Callable[[str], None]:
    def tell(text: str) -> None:
        job.doing = text

    return tell


def _advance(job: CulpritSearchJob) -> Callable[[int, int], None]:
    def advance(trials: int, left: int) -> None:
        job.trials, job.left = trials, left

    return advance
