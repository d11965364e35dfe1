"""A workflow that is killed at any step: nothing of the run is visible before it counts, and afterwards nothing is lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from headwater.backend.workflows.stragglers import RUN_VARIABLE
from tests.backend.workflows.laboratory import PROGRAM, Laboratory, channels, run_and_die, task

# `one` gets a block, `two` is replaced, `three` starts over.
FLOW = {
    "workflow": "flow",
    "channels": channels("raw", "one", "two", "three"),
    "tasks": {
        "first": task("copy", [{"channel": "raw", "mode": "new"}, {"channel": "raw", "mode": "old"}], "one"),
        "second": task("copy", [{"channel": "one", "mode": "all"}], "two", "base"),
        "third": task("copy", [{"channel": "two", "mode": "new"}], "three"),
    },
}
STEPS = 400


def _prepare(folder: Path) -> Laboratory:
    lab = Laboratory(folder)
    lab.register("copy")
    lab.apply(FLOW)
    for number in (1, 2):
        lab.add("raw", f"{number}.txt", f"line {number}")
        lab.run()
    lab.add("raw", "3.txt", "line 3")
    return lab


def _content(lab: Laboratory) -> dict[str, list[str]]:
    return {name: lab.lines(name) for name in ("one", "two", "three")}


def _kill_at(steps: range, folder: Path) -> int:
    """Kill a run at each of some steps, each in a home of its own, and return how many runs were killed."""
    whole = _prepare(folder / "whole")
    before = _content(whole)
    whole.run()
    after = _content(whole)
    killed = 0
    for step in steps:
        lab = _prepare(folder / str(step))
        if not run_and_die(folder / str(step), step):
            break
        killed += 1
        for name, lines in _content(lab).items():
            assert lines in (before[name], after[name]), f"{name} is neither before nor after when killed at step {step}"
        lab.workflows.recover("flow")
        assert not [line for line in lab.hidden() if "/one/" in line], f"step {step} leaves a shadow"
        cursors = {status.task: dict(status.unread) for status in lab.workflows.status("flow")}
        for name, channel, made in (("first", "raw", "one"), ("second", "one", "two"), ("third", "two", "three")):
            is_done = _content(lab)[made] == after[made]
            assert is_done is (cursors[name][channel] == 0 and _inputs_are_done(lab, made, after)), f"{name} at step {step}"
        lab.run()
        assert _content(lab) == after, f"after step {step}"
    return killed


def _is_running(process: int) -> bool:
    """Whether a process runs. One that was killed may wait for its new parent to take its exit code."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _inputs_are_done(lab: Laboratory, made: str, after: dict[str, list[str]]) -> bool:
    order = ["raw", "one", "two", "three"]
    source = order[order.index(made) - 1]
    looked_at = bool(lab.workflows.ledger.files("flow", "raw", [1, 2, 3]).get("3.txt"))
    return looked_at if source == "raw" else _content(lab)[source] == after[source]


def test_a_kill_at_a_step_leaves_the_time_before_or_after(tmp_path: Path) -> None:
    assert _kill_at(range(4, STEPS, 13), tmp_path) >= 5


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_a_kill_at_any_step_leaves_the_time_before_or_after(tmp_path: Path) -> None:
    assert 50 < _kill_at(range(1, STEPS), tmp_path) < STEPS - 1


def _interrupt(folder: Path) -> Laboratory:
    """A laboratory in which a program has killed the process that started it, and would now write for a long time."""
    lab = Laboratory(folder)
    text = f"import os, pathlib\npathlib.Path({str(folder / 'process')!r}).write_text(str(os.getpid()))\n"
    text += PROGRAM + "\nimport signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)\n"
    lab.register("killer", text)
    lab.register("copy")
    lab.apply(FLOW | {"tasks": {**FLOW["tasks"], "first": {**FLOW["tasks"]["first"], "program": "killer"}}})  # type: ignore[dict-item, index]
    lab.add("raw", "1.txt", "a")
    assert run_and_die(folder, 0)
    return lab


def test_a_program_that_outlives_its_headwater_is_ended_first(tmp_path: Path) -> None:
    lab = _interrupt(tmp_path)
    program = int((tmp_path / "process").read_text())
    assert _is_running(program)
    assert lab.lines("one") == []
    lab.apply(FLOW)
    results = lab.run()
    assert [result.state for result in results.values()] == ["complete"] * 3
    assert not _is_running(program)
    failed = lab.workflows.ledger.runs("flow", 10)[-1]
    assert (failed.state, "was stopped before the end" in str(failed.error)) == ("failed", True)
    assert lab.lines("one") == ["new a"]


def test_only_the_program_of_the_run_is_ended(tmp_path: Path) -> None:
    lab = _interrupt(tmp_path)
    (folder,) = (lab.home / "workflows" / "flow" / "runs").iterdir()
    holding = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    others = [
        subprocess.Popen(["sleep", "600"], pass_fds=[holding]),
        subprocess.Popen(["sleep", "600"], pass_fds=[holding], env={**os.environ, RUN_VARIABLE: "another run"}),
    ]
    try:
        lab.apply(FLOW)
        lab.run()
        assert not _is_running(int((tmp_path / "process").read_text()))
        assert all(_is_running(other.pid) for other in others)
    finally:
        os.close(holding)
        for other in others:
            other.kill()
            other.wait()
