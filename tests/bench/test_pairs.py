"""Single queries by turns: what is measured, and that a turn of a mode captures where a plain one does not."""

import json
import subprocess
import sys
from pathlib import Path

from bench.pairs import plan_of
from bench.run import load


def test_every_case_and_arm_has_wall_and_processor_time_against_what_one_case_may_take():
    plan = plan_of(load("tpch").plan, ["q9"], ["active", "auto"])
    assert plan.arms == ["plain", "control", "active", "auto"]
    assert [(measure.name, measure.quantity, measure.target) for measure in plan.measures] == [
        ("active, q9", "seconds", 1.25),
        ("active, q9, cpu", "cpu_seconds", 1.25),
        ("auto, q9", "seconds", 1.10),
        ("auto, q9, cpu", "cpu_seconds", 1.10),
    ]
    assert {measure.target for measure in plan_of(load("pigmix").plan, ["L4"], None).measures} == {1.10}


def test_plain_and_captured_turns_share_a_jvm(root: Path, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_BENCH_DATA", str(tmp_path / "data"))
    command = [sys.executable, "-m", "bench.pairs", "wordcount", "--scale", "0.001", "--cases", "0.5 GB", "--arms", "active,coarse"]
    done = subprocess.run(
        [*command, "--rounds", "2", "--warm-up", "1", "--results", str(tmp_path)], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "wordcount-pairs.json").read_text())
    medians = {arm: cases["0.5 GB"] for arm, cases in content["summary"]["medians"].items()}
    assert medians["active"]["associations"] > 0  # else a RuntimeError would have said so
    assert not {"associations", "planning_ms"} & (medians["plain"].keys() | medians["control"].keys() | medians["coarse"].keys())
    assert all(values["seconds"] > 0 for values in medians.values())
    assert [case["name"] for case in content["cases"]] == [
        "coarse, 0.5 GB", "coarse, 0.5 GB, cpu", "active, 0.5 GB", "active, 0.5 GB, cpu",
    ]  # fmt: skip
