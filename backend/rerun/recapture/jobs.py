"""The recaptures of a service, for GraphQL. Recaptures and replays share one queue, and run one after the other.

The service remembers its latest jobs until it ends. Stored associations stay. An unregistered program is never run.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headwater.backend.rerun.recapture.service import Plan, Recaptures
from headwater.backend.rerun.replay.model import FAULT, ReplayState
from headwater.errors import HeadwaterError, InvalidQueryError, UnavailableError
from headwater.graph.model import NodeKind, kind_of, node_id, parse_id
from headwater.graph.records import FileBlock
from headwater.paths import is_folder_store, name_of_path, split_path

_MOST_WAITING = 20
_MOST_KNOWN = 200
_KEPT_SECONDS = 600.0  # time for the worker to store the new captures
_LOOK_SECONDS = 0.25


@dataclass(kw_only=True)
class RecaptureJob:
    """The state of a recapture of a dataset, or of its partition `within`. Times are ISO 8601 in UTC.

    `outputs`, `files` and `left` have the same meaning as in `Recaptured`.
    """

    id: str
    tenant: str
    dataset: str
    state: ReplayState = ReplayState.QUEUED
    started_at: str
    ended_at: str | None = None
    error: str | None = None
    outputs: Sequence[str] = ()
    files: int = 0
    left: Mapping[str, str] = field(default_factory=dict)
    within: str = ""

    @property
    def has_ended(self) -> bool:
        return self.state in (ReplayState.COMPLETE, ReplayState.FAILED)


class RecaptureJobs:
    """Implements the schema's `RecaptureService`. The lock `turn` lets one program run at a time."""

    def __init__(self, recaptures: Recaptures, turn: asyncio.Lock) -> None:
        self._recaptures = recaptures
        self._turn = turn
        self._jobs: dict[str, RecaptureJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, tenant: str, dataset: str) -> str:
        """Queue a recapture of a dataset or a partition (an id or the path of its folder), and return the job's id.

        If a job for it waits or runs, its id is returned instead.

        Raises:
            NotFoundError: no known run wrote the dataset.
            InvalidQueryError: record lineage is already stored, or the text names no dataset.
            UnsupportedError: the program is not registered or changed since, or the files cannot be compared.
            UnavailableError: too many recaptures wait.
        """
        output = _dataset(dataset)
        target = await self._recaptures.target(tenant, output)
        if running := self._running(tenant, target):
            return running.id
        plan = await self._recaptures.plan(tenant, output)
        if running := self._running(tenant, (plan.output, plan.within)):  # another caller started the same recapture meanwhile
            return running.id
        if sum(not job.has_ended for job in self._jobs.values()) >= _MOST_WAITING:
            raise UnavailableError(f"{_MOST_WAITING} recaptures wait for their turn.", hint="Ask again when some have ended.")
        job = RecaptureJob(id=uuid.uuid4().hex, tenant=tenant, dataset=plan.output, within=plan.within, started_at=_now())
        self._jobs[job.id] = job
        self._forget()
        task = asyncio.create_task(self._run(job, plan))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job.id

    async def get(self, tenant: str, identifier: str) -> RecaptureJob | None:
        found = self._jobs.get(identifier)
        return found if found is not None and found.tenant == tenant else None

    async def list(self, tenant: str, first: int) -> Sequence[RecaptureJob]:
        return [job for job in reversed(self._jobs.values()) if job.tenant == tenant][:first]

    async def possible(self, tenant: str, datasets: Iterable[str]) -> Sequence[str]:
        """Return up to three of the datasets whose last writer is a registered program."""
        return await self._recaptures.possible(tenant, datasets)

    async def close(self) -> None:
        """Stop waiting for the running program. The program is not ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _running(self, tenant: str, target: tuple[str, str]) -> RecaptureJob | None:
        jobs = (job for job in self._jobs.values() if job.tenant == tenant and not job.has_ended)
        return next((job for job in jobs if (job.dataset, job.within) == target), None)

    async def _run(self, job: RecaptureJob, plan: Plan) -> None:
        try:
            async with self._turn:
                job.state = ReplayState.RUNNING
                done = await self._recaptures.run(job.tenant, plan)
            job.outputs, job.files, job.left = list(done.outputs), done.files, dict(done.left)
            await self._until_kept(job.tenant, done.blocks)
            job.state = ReplayState.COMPLETE
        except HeadwaterError as error:
            job.state, job.error = ReplayState.FAILED, f"{error.message} {error.hint}" if error.hint else error.message
        except Exception as error:  # the state must never stay "running" when nothing runs
            job.state, job.error = ReplayState.FAILED, f"{FAULT}{error!r}"
            raise
        finally:
            job.ended_at = _now()

    async def _until_kept(self, tenant: str, blocks: Sequence[FileBlock]) -> None:
        try:
            async with asyncio.timeout(_KEPT_SECONDS):
                while not await self._recaptures.are_kept(tenant, blocks):  # noqa: ASYNC110 - the worker is another process
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise UnavailableError(
                "The second run wrote the same files, and what it recorded is in the log. It was not taken in yet.", hint="Look at /readyz."
            ) from None

    def _forget(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.has_ended]
        for identifier in ended[: max(0, len(self._jobs) - _MOST_KNOWN)]:
            del self._jobs[identifier]


def _dataset(text: str) -> str:
    if text.startswith("/") or is_folder_store(split_path(text).scheme):
        return node_id(NodeKind.DATASET, *name_of_path(text))
    if not text.startswith(f"{NodeKind.DATASET}:") or kind_of(text) is not NodeKind.DATASET or len(parse_id(text)[1]) != 2:
        raise InvalidQueryError(
            f"{text[:200]!r} is neither the id of a dataset nor a path.", field="dataset", hint="Write it as dataset:file:/data/out."
        )
    return text


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
