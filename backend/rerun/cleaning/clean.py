"""Plans and runs the cleaning of a result (after Newt's case study).

The rows of the result are ranked by a quality. The worst rows and the best rows are traced to each dataset above the result. The step is
the dataset where the fewest records behind the worst rows are also behind a best row. The records of the worst rows alone are left out
there, in an exclusive replay. The replay writes into a shadow folder, and its rows are ranked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from headwater.backend.rerun.culprits.search import HomeOfSearch
from headwater.backend.rerun.replay import Replay, Replays, ReplayState
from headwater.backend.rerun.replay.invocations import upstream_of
from headwater.backend.rerun.replay.kinds import ReplayRequest, Sources
from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Limits
from headwater.errors import HeadwaterError, InvalidQueryError, UnsupportedError
from headwater.graph.culprits.record_set import RecordSet
from headwater.graph.trace import Grain, TraceRequest
from headwater.graph.trace.questions import Questions
from headwater.graph.trace.ranked_rows import Quality, RankedRow, rank_rows
from headwater.graph.trace.rows_elsewhere import ReadAs, find_shape_of
from headwater.spark_listener.shadow_paths import ShadowPaths

_LIMIT = 1_000_000  # traced records
_MOST_TRACED = 20_000  # worst rows, and best rows, that are traced
Progress = Callable[[str], None]
Planned = Callable[[str], Awaitable[None]]  # gets the id of the replay before it runs


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRequest:
    """A request to clean `dataset`. A row is worse if its `quality` is lower.

    With `below`, the worst rows are those with a lower quality, and all others are the best. Otherwise `count` rows of each end are taken.
    """

    dataset: str
    quality: Quality
    below: float | None = None
    count: int = 10


@dataclass(frozen=True, slots=True)
class Step:
    """A dataset above the result: the number of records behind worst rows, and how many of them are behind best rows, too.

    `reason` says why the records behind the rows are not known here.
    """

    dataset: str
    worst: int = 0
    shared: int = 0
    reason: str | None = None

    @property
    def overlap(self) -> float:
        return self.shared / self.worst if self.worst else 1.0


@dataclass(frozen=True, slots=True)
class QualitySummary:
    """The qualities of a result. `below` counts the rows that are not better than the worst rows were before."""

    rows: int
    below: int
    least: float | None
    middle: float | None
    mean: float | None
    without: int


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """The worst and the best rows, the steps with the least overlap first, and the records to leave out at the first step."""

    read_as: ReadAs
    worst: Sequence[RankedRow]
    best: Sequence[RankedRow]
    before: QualitySummary
    steps: Sequence[Step]
    records: RecordSet
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The result of a cleaning. `replay` can be committed or removed like every exclusive replay."""

    plan: CleanPlan
    after: QualitySummary
    replay: Replay


async def plan_cleaning(home: HomeOfSearch, tenant: str, request: CleanRequest, questions: Questions) -> CleanPlan:
    """Return the records to leave out, and the step.

    Raises:
        InvalidQueryError: the quality cannot be computed, the rows do not differ in it, or no record is behind worst rows alone.
        NotFoundError: there is no such dataset.
        UnsupportedError: the rows cannot be read.
    """
    read_as = await find_shape_of(home.graph, home.records, tenant, request.dataset)
    ranked = await asyncio.to_thread(rank_rows, home.records, tenant, read_as, request.quality)
    worst, best = _ends(ranked, request)
    cut = {name: len(rows) for name, rows in (("worst", worst), ("best", best)) if len(rows) > _MOST_TRACED}
    notes = [f"only the first {_MOST_TRACED:,} of {rows:,} {name} rows were traced" for name, rows in cut.items()]
    sources = Sources(tenant, home.graph, home.records.sources, questions.trace)
    upstream = await upstream_of(home.graph, tenant, read_as.dataset)
    datasets = sorted({dataset for flow in upstream.flows for dataset in flow.reads} - {read_as.dataset})
    found = [await _step(dataset, read_as.dataset, worst, best, sources) for dataset in datasets]
    steps = sorted(found, key=lambda each: (each[0].reason is not None, each[0].overlap, each[0].worst, each[0].dataset))
    if not steps or steps[0][0].reason is not None or not steps[0][1]:
        raise _no_step([step for step, _ in steps])
    limit = worst[-1].quality
    return CleanPlan(read_as, worst, best, summarize(ranked, limit), [step for step, _ in steps], steps[0][1], notes)


async def run_cleaning(
    home: HomeOfSearch,
    replays: Replays,
    tenant: str,
    request: CleanRequest,
    plan: CleanPlan,
    *,
    limits: Limits,
    by: str,
    progress: Progress = lambda _: None,
    planned: Planned | None = None,
) -> Cleaned:
    """Leave out the records of a plan in a replay, and rank the rows of its result.

    Raises:
        HeadwaterError: the replay failed.
        UnsupportedError: the replay cannot run.
    """
    step = plan.steps[0]
    replay_request = ReplayRequest(output=plan.read_as.dataset, dataset=step.dataset, rows=list(plan.records))
    replay = await replays.plan_kind(tenant, kind="exclusive", request=replay_request, limits=limits, by=by)
    if planned is not None:
        await planned(replay.id)
    progress(f"running {len(replay.steps)} programs again without {len(plan.records):,} records")
    done = await replays.run(replay)
    if done.state is ReplayState.FAILED:
        raise HeadwaterError(done.error or "The replay failed.", hint=f"`headwater replay --show {done.id}` shows it.")
    folder = ShadowPaths(done.shadow).folder(place_of(plan.read_as.dataset))
    ranked = await asyncio.to_thread(_rank_shadow, home, tenant, request, plan, folder)
    return Cleaned(plan, summarize(ranked, plan.worst[-1].quality), done)


