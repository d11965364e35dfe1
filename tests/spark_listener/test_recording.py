"""Recordings without a plan: reports of tasks that ran again, and the bounds of the kept reports."""

from __future__ import annotations

import random
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headwater.spark_listener import recording
from headwater.spark_listener.rdd_records.blocks import SegmentWriter
from headwater.spark_listener.recording import Recording, SegmentReport

Rows = list[tuple[int, int]]


@pytest.fixture
def made(tmp_path: Path) -> Recording:
    """A recording without a bound that matters."""
    return Recording(tmp_path, 1 << 40)


def boundary(made: Recording, kind: str = "group") -> tuple[int, int]:
    """An operator with a boundary of two columns, of one partition; both numbers."""
    operator = made.operator("RDD", "reduceByKey at x.py:1", ())
    return operator, made.boundary(kind, operator, [{"role": "key"}, {"role": "ref", "operator": operator}], lambda: 1)


def tell(made: Recording, number: int, rows: Rows, attempt: int, *, partly: bool = False, fault: str | None = None) -> None:
    """A task attempt reports its segment."""
    writer = SegmentWriter(made.pool, str(made.folder / made.pool), number, made.roles(number), (0, 0, attempt))
    writer.add([array("q", column) for column in zip(*rows, strict=True)] or [array("q"), array("q")])
    count, size, digest = writer.finish()
    made.add_report(SegmentReport(number, 0, 0, attempt, count, size, digest, writer.name, fault, partly, writer.content))


ROWS: Rows = [(n * 7919 % 13 - 6, n << 40) for n in range(3_000)]


@pytest.mark.parametrize(
    "rows", [ROWS, [(n, n) for n in range(20)], [(-(2**63), 2**63 - 1), (5, 5), (5, 5)], []], ids=["many", "few", "extremes", "none"]
)
def test_a_task_that_ran_again_and_recorded_the_same_in_another_order_is_no_problem(made: Recording, rows: Rows) -> None:
    operator, number = boundary(made)
    tell(made, number, rows, 1)
    tell(made, number, random.Random(1).sample(rows, len(rows)), 2)
    assert made.problems_of([operator]) == []


@pytest.mark.parametrize("change", ["other", "fewer", "twice", "none"])
def test_a_task_that_ran_again_and_recorded_something_else_refuses(made: Recording, change: str) -> None:
    operator, number = boundary(made)
    tell(made, number, ROWS, 1)
    again = {"other": [(9, 9), *ROWS[1:]], "fewer": ROWS[1:], "twice": [ROWS[1], *ROWS[1:]], "none": []}[change]
    tell(made, number, again, 2)
    (problem,) = made.problems_of([operator])
    assert problem["kind"] == "refused"
    assert "more than once" in problem["reason"]


def test_rows_whose_order_counts_refuse_where_it_changed(made: Recording) -> None:
    operator, number = boundary(made, "rows")
    tell(made, number, ROWS, 1)
    tell(made, number, ROWS, 2)
    assert made.problems_of([operator]) == []
    tell(made, number, ROWS[::-1], 3)
    assert [problem["kind"] for problem in made.problems_of([operator])] == ["refused"]


def test_what_was_pulled_partly_gives_way_to_what_was_pulled_further(made: Recording) -> None:
    operator, number = boundary(made)
    for rows, partly in ((ROWS[:0], True), (ROWS[:5], True), (ROWS[:2], True)):
        tell(made, number, rows, len(rows), partly=partly)
    assert made.recorded(operator, "group")[1][0][1].name.endswith("-a5.seg")
    tell(made, number, ROWS, 7)
    tell(made, number, ROWS[:9], 8, partly=True)
    assert made.recorded(operator, "group")[1][0][1].name.endswith("-a7.seg")
    assert made.problems_of([operator]) == []


def test_a_report_of_what_nobody_knows_raises_nothing(made: Recording) -> None:
    made.add_report(SegmentReport(1, 0, 0, 0, 1, 1, "", "x.seg", None))


def test_numbers_are_given_out_once_to_threads_at_once(made: Recording) -> None:
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: made.operator("RDD", "", ()), range(4_000)))
    assert len(set(numbers)) == 4_000


def test_what_is_kept_of_a_long_program_is_bounded(made: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MOST_OPERATORS", 3)
    for _ in range(3):
        assert made.bound_reached is None
        made.operator("RDD", "", ())
    assert made.bound_reached is not None
