"""Replays in the schema.

For the page and the command line, which start a replay and watch it. The schema must never start a process itself: the
`ReplayService` does, and must never write into the outputs of the original run.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import strawberry
from strawberry.scalars import JSON

from headwater.graphql.services import ReplayView


@strawberry.enum(description="How far a replay, one of its steps, or a recapture has come. COMPLETE and FAILED are final.")
class ReplayState(StrEnum):
    """Values are those of the views."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


@strawberry.enum(description="The kind of a replay: which records and programs go in.")
class ReplayKind(StrEnum):
    """Values are names in the registry of kinds."""

    EXCLUSIVE = "exclusive"
    SELECTIVE = "selective"
    VERIFY = "verify"
    WHAT_IF = "what-if"
    REFRESH = "refresh"


@strawberry.input(description="A new value of a column, as text that Spark casts; null is NULL.")
class ReplayEdit:
    """For the kind WHAT_IF."""

    column: str
    value: str | None = None


@strawberry.type(description="One program of a replay.")
class ReplayStep:
    """`job` is the job's id."""

    job: str
    state: ReplayState


@strawberry.type(description="A row of the output that the replay changed, before and after, as objects; null where there is no such row.")
class ReplayDifference:
    """`columns` are those that differ."""

    dataset: strawberry.ID
    before: JSON | None
    after: JSON | None
    columns: list[str]


@strawberry.type(description="A pipeline run again without the selected records, into a shadow folder; the originals stay.")
class Replay:
    """`shadow` is the folder that holds the outputs."""

    id: strawberry.ID
    state: ReplayState
    started_at: str
    ended_at: str | None
    steps: list[ReplayStep]
    shadow: str
    error: str | None
    differences: list[ReplayDifference]

    @classmethod
    def of(cls, view: ReplayView) -> Replay:
        """The replay as it stands."""
        return cls(
            id=strawberry.ID(view.id),
            state=ReplayState(view.state),
            started_at=view.started_at,
            ended_at=view.ended_at,
            shadow=view.shadow,
            error=view.error,
            steps=[ReplayStep(job=step.job, state=ReplayState(step.state)) for step in view.steps],
            differences=[
                ReplayDifference(
                    dataset=strawberry.ID(change.dataset),
                    before=_row(change.before),
                    after=_row(change.after),
                    columns=list(change.columns),
                )
                for change in view.differences
            ],
        )


def _row(values: Mapping[str, Any] | None) -> JSON | None:
    return None if values is None else JSON(dict(values))
