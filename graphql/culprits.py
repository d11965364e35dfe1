"""Searches for culprits in the schema: records at which a run failed, or that make a result wrong, comparisons of runs, and cleanings.

The schema must never start a process itself: the `CulpritService` does, and runs only programs that are registered on its home.
"""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.access.scopes import Scope
from headwater.graph.views.request import at_most
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.replays import ReplayState
from headwater.graphql.root_fields import mutation, query
from headwater.graphql.row_numbers import RowNumber
from headwater.graphql.search_results import Cleaning, RunComparison
from headwater.graphql.services import CulpritSearchView, CulpritService, RecordView, available
from headwater.graphql.types import Info

_SECONDS = 300.0
_COMPARE_SECONDS = 600.0
_MOST_COUNT = 20_000
_MOST_COLUMNS = 1_000
_MOST_SECONDS = 86_400.0


@strawberry.enum(
    description="WHY: the records at which a run failed. BLAME: the records that make rows of a dataset wrong. WITNESS: the records that "
    "still give a row. COMPARE: what changed between two runs. CLEAN: the records behind the worst rows of a result are left out."
)
class CulpritSearchKind(StrEnum):
    WHY = "why"
    BLAME = "blame"
    WITNESS = "witness"
    COMPARE = "compare"
    CLEAN = "clean"


@strawberry.type(description="A record to blame: its file, its row from 0, and its values as an object.")
class Culprit:
    file: str
    row: RowNumber
    values: JSON

    @classmethod
    def list_of(cls, views: Sequence[RecordView]) -> list[Culprit]:
        return [cls(file=view.file, row=RowNumber(view.row), values=JSON(dict(view.values))) for view in views]


@strawberry.type(
    description="A search for the records behind a failure or a wrong result, by trials of registered programs on parts of their input. "
    "`left` counts the records of the present trial. `count` counts the culprits, `records` has the first ones. `problem` says why there "
    "is none. `doing` says what a comparison or a cleaning does now. Their results are in `comparison` and `cleaning`."
)
class CulpritSearch:
    """A search. `isMinimal`: each of the records is needed. `origins` are the records of sources behind the culprits."""

    id: strawberry.ID
    kind: CulpritSearchKind
    subject: strawberry.ID
    state: ReplayState
    started_at: str
    ended_at: str | None
    error: str | None
    trials: int
    left: float
    step: str | None
    function: str | None
    wrong_rows: float | None
    records: list[Culprit]
    count: float
    is_minimal: bool
    problem: str | None
    origins: list[Culprit]
    notes: list[str]
    doing: str | None
    comparison: RunComparison | None
    cleaning: Cleaning | None

    @classmethod
    def of(cls, view: CulpritSearchView) -> CulpritSearch:
        return cls(
            id=strawberry.ID(view.id), kind=CulpritSearchKind(view.kind), subject=strawberry.ID(view.subject),
            state=ReplayState(view.state), started_at=view.started_at, ended_at=view.ended_at, error=view.error, trials=view.trials,
            left=view.left, step=view.step, function=view.function, wrong_rows=view.wrong_rows, records=Culprit.list_of(view.records),
            count=view.count, is_minimal=view.is_minimal, problem=view.problem, origins=Culprit.list_of(view.origins),
            notes=list(view.notes), doing=view.doing,
            comparison=RunComparison.of(view.comparison) if view.comparison is not None else None,
            cleaning=Cleaning.of(view.cleaning) if view.cleaning is not None else None,
        )  # fmt: skip


@strawberry.type
class CulpritQuery:
    @query("The current state of a search; null if the service knows of none with this id (any more).", scope=Scope.READ, costly=False)
    async def culprit_search(self, info: Info, id: strawberry.ID) -> CulpritSearch | None:
        found = await _culprits(info).get(info.context.tenant, id)
        return CulpritSearch.of(found) if found else None

    @query("The latest searches for culprits since the service was started, newest first.", scope=Scope.READ, costly=False)
    async def culprit_searches(self, info: Info, first: int = 20) -> list[CulpritSearch]:
        size = bounded(first, "first", low=1, high=MAX_PAGE)
        return [CulpritSearch.of(view) for view in await _culprits(info).list(info.context.tenant, size)]


