"""Recaptures as the schema shows them, and the service that it asks to run one.

For whoever finds that a trace ends at a program which ran without record capture. The schema must never start a process itself: it hands
the request to the `RecaptureService` that its context carries, and that one runs nothing but programs registered on its home.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import strawberry

from headwater.errors import UnsupportedError
from headwater.graphql.replays import ReplayState
from headwater.graphql.types import Info


class RecaptureView(Protocol):
    """What must be known of a recapture. Times are ISO 8601 in UTC; `state` is a value of `ReplayState`."""

    @property
    def id(self) -> str: ...
    @property
    def dataset(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def ended_at(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def outputs(self) -> Sequence[str]: ...
    @property
    def files(self) -> int: ...
    @property
    def left(self) -> Mapping[str, str]: ...


class RecaptureService(Protocol):
    """Runs programs again for the lineage of their records. The tenant comes from the credential."""

    async def start(self, tenant: str, dataset: str) -> str:
        """Queue a recapture and return its id at once."""

    async def get(self, tenant: str, identifier: str) -> RecaptureView | None:
        """The recapture as it stands; None where there is none of that id."""

    async def list(self, tenant: str, first: int) -> Sequence[RecaptureView]:
        """The latest, newest first."""

    async def possible(self, tenant: str, datasets: Iterable[str]) -> Sequence[str]:
        """Those of some datasets of which the caller may start one."""


@strawberry.type(description="A dataset of which a recapture kept nothing, and why.")
class NotRecaptured:
    """One of those that the program writes."""

    dataset: strawberry.ID
    reason: str


@strawberry.type(
    description="A registered program run again with record capture, beside the real data. Only of files that are the same is it kept."
)
class Recapture:
    """`outputs` are the datasets whose record lineage is kept now; `files` is how many files were compared."""

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
        """The recapture as it stands."""
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


def recapture_service(info: Info) -> RecaptureService:
    """The service that runs recaptures.

    Raises:
        UnsupportedError: this service runs none.
    """
    if info.context.recaptures is None:
        raise UnsupportedError("Recaptures are not available here.", hint="Start the service with: headwater serve")
    return info.context.recaptures
