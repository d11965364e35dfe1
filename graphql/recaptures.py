"""Recaptures in the schema.

A trace may end at a program that ran without record capture; a recapture then finds the records. The schema must never start a process
itself: the `RecaptureService` does, and runs only programs that are registered on its home.
"""

from __future__ import annotations

import strawberry

from headwater.graphql.replays import ReplayState
from headwater.graphql.services import RecaptureView


@strawberry.type(description="A dataset of which a recapture kept nothing, and why.")
class NotRecaptured:
    """A dataset that the program wrote, and the reason why its record lineage is not stored."""

    dataset: strawberry.ID
    reason: str


@strawberry.type(
    description="A registered program run again with record capture, beside the real data. Only of files that are the same is it kept."
)
class Recapture:
    """A recapture. `outputs` are the datasets whose record lineage is now stored. `files` is the number of compared files."""

    id: strawberry.ID
    dataset: strawberry.ID
    state: ReplayState
    started_at: str
    ended_at: str | None
    error: str | None
    outputs: list[strawberry.ID]
    files: int
    left: list[NotRecaptured]

    @classmethod
    def of(cls, view: RecaptureView) -> Recapture:
        return cls(
            id=strawberry.ID(view.id),
            dataset=strawberry.ID(view.dataset),
            state=ReplayState(view.state),
            started_at=view.started_at,
            ended_at=view.ended_at,
            error=view.error,
            outputs=[strawberry.ID(dataset) for dataset in view.outputs],
            files=view.files,
            left=[NotRecaptured(dataset=strawberry.ID(dataset), reason=reason) for dataset, reason in view.left.items()],
        )
