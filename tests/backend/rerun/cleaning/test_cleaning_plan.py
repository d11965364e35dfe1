"""`headwater clean` leaves out the records behind the worst rows alone, at the step where they overlap least with the best rows."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.cli.clean import load_quality
from headwater.backend.rerun.cleaning.clean import CleanPlan, CleanRequest, plan_cleaning
from headwater.errors import InvalidQueryError
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.questions import DirectQuestions
from tests.backend.rerun.comparison.compared_home import COLUMNS, FIRST, SECOND, ComparedHome
from tests.graph.jobs import TENANT, Job, write_csv


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[ComparedHome]:
    """A run that joins numbers with names. Each name belongs to a low and to a high number."""
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    found = ComparedHome(tmp_path, graph)
    found.script.write_text("")
    found.add_file("1.csv", [["a", 1], ["b", 2], ["a", 50], ["b", 60]])
    names = write_csv(tmp_path / "names.csv", ["key", "name"], [["a", "ann"], ["b", "bob"]])
    job = Job(found.records, "numbers", 1)
    numbers = job.scan(tmp_path / "raw", "csv", COLUMNS, {"header": "true"})
    joined = job.join(numbers, job.scan(names, "csv", {"key": "string", "name": "string"}, {"header": "true"}), [("k", "key")])
    job.write(joined, tmp_path / "out", "parquet", ["k", "v", "name"], files=1)
    found.add(FIRST, job)
    await found.project()
    yield found
    found.registry.close()
    found.records.close()
    await graph.close()


async def _plan(home: ComparedHome, quality: Any, **options: Any) -> CleanPlan:
    request = CleanRequest(dataset=str(home.folder / "out"), quality=quality, **options)
    return await plan_cleaning(home, TENANT, request, DirectQuestions(home.graph, home.records))


async def test_the_step_with_the_least_overlap_is_chosen(home: ComparedHome) -> None:
    plan = await _plan(home, "v", below=10)
    assert [(Path(step.dataset).name, step.worst, step.shared, step.overlap) for step in plan.steps] == [
        ("raw", 2, 0, 0.0), ("names.csv", 2, 2, 1.0),
    ]  # fmt: skip
    assert list(plan.records) == [(f"file:{home.folder}/raw/1.csv", row) for row in (0, 1)]
    assert (plan.before.rows, plan.before.below, plan.before.least, plan.before.mean) == (4, 2, 1.0, 28.25)


async def test_a_function_ranks_as_an_expression_does(home: ComparedHome, tmp_path: Path) -> None:
    file = tmp_path / "quality.py"
    file.write_text("def score(row):\n    return None if row['v'] == 2 else row['v']\n")
    plan = await _plan(home, load_quality(f"{file}:score"), count=1)
    assert ([row.quality for row in plan.worst], [row.quality for row in plan.best]) == ([1.0], [60.0])
    assert plan.before.without == 1


def _raising(_: Mapping[str, Any]) -> float:
    raise KeyError("score")


@pytest.mark.parametrize(
    ("quality", "options", "message"),
    [
        ("missing", {}, "cannot be computed: .*missing"),
        ("CAST(k AS INT)", {}, "raises an error"),
        ("name", {}, "raises an error"),
        ("v + (SELECT 1)", {}, "is not an expression over one row: .*a subquery"),
        (_raising, {}, "The quality function raised KeyError: 'score' for row 0 of "),
        ("v) FROM read_csv('/etc/passwd') --", {}, "is not an expression over one row"),
        ("1", {}, "do not differ in quality: 4 of 4 rows have one"),
        ("v", {"below": 0}, "No row of .* has a lower quality than 0: it is 1 to 60"),
        ("v", {"below": 100}, "has a higher quality than 100"),
    ],
)
async def test_a_quality_that_cannot_rank_is_refused(home: ComparedHome, quality: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidQueryError, match=message):
        await _plan(home, quality, **options)


async def test_a_result_whose_records_are_all_behind_good_rows_is_refused(home: ComparedHome, tmp_path: Path) -> None:
    """Each of two names is joined with each of two numbers, and each record is behind a bad row and a good row."""
    names = write_csv(tmp_path / "left.csv", ["g", "name"], [["x", "ann"], ["x", "bob"]])
    numbers = write_csv(tmp_path / "right.csv", ["h", "v"], [["x", 1], ["x", 2]])
    job = Job(home.records, "numbers", 2)
    left = job.scan(names, "csv", {"g": "string", "name": "string"}, {"header": "true"})
    right = job.scan(numbers, "csv", {"h": "string", "v": "int"}, {"header": "true"})
    shutil.rmtree(tmp_path / "out")
    job.write(job.join(left, right, [("g", "h")]), tmp_path / "out", "parquet", ["name", "v"], files=1)
    home.add(SECOND, job)
    await home.project()
    with pytest.raises(InvalidQueryError, match=r"At no step .*each record is also behind a best row"):
        await _plan(home, "CASE WHEN (name = 'ann') = (v = 1) THEN 0 ELSE 1 END", below=1)


@pytest.mark.parametrize("text", ["gone.py:score", "{file}:another", "{broken}:score"])
def test_a_file_without_the_function_is_refused(tmp_path: Path, text: str) -> None:
    file, broken = tmp_path / "quality.py", tmp_path / "broken.py"
    file.write_text("score = 3\n")
    broken.write_text("1 / 0\n")
    with pytest.raises(InvalidQueryError, match=r"has no function|cannot be loaded"):
        load_quality(text.format(file=file, broken=broken))
