"""The interfaces of searches for culprits, comparisons and cleanings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headwater.graphql.services.replays import DifferenceView, RecordView


class CulpritSearchView(Protocol):
    """A search for culprits. Times are ISO 8601 in UTC; `state` is a value of `ReplayState`, `kind` of `CulpritSearchKind`."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def ended_at(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def trials(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def step(self) -> str | None: ...
    @property
    def function(self) -> str | None: ...
    @property
    def wrong_rows(self) -> int | None: ...
    @property
    def records(self) -> Sequence[RecordView]: ...
    @property
    def count(self) -> int: ...
    @property
    def is_minimal(self) -> bool: ...
    @property
    def problem(self) -> str | None: ...
    @property
    def origins(self) -> Sequence[RecordView]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def doing(self) -> str | None: ...
    @property
    def comparison(self) -> ComparisonView | None: ...
    @property
    def cleaning(self) -> CleaningView | None: ...


class ComparisonView(Protocol):
    """A comparison of two runs: the datasets that both wrote, and the possible causes."""

    @property
    def first(self) -> str: ...
    @property
    def second(self) -> str: ...
    @property
    def results(self) -> Sequence[ComparedResultView]: ...
    @property
    def causes(self) -> Sequence[CauseView]: ...
    @property
    def together(self) -> bool | None: ...
    @property
    def notes(self) -> Sequence[str]: ...


class ComparedResultView(Protocol):
    """The difference of one dataset between two runs."""

    @property
    def dataset(self) -> str: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def is_rebuilt(self) -> bool: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def differences(self) -> Sequence[DifferenceView]: ...


class CauseView(Protocol):
    """A possible cause of a difference. `kind` and `verdict` are values of the enumerations of the schema."""

    @property
    def kind(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def changes(self) -> Sequence[str]: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def is_whole(self) -> bool: ...
    @property
    def reason(self) -> str | None: ...


class CleaningView(Protocol):
    """A cleaning of a result: its plan, and its replay."""

    @property
    def plan(self) -> CleanPlanView: ...
    @property
    def cleaned(self) -> CleanedView | None: ...


class CleanPlanView(Protocol):
    """The worst and the best rows of a result, and the steps at which their records could be told apart."""

    @property
    def worst(self) -> Sequence[RankedRowView]: ...
    @property
    def best(self) -> Sequence[RankedRowView]: ...
    @property
    def before(self) -> QualitySummaryView: ...
    @property
    def steps(self) -> Sequence[CleanStepView]: ...


class CleanedView(Protocol):
    """The result of the replay of a cleaning."""

    @property
    def after(self) -> QualitySummaryView: ...
    @property
    def replay(self) -> CleaningReplayView: ...


class CleaningReplayView(Protocol):
    """The parts of a replay that a cleaning shows."""

    @property
    def id(self) -> str: ...
    @property
    def differing(self) -> int | None: ...


class RankedRowView(Protocol):
    """A row and its quality."""

    @property
    def file(self) -> str: ...
    @property
    def row(self) -> int: ...
    @property
    def quality(self) -> float | None: ...


class QualitySummaryView(Protocol):
    """The qualities of the rows of a result."""

    @property
    def rows(self) -> int: ...
    @property
    def below(self) -> int: ...
    @property
    def least(self) -> float | None: ...
    @property
    def middle(self) -> float | None: ...
    @property
    def mean(self) -> float | None: ...
    @property
    def without(self) -> int: ...


class CleanStepView(Protocol):
    """A dataset above the result: records behind the worst rows, and how many are behind the best rows, too."""

    @property
    def dataset(self) -> str: ...
    @property
    def worst(self) -> int: ...
    @property
    def shared(self) -> int: ...
    @property
    def overlap(self) -> float: ...
    @property
    def reason(self) -> str | None: ...


class CulpritService(Protocol):
    """Searches for the records behind a failure or a wrong result. The tenant comes from the credential."""

    async def start_why(self, tenant: str, run: str | None, seconds: float) -> str:
        """Queue a search for the record at which a run failed, and return its id immediately. Without `run`, the last failed run."""

    async def start_blame(self, tenant: str, dataset: str, assertion: str | None, where: str | None, seconds: float) -> str:
        """Queue a search for the records that make rows of a dataset wrong, and return its id."""

    async def start_witness(self, tenant: str, dataset: str, where: str, columns: Sequence[str], seconds: float) -> str:
        """Queue a search for the records that still give a row, and return its id."""

    async def start_compare(self, tenant: str, first: str, second: str, seconds: float, *, replays: bool) -> str:
        """Queue a comparison of two runs of a job, and return its id."""

    async def start_clean(
        self, tenant: str, dataset: str, quality: str, below: float | None, count: int, seconds: float | None, *, dry_run: bool
    ) -> str:
        """Queue a cleaning of a dataset, and return its id. A row is worse if the expression `quality` is lower."""

    async def get(self, tenant: str, identifier: str) -> CulpritSearchView | None:
        """Return a search, or None."""

    async def list(self, tenant: str, first: int) -> Sequence[CulpritSearchView]:
        """Return the latest searches, newest first."""

    async def cancel(self, tenant: str, identifier: str) -> CulpritSearchView:
        """Ask a waiting or running search to end."""
