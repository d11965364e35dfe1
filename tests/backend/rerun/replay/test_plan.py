"""The programs that a replay runs again, and their order."""

import pytest

from headwater.backend.rerun.replay.plan import Flow, applications_between
from headwater.errors import NotFoundError, UnsupportedError


def flow(application: str, reads: str, writes: str) -> Flow:
    return Flow(application, frozenset(reads.split()), frozenset(writes.split()))


PIPELINE = [
    flow("report", "enriched hourly", "report"),
    flow("hourly", "clean_weather", "hourly"),
    flow("clean", "raw_weather", "clean_weather"),
    flow("clean", "raw_flights", "clean_flights"),
    flow("enrich", "clean_flights planes", "enriched"),
    flow("other", "report", "dashboard"),
]


def test_only_what_lies_between_is_run_in_an_order_that_finds_its_inputs() -> None:
    assert applications_between(PIPELINE, ["planes"], "report") == ["enrich", "report"]


def test_a_program_runs_before_every_program_that_reads_what_it_writes() -> None:
    order = applications_between(PIPELINE, ["raw_weather", "raw_flights"], "report")
    assert set(order) == {"clean", "hourly", "enrich", "report"}
    assert order.index("clean") < order.index("hourly") < order.index("report")
    assert order.index("clean") < order.index("enrich") < order.index("report")


def test_a_program_is_repeated_for_its_jobs_in_between_and_not_for_what_else_it_writes() -> None:
    assert applications_between(PIPELINE, ["raw_weather"], "report") == ["clean", "hourly", "report"]


def test_a_program_that_runs_whole_comes_before_whoever_reads_any_of_it() -> None:
    both = [flow("a", "x", "y"), flow("a", "unrelated", "side"), flow("b", "y side", "out")]
    assert applications_between(both, ["x"], "out") == ["a", "b"]


def test_an_output_that_the_records_cannot_reach_is_refused() -> None:
    with pytest.raises(NotFoundError, match="No recorded run leads"):
        applications_between(PIPELINE, ["report"], "hourly")


def test_a_program_that_overwrites_its_input_needs_no_order_with_itself() -> None:
    assert applications_between([flow("tidy", "table", "table")], ["table"], "table") == ["tidy"]


def test_programs_that_feed_each_other_in_a_circle_are_refused() -> None:
    circle = [flow("a", "x z", "y"), flow("b", "y", "z"), flow("c", "z", "out")]
    with pytest.raises(UnsupportedError, match="circle"):
        applications_between(circle, ["x"], "out")