@strawberry.type
class CulpritMutation:
    @mutation(
        "Search for the record at which a run failed. `run` is a run or a job; the last failed run, if it is left out.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def start_why(self, info: Info, run: str | None = UNSET, seconds: float = _SECONDS) -> CulpritSearch:
        culprits, limit = _culprits(info), _bounded(seconds)
        async with info.context.audited("culprits.why", *filter(None, (run,)), changes=True):
            identifier = await culprits.start_why(info.context.tenant, run or None, limit)
        return await _started(info, identifier)

    @mutation(
        "Search for the smallest set of input records that makes rows of a dataset wrong: rows for which `assertion` is false, or rows "
        "that `where` selects.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def start_blame(
        self, info: Info, dataset: str, assertion: str | None = UNSET, where: str | None = UNSET, seconds: float = _SECONDS
    ) -> CulpritSearch:
        culprits, limit = _culprits(info), _bounded(seconds)
        async with info.context.audited("culprits.blame", dataset, changes=True):
            identifier = await culprits.start_blame(info.context.tenant, dataset, assertion or None, where or None, limit)
        return await _started(info, identifier)

    @mutation(
        "Search for the smallest set of input records that still gives a row of a dataset: the first row that `where` selects. Only the "
        "values in `columns` must stay, or those in all columns, if none is named.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def start_witness(
        self, info: Info, dataset: str, where: str, columns: list[str] | None = UNSET, seconds: float = _SECONDS
    ) -> CulpritSearch:
        culprits, limit = _culprits(info), _bounded(seconds)
        at_most(len(columns or ()), _MOST_COLUMNS, "columns", "columns")
        async with info.context.audited("culprits.witness", dataset, changes=True):
            identifier = await culprits.start_witness(info.context.tenant, dataset, where, columns or [], limit)
        return await _started(info, identifier)

    @mutation(
        "Attribute the difference between the results of two runs of a job to what changed between them. Replays test each change, unless "
        "`replays` is false.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def start_compare(
        self, info: Info, first: str, second: str, seconds: float = _COMPARE_SECONDS, replays: bool = True
    ) -> CulpritSearch:
        culprits, limit = _culprits(info), _bounded(seconds)
        async with info.context.audited("culprits.compare", first, second, changes=True):
            identifier = await culprits.start_compare(info.context.tenant, first, second, limit, replays=replays)
        return await _started(info, identifier)

    @mutation(
        "Leave out the records behind the worst rows of a result in a replay, and compare its quality before and after. A row is worse if "
        "`quality`, an expression in DuckDB SQL, is lower. Rows `below` a limit are the worst, or `count` rows. With `dryRun`, nothing "
        "runs.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def start_clean(
        self,
        info: Info,
        dataset: str,
        quality: str,
        below: float | None = UNSET,
        count: int = 10,
        seconds: float | None = UNSET,
        dry_run: bool = False,
    ) -> CulpritSearch:
        culprits, limit = _culprits(info), _bounded(seconds) if seconds else None
        worst = bounded(count, "count", low=1, high=_MOST_COUNT)
        least = below if isinstance(below, float | int) else None
        async with info.context.audited("culprits.clean", dataset, changes=True):
            identifier = await culprits.start_clean(info.context.tenant, dataset, quality, least, worst, limit, dry_run=dry_run)
        return await _started(info, identifier)

    @mutation("Ask a waiting or running search to end. The smallest set so far stays.", scope=Scope.REPLAY, costly=False)
    async def cancel_culprit_search(self, info: Info, id: strawberry.ID) -> CulpritSearch:
        culprits = _culprits(info)
        async with info.context.audited("culprits.cancel", id, changes=True):
            return CulpritSearch.of(await culprits.cancel(info.context.tenant, id))


def _culprits(info: Info) -> CulpritService:
    return available(info.context.services.culprits, "Searches for culprits", "Ask a running service, or use: headwater why")


async def _started(info: Info, identifier: str) -> CulpritSearch:
    found = await _culprits(info).get(info.context.tenant, identifier)
    if found is None:
        raise NotFoundError(f"The search {identifier} was started and cannot be found.", hint="Look at the service's log.")
    return CulpritSearch.of(found)


def _bounded(seconds: float) -> float:
    if not 1 <= seconds <= _MOST_SECONDS:
        raise InvalidQueryError(f"A search cannot take {seconds:g} s.", field="seconds", hint=f"It may take 1 to {_MOST_SECONDS:,.0f} s.")
    return seconds
