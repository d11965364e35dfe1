"""The searches for culprits of a service, for GraphQL. They wait for replays and recaptures, which run programs of the home, too."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from headwater.backend.rerun.culprits.origins import find_origins
from headwater.backend.rerun.culprits.search import HomeOfSearch, blame_records, explain_failure, find_wrong_result
from headwater.backend.rerun.culprits.trials import Values
from headwater.backend.rerun.culprits.wrong_rows import BlameRequest, WrongRows
from headwater.backend.rerun.queued_jobs import QueuedJob, QueuedJobs, now
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.culprits.record_set import RecordSet
from headwater.graph.trace import TracedRecord
from headwater.graph.trace.questions import Questions

_MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class Culprit:
    """A record to blame: its file, its row from 0, and its values by column."""

    file: str
    row: int
    values: Mapping[str, Any]


@dataclass(kw_only=True)
class CulpritSearchJob(QueuedJob):
    """The state of a search: for the records at which a run failed (`why`), or that make a result wrong (`blame`).

    `subject` is the run or the dataset. `left` is the number of records in the present trial. `count` counts the culprits, and `records`
    has the first ones. `problem` says why there is none. `wrong_rows` counts the wrong rows of a dataset.
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
    cancelled: Event = field(default_factory=Event, repr=False)


class CulpritSearches(QueuedJobs[CulpritSearchJob]):
    """Implements the schema's `CulpritService`. `questions` answers without masks, so the caller needs the right."""

    def __init__(self, home: HomeOfSearch, questions: Questions, turn: asyncio.Lock) -> None:
        super().__init__(turn, "searches for culprits")
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
        job = self._job(tenant, "blame", wrong.read_as.dataset)
        job.wrong_rows = wrong.total

        async def search() -> None:
            report = await blame_records(self._home, tenant, wrong, seconds=seconds, progress=_advance(job), cancel=job.cancelled)
            notes = [*wrong.notes, *report.notes]
            await self._keep(job, report.records, report.values, is_minimal=report.is_minimal, problem=report.problem, notes=notes)

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
        if job.cancelled.is_set():
            raise InvalidQueryError("The search was cancelled.")


def _advance(job: CulpritSearchJob) -> Callable[[int, int], None]:
    def advance(trials: int, left: int) -> None:
        job.trials, job.left = trials, left

    return advance
