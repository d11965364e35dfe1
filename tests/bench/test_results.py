import json

from bench.results import document, write
from bench.suite import Measure, Plan, Statistic

PLAN = Plan(
    name="made",
    arms=("plain", "control", "active"),
    baseline="plain",
    control="control",
    cases=("a",),
    measures=(
        Measure(name="a", cases=("a",), arm="active", statistic=Statistic.RATIO),
        Measure(name="absent", cases=("a",), arm="active", statistic=Statistic.MOST, quantity="absent"),
    ),
    rounds=3,
    warm_up=0,
)
SAMPLES = {arm: {"a": [{"seconds": 1.0}] * 5} for arm in PLAN.arms}


def test_the_file_has_the_agreed_shape(tmp_path):
    content = json.loads(write(document(PLAN, SAMPLES, seed=1), tmp_path).read_text())
    assert list(content) == ["suite", "date", "commit", "machine", "cases", "summary"]
    assert list(content["cases"][0]) == [
        "name", "measure", "unit", "value", "low", "high", "n", "control", "usable", "target", "verdict",
        "rounds_needed", "detail",
    ]  # fmt: skip
    assert content["suite"] == "made"
    assert content["cases"][0]["control"] == {"value": 1.0, "low": 1.0, "high": 1.0}


def test_what_was_not_counted_is_left_out():
    content = document(PLAN, SAMPLES, seed=1)
    assert [case["name"] for case in content["cases"]] == ["a"]
    assert content["summary"]["medians"]["active"]["a"] == {"seconds": 1.0}
    assert (content["summary"]["rounds"], content["summary"]["usable"], content["summary"]["of"]) == (5, 1, 1)