def _rank_shadow(home: HomeOfSearch, tenant: str, request: CleanRequest, plan: CleanPlan, folder: Path) -> list[RankedRow]:
    return rank_rows(home.records, tenant, plan.read_as, request.quality, folder) if folder.exists() else []


def summarize(ranked: Sequence[RankedRow], limit: float | None) -> QualitySummary:
    scores = [row.quality for row in ranked if row.quality is not None]
    return QualitySummary(
        rows=len(ranked),
        below=sum(score <= limit for score in scores) if limit is not None else 0,
        least=min(scores, default=None),
        middle=median(scores) if scores else None,
        mean=fmean(scores) if scores else None,
        without=len(ranked) - len(scores),
    )


def _ends(ranked: Sequence[RankedRow], request: CleanRequest) -> tuple[list[RankedRow], list[RankedRow]]:
    """Return the worst rows and the best rows, the worst first."""
    scored = [row for row in ranked if row.quality is not None]
    if len({row.quality for row in scored}) < 2:
        raise InvalidQueryError(
            f"The rows of {request.dataset} do not differ in quality: {len(scored):,} of {len(ranked):,} rows have one.",
            field="quality", hint="Give an expression that is lower for worse rows.",
        )  # fmt: skip
    if request.below is not None:
        worst = [row for row in scored if row.quality < request.below]  # type: ignore[operator]  # only rows with a quality
        best = [row for row in scored if row.quality >= request.below]  # type: ignore[operator]
        if not worst or not best:
            side = "lower" if not worst else "higher"
            raise InvalidQueryError(
                f"No row of {request.dataset} has a {side} quality than {request.below:g}: it is {scored[0].quality:g} to "
                f"{scored[-1].quality:g}.",
                field="below", hint="Choose a limit between them.",
            )  # fmt: skip
        return worst, best
    count = min(request.count, len(scored) // 2)
    worst, best = scored[:count], scored[-count:]
    if worst[-1].quality == best[0].quality:
        limit = worst[-1].quality
        worst = [row for row in worst if row.quality != limit]
        best = [row for row in best if row.quality != limit]
    if not worst or not best:
        raise InvalidQueryError(
            f"Most rows of {request.dataset} have one quality, so the worst cannot be told from the best.",
            field="below", hint="Name a limit: --below 0.5.",
        )  # fmt: skip
    return worst, best


async def _step(
    dataset: str, output: str, worst: Sequence[RankedRow], best: Sequence[RankedRow], sources: Sources
) -> tuple[Step, RecordSet]:
    """Return the overlap at a dataset, and the records there that are behind worst rows alone."""
    try:
        bad, good = [await _trace(output, rows, dataset, sources) for rows in (worst, best)]
    except HeadwaterError as error:
        return Step(dataset, reason=error.message), RecordSet(())
    if not bad:
        return Step(dataset, reason="no record of it is behind the worst rows"), RecordSet(())
    rows: dict[str, list[int]] = {}
    for file, row in bad - good:
        rows.setdefault(file, []).append(row)
    return Step(dataset, len(bad), len(bad & good)), RecordSet.of(rows)


async def _trace(output: str, rows: Sequence[RankedRow], dataset: str, sources: Sources) -> set[tuple[str, int]]:
    places = [(row.file, row.row) for row in rows[:_MOST_TRACED]]
    request = TraceRequest(dataset=output, rows=places, to=dataset, limit=_LIMIT, values=False, selected_values=False)
    answer = await sources.trace(request)
    if answer.total > len(answer.records):
        raise UnsupportedError(f"more than {_LIMIT:,} records are behind the rows")
    found = {(str(record.file), record.row) for record in answer.records if record.grain is Grain.RECORD and record.row is not None}
    if len(found) < len({(record.file, record.row) for record in answer.records}):
        raise UnsupportedError("single records behind the rows are not known")
    if missing := [entry for entry in answer.incomplete if entry.effect == "missing"]:
        raise UnsupportedError(f"records may be missing: {missing[0].what}: {missing[0].reason}")
    return found


def _no_step(steps: Sequence[Step]) -> InvalidQueryError:
    reasons = "; ".join(f"{step.dataset}: {step.reason or 'each record is also behind a best row'}" for step in steps)
    return InvalidQueryError(
        f"At no step are there records behind the worst rows alone: {reasons or 'no recorded run wrote the dataset'}.",
        hint="Use another quality or --below, or look at single rows with `headwater trace`.",
    )
