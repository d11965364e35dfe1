"""Arms by turns in one process, with a suite made for the test. Tests of a turn are with the captures, which have a session."""

import json
import math
import time

import pytest

from bench import results, run
from bench.pairs import KeptCases, measure
from bench.suite import PROCESSOR, SECONDS, Measure, PairedSuite, Plan, Statistic

ARMS = ("plain", "control", "active")
TIMES = {"plain": 1.0, "control": 1.0, "active": 1.04}


class MadeTurns:
    def __init__(self) -> None:
        self.ran, self.closed = [], False

    def run(self, arm, case, turn):
        self.ran.append((arm, case, turn))
        return {SECONDS: TIMES[arm], PROCESSOR: 2 * TIMES[arm]}

    def close(self):
        self.closed = True


class MadeSuite:
    def __init__(self) -> None:
        measures = [
            Measure(name="active, all", cases=("a", "b"), arm="active", statistic=Statistic.GEOMEAN, quantity=PROCESSOR, target=1.05),
            Measure(name="active, a", cases=("a",), arm="active", statistic=Statistic.RATIO, quantity=PROCESSOR),
        ]
        self.plan = Plan(
            name="made", arms=ARMS, baseline="plain", control="control", cases=("a", "b"), measures=measures, rounds=6, warm_up=1
        )
        self.started = []

    def prepare(self, folder):
        pass

    def turns(self, folder):
        self.started.append(MadeTurns())
        return self.started[-1]


def measured(suite, kept, *, rounds=3, most=0, until=math.inf):
    cases = []
    samples = measure(
        suite.plan, lambda: suite.turns(None), kept, rounds=rounds, most=most, warm_up=1, seed=1, until=until,
        done=lambda case, _rounds, before: cases.append((case, before)),
    )  # fmt: skip
    return samples, cases


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr("bench.pairs.busy", lambda: 0.0)


def test_each_case_has_its_rounds_of_every_arm_one_after_the_other(tmp_path):
    suite = MadeSuite()
    samples, cases = measured(suite, KeptCases(tmp_path, "c1", resume=True))
    assert samples == {arm: dict.fromkeys("ab", [{SECONDS: TIMES[arm], PROCESSOR: 2 * TIMES[arm]}] * 3) for arm in ARMS}
    assert cases == [("a", False), ("b", False)]
    (turns,) = suite.started
    assert [case for _, case, _ in turns.ran] == ["a"] * 12 + ["b"] * 12
    for number in range(0, 24, 3):
        assert {arm for arm, _, _ in turns.ran[number : number + 3]} == set(ARMS)
    assert turns.closed


def test_rounds_follow_until_the_interval_is_narrow(tmp_path, monkeypatch):
    samples, _ = measured(MadeSuite(), KeptCases(tmp_path, "c1", resume=False), most=9)
    assert len(samples["active"]["a"]) == 4  # equal rounds are narrow at once, after a whole ABBA
    for spread, rounds in ((0.015, 4), (0.06, 9)):  # an interval that ends within 2 % of the figure, and one that does not
        monkeypatch.setattr(MadeTurns, "run", _uneven(spread))
        samples, _ = measured(MadeSuite(), KeptCases(tmp_path, "c1", resume=False), most=9)
        assert len(samples["active"]["a"]) == rounds


def _uneven(spread):
    return lambda _self, arm, _case, turn: {SECONDS: 1.0, PROCESSOR: TIMES[arm] * (1 + spread * (turn % 2) * (arm == "active"))}


def test_a_measurement_that_was_ended_goes_on_where_it_was(tmp_path):
    suite = MadeSuite()
    only_a = suite.plan.only(cases=["a"])
    kept = KeptCases(tmp_path, "c1", resume=True)
    measure(only_a, lambda: suite.turns(None), kept, rounds=3, most=3, warm_up=0, seed=1, until=math.inf, done=lambda *_: None)
    samples, cases = measured(suite, KeptCases(tmp_path, "c1", resume=True))
    assert cases == [("a", True), ("b", False)]
    assert {case for _, case, _ in suite.started[1].ran} == {"b"}
    assert len(samples["active"]["a"]) == 3


@pytest.mark.parametrize(
    ("commit", "rounds", "resume"), [("c2", 3, True), ("c1", 4, True), ("c1", 3, False)], ids=["another commit", "more rounds", "anew"]
)
def test_a_case_is_measured_again_where_what_was_kept_does_not_serve(tmp_path, commit, rounds, resume):
    measured(MadeSuite(), KeptCases(tmp_path, "c1", resume=True))
    _, cases = measured(MadeSuite(), KeptCases(tmp_path, commit, resume=resume), rounds=rounds)
    assert cases == [("a", False), ("b", False)]


def test_nothing_is_kept_of_a_tree_that_was_changed(tmp_path):
    measured(MadeSuite(), KeptCases(tmp_path, "c1+", resume=True))
    _, cases = measured(MadeSuite(), KeptCases(tmp_path, "c1+", resume=True))
    assert cases == [("a", False), ("b", False)]


def test_no_case_is_begun_after_the_time_and_nothing_is_started_for_none(tmp_path):
    suite = MadeSuite()
    samples, cases = measured(suite, KeptCases(tmp_path, "c1", resume=True), until=time.monotonic() - 1)
    assert (samples, cases, suite.started) == ({arm: {} for arm in ARMS}, [], [])


def test_the_command_writes_figures_pairs_and_how_busy_the_machine_was(tmp_path, monkeypatch, capsys):
    suite = MadeSuite()
    assert isinstance(suite, PairedSuite)
    monkeypatch.setattr(run, "load", lambda *_: suite)
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "commit", lambda: "c1")
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    assert run.main(["tpch"]) == 0
    content = json.loads((tmp_path / "results" / "made.json").read_text())
    assert content["cases"][0]["verdict"] == "met"
    assert content["pairs"]["a"][PROCESSOR] == {"plain": [2.0] * 6, "control": [2.0] * 6, "active": [2.08] * 6}
    assert set(content["machine"]["meanwhile"]["b"]) == {"load_1m", "busy_before", "busy_with_others"}
    assert "processor, active ÷ plain, geometric mean" in capsys.readouterr().out


def test_a_part_that_there_was_time_for_does_not_stand_for_the_whole(tmp_path, monkeypatch, capsys):
    suite = MadeSuite()
    monkeypatch.setattr(run, "load", lambda *_: suite)
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "commit", lambda: "c1")
    measured(MadeSuite(), KeptCases(tmp_path / "build" / "bench" / "cases" / "made", "c1", resume=True), rounds=6)
    (tmp_path / "build" / "bench" / "cases" / "made" / "b.json").unlink()
    assert run.main(["tpch", "--resume", "--minutes", "0"]) == 0
    assert "no time was left for b" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "build" / "bench").glob("*.json")] == ["made.json"]
