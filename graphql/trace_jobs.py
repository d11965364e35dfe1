"""Traces as jobs in the schema, for traces that are too large to be answered immediately. Only the caller who started a job sees it."""

from __future__ import annotations

from enum import StrEnum

import strawberry

from headwater.graphql.record_types import Trace
from headwater.graphql.services import TraceJobView


@strawberry.enum(description="How far a job has come. COMPLETE, FAILED and CANCELLED are final.")
class TraceJobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


@strawberry.type(description="A trace that runs as a job, on the cluster that the operator of the service named where it is large.")
class TraceJob:
    """A trace job. `progress` has lines, earliest first. `answer` is set once the job is complete."""

    id: strawberry.ID
    state: TraceJobState
    started_at: str
    ended_at: str | None
    progress: list[str]
    error: str | None
    answer: Trace | None

    @classmethod
    def of(cls, view: TraceJobView) -> TraceJob:
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
