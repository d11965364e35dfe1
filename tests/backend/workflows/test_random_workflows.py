"""Random workflows that are killed at random steps: the output is that of a full recomputation, and each block is read once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.backend.workflows.ledger import Ledger, RunState
from headwater.backend.workflows.model import Production
from tests.backend.workflows.laboratory import Laboratory, run_and_die

COMMON = """\
import pathlib, sys
def lines(paths):
    files = [file for path in map(pathlib.Path, paths) for file in (sorted(path.rglob("*.txt")) if path.is_dir() else [path])]
    return [line for file in files for line in file.read_text().splitlines()]
options = {}
for word in sys.argv[1:]:
    if word.startswith("--"):
        options[word] = current = []
    else:
        current.append(word)
def write(result):
    (folder := pathlib.Path(options["--out"][0])).mkdir()
    (folder / "part.txt").write_text("".join(f"{line}\\n" for line in result))
"""
PROGRAMS = {
    # The lines of all inputs, marked.
    "copy": COMMON + 'write(f"<{line}>" for name in sorted(options) if name != "--out" for line in lines(options[name]))\n',
    # The pairs of a new line with a new or old one.
    "pairs": COMMON
    + 'new, old = sorted(lines(options["--new"])), lines(options["--old"])\n'
    + "pairs = [(a, b) for i, a in enumerate(new) for b in [*new[:i], *old]]\n"
    + 'write("+".join(sorted(pair)) for pair in pairs)\n',
    # The number of the lines of all inputs together.
    "total": COMMON + 'write([str(sum(len(lines(paths)) for name, paths in options.items() if name != "--out"))])\n',
}


@dataclass(frozen=True)
class Step:
    """An action: files that arrive, change or vanish, and a run that may be killed, limited to tasks, or start over."""

    files: Mapping[str, Sequence[str] | None]
    tasks: Sequence[int] | None
    kill_at: int | None
    starts_over: bool


@st.composite
def workflows(draw: st.DrawFn) -> dict[str, Any]:
    """Two sources and one to four tasks, each of which reads channels made before."""
    names = ["s0", "s1"]
    tasks: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 4))):
        program = draw(st.sampled_from(sorted(PROGRAMS)))
        channels = draw(st.lists(st.sampled_from(names), min_size=1, max_size=1 if program == "pairs" else 2, unique=True))
        if program == "pairs":
            inputs = [{"channel": channels[0], "mode": mode, "argument": f"--{mode}"} for mode in ("new", "old")]
        else:
            mode = "all" if program == "total" else "new"
            inputs = [{"channel": channel, "mode": mode, "argument": f"--in{place}"} for place, channel in enumerate(channels)]
        output = f"c{number}"
        tasks[f"t{number}"] = {
            "program": program, "capture": "off", "inputs": inputs,
            "outputs": [{"channel": output, "mode": "base" if program == "total" else "delta", "argument": "--out"}],
        }  # fmt: skip
        names.append(output)
    used = {each["channel"] for task in tasks.values() for each in (*task["inputs"], *task["outputs"])}
    return {"workflow": "flow", "channels": {name: {"path": name} for name in sorted(used)}, "tasks": tasks}


steps = st.lists(
    st.builds(
        Step,
        files=st.dictionaries(
            st.sampled_from([f"{source}/{name}.txt" for source in ("s0", "s1") for name in "ab"]),
            st.one_of(st.lists(st.sampled_from("pqr"), max_size=2), st.none()),
            max_size=2,
        ),
        tasks=st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=2)),
        kill_at=st.one_of(st.none(), st.integers(1, 120)),
        starts_over=st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows(), steps)
def test_a_random_workflow_gives_what_a_full_recomputation_gives(document: dict[str, Any], actions: list[Step]) -> None:
    _check(document, actions)


@pytest.mark.torture
@pytest.mark.timeout(0)
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows(), steps)
def test_many_random_workflows_give_what_a_full_recomputation_gives(document: dict[str, Any], actions: list[Step]) -> None:
    _check(document, actions)


def _check(document: dict[str, Any], actions: Sequence[Step]) -> None:
    with TemporaryDirectory() as folder:
        lab = Laboratory(Path(folder))
        for name, text in PROGRAMS.items():
            lab.register(name, text)
        for source in ("s0", "s1"):
            (lab.data / source).mkdir()
        lab.apply(document)
        number = itertools.count()
        for action in actions:
            for path, lines in action.files.items():
                _put(lab.data / path, lines, next(number))
            names = list(document["tasks"])
            tasks = None if action.tasks is None else [names[place % len(names)] for place in action.tasks]
            if action.kill_at is None:
                lab.workflows.run("flow", tasks=tasks, starts_over=action.starts_over)
            else:
                run_and_die(Path(folder), action.kill_at, tasks=tasks, starts_over=action.starts_over)
            _check_readings(lab.workflows.ledger, document)
        results = lab.run()
        assert not [result.error for result in results.values() if result.error]
        assert {result.state for result in lab.run().values()} == {None}, "nothing is left to be read"
        _check_readings(lab.workflows.ledger, document)
        assert {name: Counter(lab.lines(name)) for name in _written(document)} == _recompute(lab, document)


def _put(path: Path, lines: Sequence[str] | None, number: int) -> None:
    """Write a file whose state always differs from the one before."""
    if lines is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text("".join(f"{line}{number}\n" for line in lines))


def _written(document: Mapping[str, Any]) -> list[str]:
    return [output["channel"] for task in document["tasks"].values() for output in task["outputs"]]


def _check_readings(ledger: Ledger, document: Mapping[str, Any]) -> None:
    """Of each input in the mode new, the committed runs since the last start over read the blocks up to the cursor once and in order."""
    runs = [run for run in reversed(ledger.runs("flow", 1_000)) if run.state in (RunState.COMMITTED, RunState.COMPLETE)]
    for name, task in document["tasks"].items():
        cursors = ledger.cursors("flow", name)
        for each in task["inputs"]:
            if each["mode"] != "new":
                continue
            blocks = ledger.block_numbers("flow", each["channel"])
            start = next((block.sequence for block in blocks if block.mode is Production.BASE), 0)
            expected = [block.sequence for block in blocks if block.sequence <= cursors.get(each["channel"], 0)]
            read: list[int] = []
            for run in runs:
                if run.task == name:
                    numbers = list(run.reads[each["channel"]]["new"])
                    is_again = bool(numbers and read) and numbers[0] <= read[-1]  # it starts over
                    read = numbers if is_again else read + numbers
            assert [number for number in read if number >= start] == expected


def _recompute(lab: Laboratory, document: Mapping[str, Any]) -> dict[str, Counter[str]]:
    content = {
        source: [line for file in sorted((lab.data / source).iterdir()) for line in file.read_text().splitlines()]
        for source in ("s0", "s1")
    }
    for task in document["tasks"].values():
        lines = [line for each in task["inputs"] if each["mode"] != "old" for line in content[each["channel"]]]
        made = {
            "copy": [f"<{line}>" for line in lines],
            "pairs": ["+".join(sorted(pair)) for pair in itertools.combinations(lines, 2)],
            "total": [str(len(lines))],
        }
        output = task["outputs"][0]["channel"]
        has_run = bool(lab.workflows.ledger.blocks("flow", output))  # a task without anything to read does not run
        content[output] = made[task["program"]] if has_run else []
    return {name: Counter(content[name]) for name in _written(document)}
