"""Comparisons and cleanings as jobs of a service: what they keep, what the schema shows, and what is refused early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from headwater.backend.rerun.cleaning.clean import CleanRequest
from headwater.backend.rerun.culprit_searches import CulpritSearches, CulpritSearchJob
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.questions import DirectQuestions
from headwater.graphql.culprits import CulpritSearch
from headwater.graphql.search_results import CauseKind, CauseVerdict
from tests.backend.rerun.comparison.compared_home import FIRST, SECOND, ComparedHome
from tests.graph.jobs import TENANT


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[ComparedHome]:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    found = ComparedHome(tmp_path, graph)
    found.add_file("1.csv", [["a", 1], ["b", 2], ["a", 50], ["b", 60]])
    found.ran(FIRST, "v * 1", 1, appends=True)
    found.ran(SECOND, "v * 3", 3, appends=True)
    await found.project()
    yield found
    found.registry.close()
    found.records.close()
    await graph.close()


def _searches(home: ComparedHome) -> CulpritSearches:
    return CulpritSearches(home, DirectQuestions(home.graph, home.records), cast("Any", None), asyncio.Lock())


async def _end(searches: CulpritSearches, identifier: str) -> CulpritSearchJob:
    job = await searches.get(TENANT, identifier)
    assert job is not None
    while not job.has_ended:  # noqa: ASYNC110 - a job tells nobody
        await asyncio.sleep(0.01)
    return job


async def test_a_comparison_keeps_its_causes(home: ComparedHome) -> None:
    searches = _searches(home)
    job = await _end(searches, await searches.start_compare(TENANT, f"run:{FIRST}", f"run:{SECOND}", 60, replays=False))
    assert (job.state, job.error, job.kind, job.subject) == ("complete", None, "compare", f"run:{SECOND}")
    shown = CulpritSearch.of(job).comparison
    assert shown is not None
    assert (shown.first, shown.second, shown.together) == (f"run:{FIRST}", f"run:{SECOND}", None)
    code = next(cause for cause in shown.causes if cause.kind is CauseKind.CODE)
    assert (code.verdict, code.reason) == (CauseVerdict.STATED, "no replay was asked for")
    [result] = shown.results
    assert result.rows == 4
    assert {str(each.after) for each in result.differences} >= {"{'k': 'a', 'v': 3}"}
    await searches.close()


async def test_a_cleaning_without_a_replay_keeps_its_plan(home: ComparedHome) -> None:
    searches = _searches(home)
    request = CleanRequest(dataset=str(home.folder / "out"), quality="v", below=10)
    job = await _end(searches, await searches.start_clean(TENANT, request, None, by="eve", dry_run=True))
    assert (job.state, job.error, job.kind, job.count) == ("complete", None, "clean", 2)
    assert [(record.file, record.row) for record in job.records] == [(f"file:{home.folder}/raw/1.csv", row) for row in (0, 1)]
    shown = CulpritSearch.of(job).cleaning
    assert shown is not None
    assert (shown.before.rows, shown.before.below, shown.after, shown.replay) == (8, 4, None, None)
    assert [(row.quality) for row in shown.worst] == [1, 2, 3, 6]
    assert [(Path(step.dataset).name, step.records, step.shared) for step in shown.steps] == [("raw", 2, 0)]
    await searches.close()


async def test_a_cancelled_cleaning_runs_nothing(home: ComparedHome) -> None:
    searches = _searches(home)
    request = CleanRequest(dataset=str(home.folder / "out"), quality="v", below=10)
    identifier = await searches.start_clean(TENANT, request, None, by="eve", dry_run=False)  # there is no service that would run a replay
    await searches.cancel(TENANT, identifier)
    job = await _end(searches, identifier)
    assert (job.state, job.error) == ("failed", "The search was cancelled.")
    await searches.close()


async def test_what_cannot_be_compared_or_cleaned_is_refused_at_once(home: ComparedHome) -> None:
    searches = _searches(home)
    with pytest.raises(NotFoundError):
        await searches.start_compare(TENANT, f"run:{FIRST}", "nothing", 60, replays=True)
    with pytest.raises(InvalidQueryError, match="belong to one run"):
        await searches.start_compare(TENANT, f"run:{FIRST}", f"run:{FIRST}", 60, replays=True)
    for dataset, quality, error in (("nothing", "v", NotFoundError), ("out", "missing", InvalidQueryError)):
        request = CleanRequest(dataset=str(home.folder / dataset), quality=quality)
        with pytest.raises(error):
            await searches.start_clean(TENANT, request, None, by="eve", dry_run=False)
    assert await searches.list(TENANT, 10) == []
    await searches.close()
