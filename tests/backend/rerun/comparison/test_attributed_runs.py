"""`headwater compare` attributes the difference between two runs, and says which causes a replay has verified."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.backend.rerun.comparison.report import Cause, CauseKind, Comparison, Verdict
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.stores.sqlite import SqliteStore
from tests.backend.rerun.comparison.compared_home import FIRST, SECOND, ComparedHome


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[ComparedHome]:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    found = ComparedHome(tmp_path, graph)
    found.add_file("1.csv", [["a", 1], ["b", 2]])
    yield found
    found.registry.close()
    found.records.close()
    await graph.close()


def _cause(found: Comparison, kind: CauseKind) -> Cause:
    return next(cause for cause in found.causes if cause.kind is kind)


def _verdicts(found: Comparison) -> dict[CauseKind, Verdict]:
    return {cause.kind: cause.verdict for cause in found.causes}


@pytest.mark.spark
async def test_inputs_and_code_are_told_apart_by_replays(home: ComparedHome, tmp_path: Path) -> None:
    home.ran(FIRST, "v * 1", 1)
    earlier = tmp_path / "earlier.py"
    earlier.write_bytes(home.script.read_bytes())
    home.add_file("2.csv", [["c", 3], ["d", 4], ["e", 5]])
    home.ran(SECOND, "v * 2", 2)
    await home.project()

    found = await home.compare(scripts=[earlier])
    inputs, code = _cause(found, CauseKind.INPUTS), _cause(found, CauseKind.CODE)
    assert (inputs.verdict, inputs.rows, inputs.is_whole) == (Verdict.VERIFIED, 3, False)
    assert any("1 file added" in change and "raw/2.csv" in change for change in inputs.changes)
    assert (code.verdict, code.rows, code.is_whole) == (Verdict.VERIFIED, 5, False)
    assert any("v * 1" in change and "v * 2" in change for change in code.changes)
    [result] = found.results
    assert (result.rows, result.is_rebuilt) == (5, True)  # the first output was overwritten, so its replay was compared
    assert _cause(found, CauseKind.NONDETERMINISM).verdict is Verdict.NO_EFFECT
    assert _verdicts(found)[CauseKind.ARGUMENTS] is _verdicts(found)[CauseKind.VERSIONS] is Verdict.SAME
    assert CauseKind.UNRECORDED not in _verdicts(found)
    assert (found.together, found.trials) == (None, 5)  # the base twice, each change alone, and both
    assert not list((tmp_path / "home" / "replays").glob("trials-*"))


@pytest.mark.slow
@pytest.mark.spark
async def test_a_result_that_differs_by_itself_is_not_blamed_on_a_change(home: ComparedHome) -> None:
    home.ran(FIRST, "v * rand() * 1e9", 1, arguments=("--one",))
    home.ran(SECOND, "v * rand() * 1e9", 1, arguments=("--two",))
    await home.project()

    found = await home.compare()
    noise, arguments = _cause(found, CauseKind.NONDETERMINISM), _cause(found, CauseKind.ARGUMENTS)
    assert (noise.verdict, noise.rows) == (Verdict.VERIFIED, 2)
    assert arguments.verdict is Verdict.NOT_CHECKED
    assert arguments.reason == "the result also differs between two equal runs, so this replay cannot tell"
    assert found.together is None


async def test_without_replays_changes_are_stated_only(home: ComparedHome) -> None:
    home.ran(FIRST, "v * 1", 1, appends=True, **{"spark.sql.ansi.enabled": "true"})
    home.ran(SECOND, "v * 3", 3, appends=True, **{"spark.sql.ansi.enabled": "false", "spark.app.id": "another"})
    await home.project()

    found = await home.compare(replays=False)
    [result] = found.results
    assert (result.rows, result.is_rebuilt, found.trials) == (2, False, 0)  # the files of both runs are there
    settings = _cause(found, CauseKind.SETTINGS)
    assert (settings.verdict, settings.changes) == (Verdict.STATED, ["spark.sql.ansi.enabled: true → false"])
    assert _cause(found, CauseKind.CODE).verdict is Verdict.STATED
    assert _verdicts(found)[CauseKind.INPUTS] is Verdict.SAME


async def test_an_input_that_is_gone_is_named_and_nothing_runs(home: ComparedHome) -> None:
    home.ran(FIRST, "v * 1", 1)
    changed = home.add_file("1.csv", [["a", 7], ["b", 2], ["c", 3]])
    home.ran(SECOND, "v * 1", 1)
    await home.project()
    changed.unlink()

    found = await home.compare()
    inputs = _cause(found, CauseKind.INPUTS)
    assert (inputs.verdict, found.trials) == (Verdict.STATED, 0)
    assert any("1 file replaced" in change for change in inputs.changes)
    assert inputs.reason is not None
    assert inputs.reason.endswith("has changed since or is gone")
    [result] = found.results
    assert (result.rows, result.reason is not None) == (None, True)


async def test_equal_results_are_refused_before_anything_runs(home: ComparedHome) -> None:
    home.ran(FIRST, "v * 1", 1, appends=True)
    home.ran(SECOND, "v * 1", 1, appends=True)
    await home.project()
    with pytest.raises(InvalidQueryError, match=r"are equal: .*/out; the data of both is there"):
        await home.compare()


async def test_runs_of_two_jobs_are_refused(home: ComparedHome) -> None:
    home.ran(FIRST, "v * 1", 1)
    home.ran(SECOND, "v * 2", 2)
    await home.project(job_of_second="another")
    with pytest.raises(InvalidQueryError, match=r"is a run of the job pipeline, and run:\S+ of the job another"):
        await home.compare()


async def test_a_run_that_failed_is_refused(home: ComparedHome) -> None:
    home.ran(FIRST, "v * 1", 1)
    home.ran(SECOND, "v * 2", 2)
    await home.project(kind="FAIL")
    with pytest.raises(InvalidQueryError, match="is not complete: its state is fail, so it has no result to compare"):
        await home.compare()


async def test_one_run_and_unknown_runs_are_refused(home: ComparedHome) -> None:
    home.ran(FIRST, "v * 1", 1)
    await home.project()
    with pytest.raises(InvalidQueryError, match="belong to one run of the program"):
        await home.compare(FIRST, FIRST)
    with pytest.raises(NotFoundError, match="No run is named"):
        await home.compare(FIRST, "0190a6f2-0000-7000-8000-0000000000ff")
