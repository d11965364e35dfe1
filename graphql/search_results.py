"""The results of comparisons of runs and of cleanings in the schema. They are parts of a search for culprits."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import strawberry
from strawberry.scalars import JSON

from headwater.graphql.replays import ReplayDifference
from headwater.graphql.row_numbers import RowNumber
from headwater.graphql.services import (
    CauseView,
    CleaningView,
    CleanStepView,
    ComparedResultView,
    ComparisonView,
    DifferenceView,
    QualitySummaryView,
    RankedRowView,
)

_MOST_ROWS = 100


@strawberry.enum(description="A kind of change between two runs.")
class CauseKind(StrEnum):
    INPUTS = "inputs"
    CODE = "code"
    ARGUMENTS = "arguments"
    ENVIRONMENT = "environment"
    SETTINGS = "settings"
    VERSIONS = "versions"
    NONDETERMINISM = "nondeterminism"
    UNRECORDED = "unrecorded"


@strawberry.enum(
    description="SAME: nothing of this kind changed. VERIFIED: a replay with this change alone gives another result. NO_EFFECT: it gives "
    "the same result. STATED: no replay can test the change. NOT_CHECKED: no replay ran to its end, or its result says nothing."
)
class CauseVerdict(StrEnum):
    SAME = "the same"
    VERIFIED = "verified"
    NO_EFFECT = "no effect"
    STATED = "stated only"
    NOT_CHECKED = "not checked"


@strawberry.type(
    description="A possible cause. `rows` differ in a replay with this change alone. `changes` say what changed, `reason` explains the "
    "verdict. `isWhole`: this change alone gives the result of the first run."
)
class RunCause:
    kind: CauseKind
    verdict: CauseVerdict
    changes: list[str]
    rows: float | None
    is_whole: bool
    reason: str | None

    @classmethod
    def of(cls, cause: CauseView) -> RunCause:
        return cls(
            kind=CauseKind(cause.kind), verdict=CauseVerdict(cause.verdict), changes=list(cause.changes), rows=cause.rows,
            is_whole=cause.is_whole, reason=cause.reason,
        )  # fmt: skip


@strawberry.type(
    description="The difference of one dataset. `rows` differ; null if that is not known, for the `reason`. `isRebuilt`: the data of a run "
    "is gone, so a replay of it was compared. `differences` has the first rows."
)
class ComparedResult:
    dataset: strawberry.ID
    rows: float | None
    is_rebuilt: bool
    reason: str | None
    differences: list[ReplayDifference]

    @classmethod
    def of(cls, result: ComparedResultView) -> ComparedResult:
        return cls(
            dataset=strawberry.ID(result.dataset), rows=result.rows, is_rebuilt=result.is_rebuilt, reason=result.reason,
            differences=[_difference(each) for each in result.differences],
        )  # fmt: skip


@strawberry.type(
    description="The comparison of two runs of a job. `together`: all changes together give the result of the first run; null if that is "
    "not known."
)
class RunComparison:
    first: strawberry.ID
    second: strawberry.ID
    results: list[ComparedResult]
    causes: list[RunCause]
    together: bool | None
    notes: list[str]

    @classmethod
    def of(cls, view: ComparisonView) -> RunComparison:
        return cls(
            first=strawberry.ID(view.first), second=strawberry.ID(view.second),
            results=[ComparedResult.of(result) for result in view.results], causes=[RunCause.of(cause) for cause in view.causes],
            together=view.together, notes=list(view.notes),
        )  # fmt: skip


@strawberry.type(description="A row and its quality; null if it has none.")
class RankedRow:
    file: str
    row: RowNumber
    quality: float | None

    @classmethod
    def list_of(cls, rows: Sequence[RankedRowView]) -> list[RankedRow]:
        return [cls(file=each.file, row=RowNumber(each.row), quality=each.quality) for each in rows[:_MOST_ROWS]]


@strawberry.type(
    description="The qualities of the rows of a result. `below` counts the rows that are not better than the worst rows before the "
    "cleaning, `without` those that have no quality."
)
class RowQualities:
    rows: float
    below: float
    least: float | None
    median: float | None
    mean: float | None
    without: float

    @classmethod
    def of(cls, view: QualitySummaryView) -> RowQualities:
        return cls(
            rows=view.rows, below=view.below, least=view.least, median=view.middle, mean=view.mean, without=view.without,
        )  # fmt: skip


@strawberry.type(
    description="A dataset above the result: `records` are behind the worst rows, `shared` of them behind the best rows, too. `reason` "
    "says why they are not known."
)
class CleaningStep:
    dataset: strawberry.ID
    records: float
    shared: float
    overlap: float
    reason: str | None

    @classmethod
    def of(cls, view: CleanStepView) -> CleaningStep:
        return cls(
            dataset=strawberry.ID(view.dataset), records=view.worst, shared=view.shared, overlap=view.overlap, reason=view.reason,
        )  # fmt: skip


@strawberry.type(
    description="A cleaning of a result. Its records are left out at the first of `steps`. `worst` and `best` have up to 100 rows. `after` "
    "and `replay` are null until the replay has ended. `commitReplay` puts its result in place."
)
class Cleaning:
    worst: list[RankedRow]
    best: list[RankedRow]
    steps: list[CleaningStep]
    before: RowQualities
    after: RowQualities | None
    replay: strawberry.ID | None
    differing: float | None

    @classmethod
    def of(cls, view: CleaningView) -> Cleaning:
        plan, cleaned = view.plan, view.cleaned
        return cls(
            worst=RankedRow.list_of(plan.worst), best=RankedRow.list_of(plan.best), steps=[CleaningStep.of(step) for step in plan.steps],
            before=RowQualities.of(plan.before), after=RowQualities.of(cleaned.after) if cleaned is not None else None,
            replay=strawberry.ID(cleaned.replay.id) if cleaned is not None else None,
            differing=cleaned.replay.differing if cleaned is not None else None,
        )  # fmt: skip


def _difference(view: DifferenceView) -> ReplayDifference:
    before, after = (JSON(dict(row)) if row is not None else None for row in (view.before, view.after))
    return ReplayDifference(dataset=strawberry.ID(view.dataset), before=before, after=after, columns=list(view.columns))
