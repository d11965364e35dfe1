"""The interfaces of replays and recaptures, and of registered programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class StepView(Protocol):
    """A program that a replay runs."""

    @property
    def job(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def seconds(self) -> float | None: ...


class RecordView(Protocol):
    """A record with its file and its row, from 0: one at a stop of a replay, or one to blame."""

    @property
    def file(self) -> str: ...
    @property
    def row(self) -> int: ...
    @property
    def values(self) -> Mapping[str, Any]: ...


class ShownDatasetView(Protocol):
    """The first rows of a dataset at a stop."""

    @property
    def dataset(self) -> str: ...
    @property
    def rows(self) -> Sequence[RecordView]: ...
    @property
    def note(self) -> str | None: ...


class StopView(Protocol):
    """A stop before a program: the program's inputs, and the outputs of the previous program."""

    @property
    def job(self) -> str: ...
    @property
    def inputs(self) -> Sequence[ShownDatasetView]: ...
    @property
    def outputs(self) -> Sequence[ShownDatasetView]: ...


class CommitView(Protocol):
    """A commit of a replay. Times are ISO 8601 in UTC."""

    @property
    def at(self) -> str: ...
    @property
    def kept_until(self) -> str: ...
    @property
    def folders(self) -> Sequence[CommittedFolderView]: ...


class CommittedFolderView(Protocol):
    """A folder that a commit replaced. `old` contains the old data while `state` is `done`."""

    @property
    def dataset(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def old(self) -> str: ...


class DryRunStepView(Protocol):
    """A program that would run."""

    @property
    def job(self) -> str: ...
    @property
    def script(self) -> str: ...
    @property
    def writes(self) -> Sequence[str]: ...
    @property
    def seconds(self) -> float | None: ...


class DryRunView(Protocol):
    """The plan of a replay. `excluded`, `kept` and `edited` are numbers of records."""

    @property
    def kind(self) -> str: ...
    @property
    def output(self) -> str: ...
    @property
    def starts(self) -> Sequence[str]: ...
    @property
    def steps(self) -> Sequence[DryRunStepView]: ...
    @property
    def excluded(self) -> int: ...
    @property
    def kept(self) -> int: ...
    @property
    def edited(self) -> int: ...
    @property
    def seconds(self) -> float | None: ...
    @property
    def disk_bytes(self) -> int: ...
    @property
    def disk_free(self) -> int: ...
    @property
    def unknown_sizes(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Sequence[str]: ...


class DifferenceView(Protocol):
    """A row that the replay changed. One side is None if the row exists on the other side only."""

    @property
    def dataset(self) -> str: ...
    @property
    def before(self) -> Mapping[str, Any] | None: ...
    @property
    def after(self) -> Mapping[str, Any] | None: ...
    @property
    def columns(self) -> Sequence[str]: ...


class ReplayView(Protocol):
    """A replay. Times are ISO 8601 in UTC; `state` is a value of `ReplayState`."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def output(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def started_by(self) -> str | None: ...
    @property
    def exclude(self) -> Mapping[str, Sequence[int]]: ...
    @property
    def keep(self) -> Mapping[str, Sequence[int]]: ...
    @property
    def edits(self) -> Mapping[str, Mapping[str, Mapping[str, str | None]]]: ...
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
    @property
    def differing(self) -> int: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def commit(self) -> CommitView | None: ...
    @property
    def stop(self) -> StopView | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAnswer:
    """An answer at a stop: `continue`, `stop`, `drop` or `edit`. `values` are new values of the record by column, as text."""

    action: str
    file: str = ""
    row: int = -1
    values: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOrder:
    """A request for a replay. `rows` are (file, 0-based row). `edits` are new values by column, as text; None is NULL.

    `seconds` and `disk_bytes` are limits; None means no limit.
    """

    kind: str = "exclusive"
    dataset: str | None = None
    where: str | None = None
    rows: Sequence[tuple[str, int]] = ()
    output: str | None = None
    edits: Mapping[str, str | None] = field(default_factory=dict)
    seconds: float | None = None
    disk_bytes: int | None = None


class ReplayService(Protocol):
    """Runs pipelines again with other records or programs. The tenant comes from the credential."""

    async def start(self, tenant: str, order: ReplayOrder) -> str:
        """Queue a replay, and return its id immediately."""

    async def dry_run(self, tenant: str, order: ReplayOrder) -> DryRunView:
        """Return the plan of a replay. Nothing is run or stored."""

    async def get(self, tenant: str, identifier: str) -> ReplayView | None:
        """Return a replay, or None."""

    async def list(self, tenant: str, first: int) -> Sequence[ReplayView]:
        """Return the latest replays, newest first."""

    async def remove(self, tenant: str, identifier: str) -> ReplayView | None:
        """Delete a replay that has ended, and return it, or None."""

    async def answer(self, tenant: str, identifier: str, answer: StopAnswer) -> ReplayView:
        """Answer the stop at which a replay of the kind `step` waits."""

    async def cancel(self, tenant: str, identifier: str) -> ReplayView:
        """Ask a waiting or running replay to end."""

    async def approve(self, tenant: str, identifier: str) -> ReplayView:
        """Approve the commit of a replay, as a second person."""

    async def commit(self, tenant: str, identifier: str, keep_days: float) -> ReplayView:
        """Replace the real data with the outputs of a complete replay. The old data is stored for some days."""

    async def undo(self, tenant: str, identifier: str) -> ReplayView:
        """Put the old data of a committed replay back."""


class RecaptureView(Protocol):
    """A recapture. Times are ISO 8601 in UTC; `state` is a value of `ReplayState`."""

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
        """Queue a recapture, and return its id immediately."""

    async def get(self, tenant: str, identifier: str) -> RecaptureView | None:
        """Return a recapture, or None."""

    async def list(self, tenant: str, first: int) -> Sequence[RecaptureView]:
        """Return the latest recaptures, newest first."""

    async def possible(self, tenant: str, datasets: Iterable[str]) -> Sequence[str]:
        """Return the datasets for which the caller may start a recapture."""


@dataclass(frozen=True, slots=True)
class RegistrationView:
    """A registered program. `script` is the name of its file; `at` is ISO 8601 in UTC."""

    id: str
    namespace: str
    job: str
    script: str
    sha256: str
    by_operator: bool
    is_unchanged: bool
    at: str


class RegistrationService(Protocol):
    """Reads the registered programs of a home."""

    async def programs(self, tenant: str) -> Sequence[RegistrationView]:
        """Return all programs of a tenant, by job."""
