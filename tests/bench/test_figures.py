import math

import pytest

from bench.figures import figure, medians, quiet
from bench.intervals import Interval
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


def timed(**arms: dict[str, list[float]]) -> dict[str, dict[str, list[dict[str, float]]]]:
    return {arm: {case: [{"seconds": value} for value in values] for case, values in cases.items()} for arm, cases in arms.items()}


def measure(statistic: Statistic, **options) -> Measure:
    return Measure(**{"name": "both", "cases": ("a", "b"), "arm": "active", "statistic": statistic} | options)


SAMPLES = timed(
    plain={"a": [1.0, 1.0, 1.0], "b": [3.0, 3.0, 3.0]},
    control={"a": [1.0, 1.0, 1.0], "b": [3.0, 3.0, 3.0]},
    active={"a": [2.0, 2.0, 2.0], "b": [3.0, 3.0, 3.0]},
)
RATIO = measure(Statistic.RATIO, target=1.25)


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
    found = figure(RATIO, plan(), SAMPLES)
    assert (found.value, found.unit, found.measure, found.n) == (1.25, "×", "active ÷ plain", 3)
    assert (found.usable, found.met) == (True, True)


def test_a_geometric_mean_weighs_every_case_alike():
    found = figure(measure(Statistic.GEOMEAN, target=1.4), plan(), SAMPLES)
    assert (found.value, found.measure) == (pytest.approx(math.sqrt(2), rel=1e-3), "active ÷ plain, geometric mean")
    assert (found.usable, found.met) == (True, False)


def test_the_worst_case_is_named_and_has_a_control_of_its_own():
    restless = SAMPLES | timed(control={"a": [1.3, 1.3, 1.3], "b": [3.0, 3.0, 3.0]})
    found = figure(measure(Statistic.WORST, target=3), plan(), restless)
    assert (found.value, found.detail, found.control["value"]) == (2.0, "a", 1.3)
    assert (found.usable, found.met) == (False, False)


def test_a_percentile_is_in_milliseconds():
    found = figure(measure(Statistic.P99, cases=("a",)), plan(), SAMPLES)
    assert (found.value, found.unit, found.measure) == (2000.0, "ms", "p99")


def test_without_a_target_nothing_is_met_or_missed():
    found = figure(measure(Statistic.RATIO, cases=("a",)), plan(), SAMPLES)
    assert (found.target, found.met) == (None, None)


def test_an_unusable_figure_meets_no_target():
    found = figure(RATIO, plan(), SAMPLES | timed(control={"a": [1.5, 1.5, 1.5], "b": [3.0, 3.0, 3.0]}))
    assert found.value <= 1.25
    assert (found.usable, found.met) == (False, False)


def test_processor_time_is_compared_like_time():
    samples = {
        arm: {case: [one | {"cpu": 2 * one["seconds"]} for one in rounds] for case, rounds in cases.items()}
        for arm, cases in SAMPLES.items()
    }
    assert figure(measure(Statistic.RATIO, quantity="cpu"), plan(), samples).value == 1.25


COUNTED = SAMPLES | {
    "active": {
        "a": [{"seconds": 2.0, "bytes": 10.0, "rows": 5.0, "kept": 4.0}, {"seconds": 2.0, "bytes": 10.0, "rows": 5.0}],
        "b": [{"seconds": 3.0, "bytes": 50.0, "rows": 5.0, "kept": 6.0}, {"seconds": 3.0, "bytes": 50.0, "rows": 5.0}],
    }
}


def test_a_share_is_of_sums_and_needs_no_quiet_machine():
    found = figure(measure(Statistic.SHARE, quantity="bytes", per="rows", target=6), plan(), COUNTED)
    assert (found.value, found.usable, found.met, found.control) == (6.0, True, True, {})


def test_what_was_counted_once_counts():
    assert figure(measure(Statistic.SHARE, quantity="kept", per="rows"), plan(), COUNTED).value == 1.0


def test_a_share_is_over_the_cases_that_counted():
    only_a = COUNTED | {"active": {"a": COUNTED["active"]["a"], "b": [{"seconds": 3.0, "rows": 5.0}]}}
    assert figure(measure(Statistic.SHARE, quantity="kept", per="rows"), plan(), only_a).value == 0.8


def test_what_nobody_counted_is_no_figure():
    assert figure(measure(Statistic.SHARE, quantity="absent", per="rows"), plan(), COUNTED) is None
    assert figure(measure(Statistic.MOST, quantity="absent"), plan(), COUNTED) is None


def test_the_most_is_of_medians_and_named():
    found = figure(measure(Statistic.MOST, quantity="bytes"), plan(), COUNTED)
    assert (found.value, found.detail) == (50.0, "b")
    assert figure(measure(Statistic.MEDIAN, quantity="bytes"), plan(), COUNTED).value == 30.0


def test_medians_are_of_every_quantity():
    assert medians(COUNTED)["active"]["a"] == {"seconds": 2.0, "bytes": 10.0, "rows": 5.0, "kept": 4.0}
