"""Replays as the schema shows them, and the service that it asks to run one.

For the page and the command line, which start a replay and watch it. The schema must never start a process itself: it hands the
request to the `ReplayService` that its context carries, and that one must never write where the original run wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import strawberry
from strawberry.scalars import JSON


class StepView(Protocol):
    """One program of a replay."""

    @property
    def job(self) -> str: ...
    @property
    def state(self) -> str: ...


class DifferenceView(Protocol):
    """A row that the replay changed; None on the side that has no such row."""

    @property
    def dataset(self) -> str: ...
    @property
    def before(self) -> Mapping[str, Any] | None: ...
    @property
    def after(self) -> Mapping[str, Any] | None: ...
    @property
    def columns(self) -> Sequence[str]: ...


class ReplayView(Protocol):
    """What must be known of a replay. Times are ISO 8601 in UTC; `state` is a value of `ReplayState`."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def ended_at(self) -> str | None: ...
    @property
    def shadow(self) -> str: ...
    @property
    def error(self) -> str | None: ...
    @property
    def steps(self) -> Sequence[StepView]: ...
    @property
    def differences(self) -> Sequence[DifferenceView]: ...


class ReplayService(Protocol):
    """Runs pipelines again without the records of a selection. The tenant comes from the credential."""

    async def start(self, tenant: str, dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None) -> str:
        """Queue a replay and return its id at once. `rows` are (file, 0-based row); `output` is the dataset to compare, where one is."""

    async def start_kind(
        self,
        tenant: str,
        *,
        kind: str,
        dataset: str | None,
        where: str | None,
        rows: Sequence[tuple[str, int]],
        output: str | None,
        edits: Mapping[str, str | None],
    ) -> str:
        """Queue a replay of a kind, and return its id at once. `edits` are new values by column, as text; None is NULL."""

    async def get(self, tenant: str, identifier: str) -> ReplayView | None:
        """The replay as it stands; None where there is none of that id."""

    async def list(self, tenant: str, first: int) -> Sequence[ReplayView]:
        """The latest replays, newest first."""

    async def remove(self, tenant: str, identifier: str) -> ReplayView | None:
        """Delete a replay that has ended; None where there is none of that id."""


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
