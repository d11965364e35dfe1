"""The harness with real worker processes, over a suite made for the test."""

import os
import sys
import textwrap
from pathlib import Path

import pytest

from bench import harness, results, run
from bench.process import Worker, WorkerError
from bench.suite import Plan

SUITE = """
import os, time
from pathlib import Path
from bench.suite import Measure, Plan, Statistic

class Arm:
    def __init__(self, name, folder, scale):
        self.name, self.folder, self.scale = name, folder, scale
        print("noise on standard output is nobody's answer")
    def run(self, case, turn):
        print("more noise")
        if case == "fails":
            raise ValueError("this case cannot be run")
        if case == "dies":
            os._exit(9)
        with (self.folder / "ran").open("a") as ran:
            ran.write(f"{self.name} {case} {turn} {os.getpid()}\\n")
        return {"seconds": {"plain": 1.0, "control": 1.0, "slow": 2.0}[self.name], "scale": self.scale}
    def close(self):
        (self.folder / f"{self.name}-closed").touch()

class Suite:
    plan = Plan(name="madeup", arms=("plain", "control", "slow"), baseline="plain", control="control", cases=("a", "b"),
        measures=(Measure(name="slow", cases=("a", "b"), arm="slow", statistic=Statistic.RATIO),), rounds=2, warm_up=1)
    def prepare(self, folder):
        (folder / "prepared").touch()
    def __init__(self, scale):
        self.scale = scale
    def arm(self, name, folder):
        return Arm(name, folder, self.scale)

def suite(scale):
    return Suite(scale or 1.0)
"""


@pytest.fixture
def madeup(root: Path, monkeypatch: pytest.MonkeyPatch):
    """A suite in a module of its own, found by the workers as the real ones are."""
    path = root / "bench" / "suites" / f"madeup_{os.getpid()}.py"
    path.write_text(textwrap.dedent(SUITE).replace('"madeup"', f'"{path.stem}"'))
    yield path.stem
    path.unlink()
    sys.modules.pop(f"bench.suites.{path.stem}", None)


def _plan(name: str) -> Plan:
    return run.load(name).plan


def test_every_case_runs_once_a_round_in_one_process_an_arm(madeup, tmp_path):
    samples = harness.measure(madeup, _plan(madeup), tmp_path, scale=0.5, rounds=2, warm_up=1, seed=5, report=lambda _: None)
    assert samples["slow"] == {case: [{"seconds": 2.0, "scale": 0.5}] * 2 for case in "ab"}
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert len(ran) == 3 * 2 * 3
    assert sorted({turn for _, _, turn, _ in ran}) == ["-1", "0", "1"]
    assert len({(arm, pid) for arm, _, _, pid in ran}) == len({pid for *_, pid in ran}) == 3
    assert all((tmp_path / f"{arm}-closed").exists() for arm in ("plain", "control", "slow"))


def test_no_round_is_begun_after_the_time_but_one_is_run(madeup, tmp_path):
    told = []
    samples = harness.measure(madeup, _plan(madeup), tmp_path, scale=None, rounds=9, warm_up=1, seed=5, report=told.append, seconds=0)
    assert {len(rounds) for cases in samples.values() for rounds in cases.values()} == {1}
    assert told[-1] == "no time for more than 1 of 9 rounds"


def test_arms_run_in_an_order_that_changes_and_can_be_had_again():
    arms = ("plain", "control", "active")
    orders = [tuple(harness.order(arms, 1, turn, "a")) for turn in range(60)]
    assert orders == [tuple(harness.order(arms, 1, turn, "a")) for turn in range(60)]
    assert len(set(orders)) == 6
    assert all(5 <= sum(order[0] == arm for order in orders) <= 35 for arm in arms)


@pytest.mark.parametrize("first", [-4, 0, 6])
def test_two_rounds_give_every_arm_the_same_mean_place(first):
    arms = ("plain", "control", "active", "auto")
    places = [[harness.order(arms, 1, turn, "a").index(arm) for turn in (first, first + 1)] for arm in arms]
    assert {sum(place) for place in places} == {3}


def test_a_case_that_fails_says_why(madeup, tmp_path):
    with Worker(madeup, "plain", tmp_path) as worker, pytest.raises(WorkerError, match="this case cannot be run"):
        worker.run("fails", 0)


def test_a_worker_goes_on_after_a_case_that_failed(madeup, tmp_path):
    with Worker(madeup, "slow", tmp_path) as worker:
        with pytest.raises(WorkerError):
            worker.run("fails", 0)
        assert worker.run("a", 0)["seconds"] == 2.0


def test_a_worker_that_dies_is_reported_with_its_log(madeup, tmp_path):
    with Worker(madeup, "plain", tmp_path) as worker, pytest.raises(WorkerError, match=r"ended with code 9[\s\S]*noise"):
        worker.run("dies", 0)


def test_an_arm_that_cannot_start_is_reported(tmp_path):
    with pytest.raises(WorkerError, match=r"No module named 'bench\.suites\.nothing'"):
        Worker("nothing", "plain", tmp_path)


def test_a_suite_is_run_and_written_from_the_command(madeup, tmp_path, capsys):
    assert run.main([madeup, "--results", str(tmp_path)]) == 0
    assert (tmp_path / f"{madeup}.json").exists()
    assert "slow ÷ plain" in capsys.readouterr().out


def test_every_suite_declares_a_plan_that_holds_together():
    assert set(run.names()) >= {*run.FIGURES, "tpcds", "trace", "trace_pigmix", "trace_tpch"}
    for name in run.names():
        if name.startswith("madeup_"):
            continue  # another worker of this very suite of tests made it, and may be taking it away
        plan = _plan(name)
        assert plan.name == name
        assert {plan.baseline, plan.control, *(measure.arm for measure in plan.measures)} <= set(plan.arms)
        assert all(set(measure.cases) <= set(plan.cases) for measure in plan.measures)
        assert len({(measure.name, measure.statistic, measure.quantity) for measure in plan.measures}) == len(plan.measures)
        assert set(plan.asked or ()) <= set(plan.arms)


def test_a_part_of_a_suite_does_not_stand_for_the_whole(madeup, monkeypatch, tmp_path):
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    assert run.main([madeup, "--cases", "b"]) == 0
    assert [path.relative_to(tmp_path).parent for path in tmp_path.rglob("*.json")] == [Path("build/bench")]


@pytest.mark.parametrize("wrong", [["--arms", "lazy"], ["--cases", "q1"]])
def test_an_arm_or_case_that_is_not_there_is_refused_before_anything_runs(madeup, wrong, capsys):
    with pytest.raises(SystemExit):
        run.main([madeup, *wrong])
    assert "it has" in capsys.readouterr().err


def test_a_suite_of_one_size_says_so(capsys):
    with pytest.raises(SystemExit):
        run.main(["start", "--scale", "2"])
    assert "one size" in capsys.readouterr().err
