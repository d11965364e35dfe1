"""Jobs of a service that run programs of its home. They wait for one another, and the service remembers the latest until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from headwater.backend.rerun.replay.model import FAULT, ReplayState
from headwater.errors import HeadwaterError, UnavailableError

_MOST_WAITING = 20
_MOST_KNOWN = 200


@dataclass(kw_only=True)
class QueuedJob:
    """The state of a job. Times are ISO 8601 in UTC."""

    id: str
    tenant: str
    state: ReplayState = ReplayState.QUEUED
    started_at: str
    ended_at: str | None = None
    error: str | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in (ReplayState.COMPLETE, ReplayState.FAILED)


_Job = TypeVar("_Job", bound=QueuedJob)


class QueuedJobs(Generic[_Job]):
    """The jobs of one kind. The lock `turn` lets one program run at a time. `kind` names the jobs in the plural."""

    def __init__(self, turn: asyncio.Lock, kind: str) -> None:
        self._turn = turn
        self._kind = kind
        self._jobs: dict[str, _Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, tenant: str, identifier: str) -> _Job | None:
        found = self._jobs.get(identifier)
        return found if found is not None and found.tenant == tenant else None

    async def list(self, tenant: str, first: int) -> Sequence[_Job]:
        return [job for job in reversed(self._jobs.values()) if job.tenant == tenant][:first]

    async def close(self) -> None:
        """Stop waiting for the running program. The program is not ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def add(self, job: _Job, work: Callable[[], Awaitable[None]], then: Callable[[], Awaitable[None]] | None = None) -> str:
        """Queue a job, and return its id. `work` runs in its turn, and `then` after its turn.

        Raises:
            UnavailableError: too many jobs wait.
        """
        if sum(not each.has_ended for each in self._jobs.values()) >= _MOST_WAITING:
            raise UnavailableError(f"{_MOST_WAITING} {self._kind} wait for their turn.", hint="Ask again when some have ended.")
        self._jobs[job.id] = job
        ended = [each.id for each in self._jobs.values() if each.has_ended]
        for identifier in ended[: max(0, len(self._jobs) - _MOST_KNOWN)]:
            del self._jobs[identifier]
        task = asyncio.create_task(self._run(job, work, then))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job.id

    async def _run(self, job: _Job, work: Callable[[], Awaitable[None]], then: Callable[[], Awaitable[None]] | None) -> None:
        try:
            async with self._turn:
                job.state = ReplayState.RUNNING
                await work()
            if then is not None:
                await then()
            job.state = ReplayState.COMPLETE
        except HeadwaterError as error:
            job.state, job.error = ReplayState.FAILED, f"{error.message} {error.hint}" if error.hint else error.message
        except Exception as error:  # the state must never stay "running" when nothing runs
            job.state, job.error = ReplayState.FAILED, f"{FAULT}{error!r}"
            raise
        finally:
            job.ended_at = now()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
