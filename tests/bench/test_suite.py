import pytest

from bench.suite import Measure, Plan, Statistic

PLAN = Plan(
    name="made",
    arms=("plain", "control", "coarse", "active"),
    baseline="plain",
    control="control",
    cases=("a", "b"),
    measures=(
        Measure(name="all", cases=("a", "b"), arm="active", statistic=Statistic.RATIO),
        Measure(name="b", cases=("b",), arm="active", statistic=Statistic.RATIO),
        Measure(name="coarse", cases=("a", "b"), arm="coarse", statistic=Statistic.RATIO),
    ),
    rounds=3,
    warm_up=0,
    asked=("active",),
)


def test_the_arms_that_are_asked_for_run_beside_the_plain_ones():
    assert PLAN.only().arms == ["plain", "control", "active"]
    assert PLAN.only(arms=["coarse"]).arms == ["plain", "control", "coarse"]


def test_a_measure_is_made_of_the_cases_that_run():
    part = PLAN.only(cases=["a"])
    assert [(measure.name, list(measure.cases)) for measure in part.measures] == [("all", ["a"])]


@pytest.mark.parametrize("chosen", [{"arms": ["lazy"]}, {"cases": ["q1"]}])
def test_what_is_not_there_is_named_with_what_is(chosen):
    with pytest.raises(ValueError, match=r"has no (arm|case) .* it has"):
        PLAN.only(**chosen)
