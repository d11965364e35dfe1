import json

import pytest

from bench.intervals import Interval
from bench.results import document, figure, quiet, write
from bench.suite import Measure, Plan, Statistic


def plan(*measures: Measure) -> Plan:
    return Plan(
        name="made",
        arms=("plain", "control", "active"),
        baseline="plain",
        control="control",
        cases=("a", "b"),
        measures=measures,
        rounds=3,
        warm_up=0,
    )


RATIO = Measure(name="both", cases=("a", "b"), arm="active", statistic=Statistic.RATIO, target=1.25)
TIMES = {
    "plain": {"a": [1.0, 1.0, 1.0], "b": [3.0, 3.0, 3.0]},
    "control": {"a": [1.0, 1.0, 1.0], "b": [3.0, 3.0, 3.0]},
    "active": {"a": [2.0, 2.0, 2.0], "b": [3.0, 3.0, 3.0]},
}


@pytest.mark.parametrize(
    ("control", "usable"),
    [
        (Interval(1.0, 0.98, 1.02), True),
        (Interval(1.0, 0.97, 1.03), True),
        (Interval(1.02, 1.01, 1.025), False),  # does not hold 1: the two plain arms differ
        (Interval(1.0, 0.96, 1.01), False),  # too wide below
        (Interval(1.0, 0.99, 1.031), False),  # too wide above
    ],
)
def test_a_control_that_is_not_one_within_three_percent_makes_a_figure_unusable(control, usable):
    assert quiet(control) is usable


def test_a_ratio_is_over_the_sum_of_its_cases():
    found = figure(RATIO, plan(), TIMES)
    assert (found.value, found.unit, found.measure, found.n) == (1.25, "×", "active ÷ plain", 3)
    assert (found.usable, found.met) == (True, True)


def test_a_percentile_is_in_milliseconds():
    found = figure(Measure(name="a", cases=("a",), arm="active", statistic=Statistic.P99), plan(), TIMES)
    assert (found.value, found.unit, found.measure) == (2000.0, "ms", "p99")


def test_without_a_target_nothing_is_met_or_missed():
    found = figure(Measure(name="a", cases=("a",), arm="active", statistic=Statistic.RATIO), plan(), TIMES)
    assert (found.target, found.met) == (None, None)


def test_an_unusable_figure_meets_no_target():
    found = figure(RATIO, plan(), TIMES | {"control": {"a": [1.5, 1.5, 1.5], "b": [3.0, 3.0, 3.0]}})
    assert found.value <= 1.25
    assert (found.usable, found.met) == (False, False)


def test_the_file_has_the_agreed_shape(tmp_path):
    content = json.loads(write(document(plan(RATIO), TIMES, seed=1), tmp_path).read_text())
    assert list(content) == ["suite", "date", "commit", "machine", "cases", "summary"]
    assert list(content["cases"][0]) == [
        "name", "measure", "unit", "value", "low", "high", "n", "control", "usable", "target", "met",
    ]  # fmt: skip
    assert content["suite"] == "made"
    assert content["cases"][0]["control"] == {"value": 1.0, "low": 1.0, "high": 1.0}
