import math

import pytest

from bench.figures import Verdict, figure, medians, quiet, verdict
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
    plain={"a": [1.0] * 5, "b": [3.0] * 5},
    control={"a": [1.0] * 5, "b": [3.0] * 5},
    active={"a": [2.0] * 5, "b": [3.0] * 5},
)
RATIO = measure(Statistic.RATIO, target=1.25)


@pytest.mark.parametrize(
    ("control", "rounds", "usable"),
    [
        (Interval(1.0, 0.98, 1.02), 15, True),
        (Interval(1.02, 1.005, 1.04), 15, True),
        (Interval(0.99, 0.985, 0.994), 15, True),
        (Interval(1.02, 1.011, 1.025), 15, False),  # does not come to 1: the two plain arms differ
        (Interval(1.04, 0.96, 1.2), 15, False),  # too far from it
        (Interval(1.0, 1.0, 1.0), 4, False),  # by chance
    ],
)
def test_a_control_that_does_not_come_to_one_makes_a_figure_unusable(control, rounds, usable):
    assert quiet(control, rounds) is usable


@pytest.mark.parametrize(
    ("found", "rounds", "usable", "said"),
    [
        (Interval(1.02, 1.00, 1.05), 15, True, (Verdict.MET, None)),
        (Interval(1.08, 1.06, 1.10), 15, True, (Verdict.MISSED, None)),
        (Interval(1.04, 1.02, 1.06), 15, True, (Verdict.OPEN, 60)),  # twice as near to the target as its bound: four times the rounds
        (Interval(1.06, 1.04, 1.08), 15, True, (Verdict.OPEN, 60)),
        (Interval(1.05, 1.04, 1.08), 15, True, (Verdict.OPEN, 9_999)),
        (Interval(1.00, 0.99, 1.01), 15, False, (Verdict.OPEN, None)),  # more rounds do not make a machine quiet
        (Interval(1.00, 1.00, 1.00), 3, False, (Verdict.OPEN, 5)),
    ],
)
def test_a_target_is_met_or_missed_by_a_whole_interval_and_else_open(found, rounds, usable, said):
    assert verdict(found, 1.05, rounds, usable=usable) == said


def test_a_ratio_is_over_the_sum_of_its_cases():
    found = figure(RATIO, plan(), SAMPLES)
    assert (found.value, found.unit, found.measure, found.n) == (1.25, "×", "wall, active ÷ plain", 5)
    assert (found.usable, found.verdict) == (True, Verdict.MET)


def test_ratios_are_paired_round_by_round():
    # The machine grows slower round by round, in all arms alike: the ratio of sums of other rounds would not be 1.1.
    seconds = [1.0, 2.0, 4.0, 8.0, 16.0]
    slower = timed(plain={"a": seconds}, control={"a": seconds}, active={"a": [1.1 * second for second in seconds]})
    found = figure(measure(Statistic.RATIO, cases=("a",)), plan(), slower)
    assert (found.value, found.low, found.high) == (1.1, 1.1, 1.1)


def test_a_geometric_mean_weighs_every_case_alike():
    found = figure(measure(Statistic.GEOMEAN, target=1.4), plan(), SAMPLES)
    assert (found.value, found.measure) == (pytest.approx(math.sqrt(2), rel=1e-3), "wall, active ÷ plain, geometric mean")
    assert (found.usable, found.verdict) == (True, Verdict.MISSED)


def test_the_worst_case_is_named_and_has_a_control_of_its_own():
    restless = SAMPLES | timed(control={"a": [1.3] * 5, "b": [3.0] * 5})
    found = figure(measure(Statistic.WORST, target=3), plan(), restless)
    assert (found.value, found.detail, found.control["value"]) == (2.0, "a", 1.3)
    assert (found.usable, found.verdict) == (False, Verdict.OPEN)


def test_a_percentile_is_in_milliseconds():
    found = figure(measure(Statistic.P99, cases=("a",)), plan(), SAMPLES)
    assert (found.value, found.unit, found.measure) == (2000.0, "ms", "p99")


def test_without_a_target_nothing_is_met_or_missed():
    found = figure(measure(Statistic.RATIO, cases=("a",)), plan(), SAMPLES)
    assert (found.target, found.verdict) == (None, None)


def test_an_unusable_figure_meets_no_target():
    found = figure(RATIO, plan(), SAMPLES | timed(control={"a": [1.5] * 5, "b": [3.0] * 5}))
    assert found.value <= 1.25
    assert (found.usable, found.verdict) == (False, Verdict.OPEN)


def test_a_difference_is_in_seconds_pair_by_pair():
    found = figure(measure(Statistic.DIFFERENCE, cases=("a",), target=0.5), plan(), SAMPLES)
    assert (found.value, found.unit, found.measure) == (1.0, "s", "wall, active − plain")
    assert (found.usable, found.verdict, found.control["value"]) == (True, Verdict.MISSED, 0.0)


def test_a_difference_between_the_plain_arms_makes_one_unusable():
    restless = SAMPLES | timed(control={"a": [1.1] * 5, "b": [3.0] * 5})
    assert not figure(measure(Statistic.DIFFERENCE, cases=("a",)), plan(), restless).usable


def test_the_worst_of_cases_that_take_turns_in_it_is_no_better_than_each():
    noisy = SAMPLES | timed(active={"a": [1.0, 1.1, 1.2, 1.1, 1.0], "b": [3.0, 3.3, 3.6, 3.3, 3.0]})
    found = figure(measure(Statistic.WORST), plan(), noisy)
    one = figure(measure(Statistic.RATIO, cases=("a",)), plan(), noisy)
    assert found.low >= one.low
    assert found.high >= one.high


def test_processor_time_is_compared_like_time():
    samples = {
        arm: {case: [one | {"cpu_seconds": 2 * one["seconds"]} for one in rounds] for case, rounds in cases.items()}
        for arm, cases in SAMPLES.items()
    }
    assert figure(measure(Statistic.RATIO, quantity="cpu_seconds"), plan(), samples).measure == "processor, active ÷ plain"


COUNTED = SAMPLES | {
    "active": {
        "a": [{"seconds": 2.0, "bytes": 10.0, "rows": 5.0, "kept": 4.0}, {"seconds": 2.0, "bytes": 10.0, "rows": 5.0}],
        "b": [{"seconds": 3.0, "bytes": 50.0, "rows": 5.0, "kept": 6.0}, {"seconds": 3.0, "bytes": 50.0, "rows": 5.0}],
    }
}


def test_a_share_is_of_sums_and_needs_no_quiet_machine():
    found = figure(measure(Statistic.SHARE, quantity="bytes", per="rows", target=6), plan(), COUNTED)
    assert (found.value, found.usable, found.verdict, found.control) == (6.0, True, Verdict.MET, {})


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
