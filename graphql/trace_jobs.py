"""Traces as jobs, as the schema shows them, and the service that it asks to run one.

For traces that are too large to be answered at once. The schema hands the request to the `TraceJobService` that its context carries; a job
is told to nobody but who started it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import strawberry

from headwater.errors import UnsupportedError
from headwater.graph.trace.answer import TraceAnswer, TraceRequest
from headwater.graphql.record_types import Trace
from headwater.graphql.types import Info


class TraceJobView(Protocol):
    """What must be known of a job. Times are ISO 8601 in UTC; `state` is a value of `TraceJobState`."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def request(self) -> TraceRequest: ...
    @property
    def started_at(self) -> str: ...
    @property
    def ended_at(self) -> str | None: ...
    @property
    def progress(self) -> Sequence[str]: ...
    @property
    def error(self) -> str | None: ...
    @property
    def answer(self) -> TraceAnswer | None: ...


class TraceJobService(Protocol):
    """Follows large traces. Tenant and caller come from the credential."""

    async def start(self, tenant: str, request: TraceRequest) -> TraceJobView:
        """Queue a job."""

    async def get(self, tenant: str, identifier: str) -> TraceJobView | None:
        """The caller's job as it stands; None where there is none of that id."""

    async def cancel(self, tenant: str, identifier: str) -> TraceJobView | None:
        """End a job."""


@strawberry.enum(description="How far a job has come. COMPLETE, FAILED and CANCELLED are final.")
class TraceJobState(StrEnum):
    """Values are those of the views."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


@strawberry.type(description="A trace that runs as a job, on the cluster that the operator of the service named where it is large.")
class TraceJob:
    """`progress` are lines, the earliest first; `answer` is there once it is complete."""

    id: strawberry.ID
    state: TraceJobState
    started_at: str
    ended_at: str | None
    progress: list[str]
    error: str | None
    answer: Trace | None

    @classmethod
    def of(cls, view: TraceJobView) -> TraceJob:
        """The job as it stands."""
        answer, request = view.answer, view.request
        return cls(
            id=strawberry.ID(view.id),
            state=TraceJobState(view.state),
            started_at=view.started_at,
            ended_at=view.ended_at,
            progress=list(view.progress),
            error=view.error,
            answer=None if answer is None else Trace.of(answer, column=request.column, forward=request.forward),
        )


def trace_job_service(info: Info) -> TraceJobService:
    """The service that runs traces as jobs.

    Raises:
        UnsupportedError: this service runs none.
    """
    if info.context.trace_jobs is None:
        raise UnsupportedError("Traces are not run as jobs by this service.", hint="Start the service with: headwater serve")
    return info.context.trace_jobs
