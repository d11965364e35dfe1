"""`make test` runs every test once, and says clearly how it ended."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.mark.expression import Expression

from tests import collected
from tests.house.scripts import load_script


@pytest.fixture
def checks(root: Path) -> ModuleType:
    return load_script(root, "check")


def _expressions(steps: Iterable[Any]) -> dict[str, str]:
    """The marks of each step of pytest."""
    return {
        step.name: marks[1]
        for step in steps
        if step.name != "bench-more" and (marks := re.search(r'-m "(.*?)"', step.command))  # a folder that spark-more leaves out
    }


def _selecting(steps: Iterable[Any], chosen: Collection[str]) -> list[str]:
    """The names of the steps that run a test with these marks."""
    expressions = {name: Expression.compile(marks) for name, marks in _expressions(steps).items()}
    return [name for name, expression in expressions.items() if expression.evaluate(lambda mark, **_: mark in chosen)]


def test_every_combination_of_marks_is_in_exactly_one_step(checks: ModuleType):
    names = ("spark", "cluster", "neo4j", "lake", "e2e")
    for chosen in (set(some) for count in range(len(names) + 1) for some in itertools.combinations(names, count)):
        for quick, long, marks in (
            (1, 0, chosen),
            (0, 1, chosen | {"slow"}),
            (0, 0, chosen | {"torture"}),
            (0, 0, chosen | {"slow", "torture"}),
        ):
            assert len(_selecting(checks.STEPS, marks)) == quick, f"a test marked {marks or 'with nothing'}"
            assert len(_selecting(checks.MORE_STEPS, marks)) == long, f"a test marked {marks or 'with nothing'}"


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("def test_one(): ...", {"unit"}),
        ("pytestmark = [pytest.mark.spark, pytest.mark.slow]", {"spark-more"}),
        ("pytestmark = pytest.mark.spark\n@pytest.mark.slow\ndef test_one(): ...", {"spark", "spark-more"}),
        ("@pytest.mark.cluster\ndef test_one(): ...", {"unit", "cluster"}),
        ('def test_one(): "pytest.mark.spark is only spoken of"', {"unit"}),
    ],
)
def test_a_step_looks_into_the_files_that_may_have_tests_of_it(checks: ModuleType, tmp_path: Path, text: str, selected: set[str]):
    file = tmp_path / "test_file.py"
    file.write_text(text)
    marks = _expressions((*checks.STEPS, *checks.MORE_STEPS))
    assert {name for name, expression in marks.items() if collected.may_hold(file, expression)} == selected
    assert {name for name, expression in marks.items() if collected.may_hold(tmp_path, expression)} == selected


_VARIANTS = """
import pytest

@pytest.mark.spark
@pytest.mark.parametrize("number", range(5))
def test_costly(number): ...

@pytest.mark.spark
@pytest.mark.parametrize("number", [0, 1, 2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.torture)])
def test_chosen(number): ...

@pytest.mark.parametrize("number", range(3))
def test_cheap(number): ...
"""


def test_the_first_and_the_last_variant_of_a_costly_test_stay_where_nothing_else_is_chosen(root: Path, tmp_path: Path):
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_collection_modifyitems, pytest_ignore_collect\n")
    (tmp_path / "test_file.py").write_text(_VARIANTS)
    collect = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-c", str(root / "pyproject.toml"), "--rootdir", str(tmp_path)]

    def collected_by(marks: str) -> list[str]:
        done = subprocess.run([*collect, "-m", marks, str(tmp_path)], cwd=root, capture_output=True, text=True, timeout=300)
        return [line.partition("::test_")[2] for line in done.stdout.splitlines() if "::" in line]

    quick = ["costly[0]", "costly[4]", "chosen[0]", "chosen[1]", "chosen[2]", "cheap[0]", "cheap[1]", "cheap[2]"]
    assert collected_by("not (slow or torture)") == quick
    assert collected_by("slow and not torture") == ["costly[1]", "costly[2]", "costly[3]", "chosen[3]"]


def test_a_mark_that_comes_from_elsewhere_is_an_error(root: Path, tmp_path: Path):
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_collection_modifyitems, pytest_ignore_collect\n")
    (tmp_path / "test_file.py").write_text(
        "import pytest\nelsewhere = getattr(pytest.mark, 'sl' + 'ow')\n@elsewhere\ndef test_one(): ...\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(root / "pyproject.toml"), "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert done.returncode == 4
    assert "name the mark slow" in done.stderr + done.stdout


@pytest.mark.parametrize("which", ["STEPS", "MORE_STEPS"])
def test_a_step_comes_after_what_it_needs(checks: ModuleType, which: str):
    steps = getattr(checks, which)
    names = [step.name for step in steps]
    for step in steps:
        assert all(names.index(needed) < names.index(step.name) for needed in step.after)


def test_the_slowest_tests_are_shown_and_all_durations_are_kept(checks, monkeypatch, tmp_path, capfd):
    cases = "".join(f'<testcase classname="tests.some" name="test_{number}" time="{number}.5"/>' for number in range(12))
    junit = f'<testsuite tests="12" failures="0" errors="0" skipped="0">{cases}</testsuite>'
    assert _report(checks, monkeypatch, tmp_path, ("good", f"echo '{junit}' > {{junit}}"), ("lint", "true")) == 0
    lines = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert [line for line in lines if line[-1:] and "tests.some" in line[-1]] == [
        [f"{number}.5", "s", f"tests.some::test_{number}"] for number in range(11, 1, -1)
    ]
    kept = json.loads((tmp_path / "durations.json").read_text())
    assert kept["tests"] == {f"tests.some::test_{number}": number + 0.5 for number in range(12)}
    assert kept["steps"].keys() == {"good", "lint"}


def test_the_processor_time_of_a_step_is_its_own(checks, monkeypatch, tmp_path):
    """Two steps at the same time: one works and one sleeps."""
    monkeypatch.setattr(checks.os, "cpu_count", lambda: 2)
    works = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.5: pass'"
    assert _report(checks, monkeypatch, tmp_path, ("works", works), ("sleeps", "sleep 0.5")) == 0
    steps = json.loads((tmp_path / "durations.json").read_text())["steps"]
    assert steps["works"]["processor_seconds"] >= 0.5 > steps["sleeps"]["processor_seconds"]


def _report(checks: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, *steps: tuple) -> int:
    monkeypatch.setattr(checks, "LOGS", folder)
    monkeypatch.setattr(checks, "ROOT", folder)
    monkeypatch.setattr(checks, "STEPS", tuple(checks.Step(*step) for step in steps))
    return checks.main([])


def test_all_steps_run_and_the_last_line_counts_them(checks, monkeypatch, tmp_path, capfd):
    junit = '<testsuites><testsuite tests="5" failures="1" errors="0" skipped="1"/></testsuites>'
    code = _report(
        checks, monkeypatch, tmp_path, ("good", "true"), ("bad", f"echo oh; echo '{junit}' > {{junit}}; false"), ("needs", "true", ("bad",))
    )
    output = capfd.readouterr().out
    assert code == 1
    assert "oh" in output
    assert "needs         not run: it needs bad" in output
    assert re.fullmatch(r"=+ 2 failed, 4 passed, 1 skipped in [\d.]+s \(0:0\d:\d\d\) =+", output.splitlines()[-1])


def test_a_failure_that_the_exit_code_hides_counts(checks, monkeypatch, tmp_path, capfd):
    junit = '<testsuite tests="1" failures="1" errors="0" skipped="0"/>'
    assert _report(checks, monkeypatch, tmp_path, ("bad", f"echo '{junit}' > {{junit}}")) == 1


_TESTS = """
import pathlib, pytest
mark = pathlib.Path(__file__).with_name("mark")

@pytest.mark.parametrize("number", range(5))
def test_it(number):
    if number == 4 and not mark.exists():
        {}
        raise AssertionError("it is not there")
"""


@pytest.mark.parametrize(
    ("at_first", "code", "said"),
    [("mark.touch()", 0, "= 5 passed, 1 unsteady in"), ("pass", 1, "= 1 failed, 4 passed in")],
    ids=["that passes when it runs again", "that fails again"],
)
def test_a_test(checks, at_first, code, said, monkeypatch, tmp_path, capfd):
    (tmp_path / "test_it.py").write_text(_TESTS.format(at_first))
    again = next(step.again for step in checks.STEPS if step.name == "unit")
    command = f"{sys.executable} -m pytest -q -c /dev/null {tmp_path} --junit-xml={{junit}} -o cache_dir={{junit}}.cache"
    assert _report(checks, monkeypatch, tmp_path, ("tests", command, (), False, again)) == code
    output = capfd.readouterr().out
    assert said in output.splitlines()[-1]
    assert ("Unsteady: what failed passed" in output) == (code == 0)
    assert "  tests: test_it::test_it[4]: AssertionError: it is not there" in output.splitlines()[-3:]


_FAILED = """<testsuites>
  <testsuite tests="9" failures="1" errors="1" skipped="0">
    <testcase classname="src/App.test.tsx" name="a &gt; b">
      <failure message="expected 1 to be 2&#10;second line" type="E">stack</failure>
    </testcase>
    <testcase classname="tests.some" name="test_setup"><error>
      no server
    </error></testcase>
    <testcase classname="tests.some" name="test_good"/>
  </testsuite>
</testsuites>"""


def test_the_last_lines_name_each_failed_test_and_the_end_of_a_log_without_tests(checks, monkeypatch, tmp_path, capfd):
    (tmp_path / "some_failed.xml").write_text(_FAILED)
    many = "".join(f'<testcase classname="c" name="n{number}"><failure message="{"m" * 999}"/></testcase>' for number in range(40))
    (tmp_path / "many_failed.xml").write_text(f'<testsuite tests="40" failures="40">{many}</testsuite>')
    steps = (
        ("page", f"cp {tmp_path}/some_failed.xml {{junit}}; false"),
        ("many", f"cp {tmp_path}/many_failed.xml {{junit}}; false"),
        ("lint", "echo earlier; printf '\\033[31ma.py:1: wrong\\033[0m'; false"),
        ("after", "true", ("lint",)),
    )
    assert _report(checks, monkeypatch, tmp_path, *steps) == 1
    lines = capfd.readouterr().out.splitlines()[-18:]
    assert [line for line in lines if line.startswith("  page:")] == [
        "  page: src/App.test.tsx::a > b: expected 1 to be 2",
        "  page: tests.some::test_setup: no server",
    ]
    assert len([line for line in lines if line.startswith("  many: c::n")]) == 6
    assert "  many: and 34 more" in lines
    assert max(map(len, lines)) < 260
    assert lines[-4:-1] == ["  lint: earlier", "  lint: a.py:1: wrong", "  after: not run: it needs lint"]


def test_what_ended_early_is_not_made_good_by_running_what_failed_again(checks, monkeypatch, tmp_path, capfd):
    (tmp_path / "test_it.py").write_text(
        "import pathlib\nmark = pathlib.Path(__file__).with_name('mark')\n"
        "def test_first():\n    there = mark.exists()\n    mark.touch()\n    assert there\n"
        "def test_second():\n    raise KeyboardInterrupt\n"
    )
    again = next(step.again for step in checks.STEPS if step.name == "unit")
    command = f"{sys.executable} -m pytest -q -c /dev/null {tmp_path} --junit-xml={{junit}} -o cache_dir={{junit}}.cache"
    assert _report(checks, monkeypatch, tmp_path, ("tests", command, (), False, again)) == 1


def test_all_is_well(checks, monkeypatch, tmp_path, capfd):
    assert _report(checks, monkeypatch, tmp_path, ("good", "true"), ("better", "true")) == 0
    assert "2 passed" in capfd.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("plenty", [0, 1 << 60], ids=["enough", "too little"])
def test_what_tests_write_lies_in_memory_where_there_is_enough_and_is_gone_afterwards(checks, monkeypatch, tmp_path, plenty):
    monkeypatch.setattr(checks, "_PLENTY", plenty)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    told = "touch $TMPDIR/it; echo $TMPDIR $(stat -f -c %T $TMPDIR) $PYTHONPYCACHEPREFIX ${{PYTHONDONTWRITEBYTECODE-unset}} > "
    told += str(tmp_path / "told")
    assert _report(checks, monkeypatch, tmp_path, ("writes", told)) == 0
    folder, kind, compiled, forbidden = (tmp_path / "told").read_text().split()
    assert not Path(folder).exists()
    assert (compiled, forbidden) == (str(checks.COMPILED), "unset")
    if plenty:
        assert kind == subprocess.run(["stat", "-f", "-c", "%T", Path(folder).parent], capture_output=True, text=True).stdout.strip()
    elif os.geteuid() == 0 and checks._shell(str(tmp_path))[0] == "unshare":
        assert kind == "tmpfs"


_ENDLESS = """
import signal, sys
from pathlib import Path
from tests.house.scripts import load_script
checks = load_script(Path(sys.argv[1]), "check")
checks.LOGS = checks.ROOT = Path(sys.argv[2])
checks._ENDING_SECONDS = 0.5
checks._PLENTY = int(sys.argv[3])
endless = "trap '' TERM; echo $$ $TMPDIR > new; mv new begun; while true; do touch $TMPDIR/it; sleep 0.05; done"
checks.STEPS = (checks.Step("endless", endless),)
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the tests run in has done with it
checks.main([])
"""


def _runs(process):
    """Whether a process runs. An orphan that has ended stays a zombie (Z) until somebody asks for its exit code."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("plenty", [0, 1 << 60], ids=["in memory", "on the disk"])
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT], ids=["terminated", "interrupted"])
def test_who_ends_the_checks_leaves_neither_steps_nor_files_behind(root, tmp_path, plenty, ending):
    command = [sys.executable, "-c", _ENDLESS, str(root), str(tmp_path), str(plenty)]
    checks = subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL)
    try:
        begun, deadline = tmp_path / "begun", time.monotonic() + 300
        while not begun.exists():
            assert time.monotonic() < deadline
            assert checks.poll() is None
            time.sleep(0.05)
        step, folder = begun.read_text().split()
        checks.send_signal(ending)
        assert checks.wait(300) != 0
        deadline = time.monotonic() + 300
        while _runs(step):  # the system takes a moment to end it
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert not Path(folder).exists()
    finally:
        checks.kill()
        with suppress(OSError, ValueError):
            os.kill(int((tmp_path / "begun").read_text().split()[0]), signal.SIGKILL)


def test_what_waits_for_the_network_holds_nothing_up(checks, monkeypatch, tmp_path):
    """With two steps at a time, the third runs only because the first merely waits for it."""
    monkeypatch.setattr(checks.os, "cpu_count", lambda: 2)
    marked = f"{tmp_path}/there"
    waiting = ("fetch", f"until [ -e {marked} ]; do sleep 0.05; done", (), True)
    assert (
        _report(
            checks, monkeypatch, tmp_path, waiting, ("long", f"until [ -e {marked} ]; do sleep 0.05; done"), ("third", f"touch {marked}")
        )
        == 0
    )


def test_no_more_steps_run_at_a_time_than_there_are_cores(checks, monkeypatch, tmp_path):
    monkeypatch.setattr(checks.os, "cpu_count", lambda: 2)
    counted = "n=$(ls {0}/run | wc -l); touch {0}/run/{1}; [ $n -lt 2 ] || touch {0}/many; sleep 0.4; rm {0}/run/{1}"
    (tmp_path / "run").mkdir()
    assert _report(checks, monkeypatch, tmp_path, *((f"s{n}", counted.format(tmp_path, n)) for n in range(5))) == 0
    assert not (tmp_path / "many").exists()


@pytest.mark.parametrize(
    ("code", "commands"),
    [(0, ["make audit", "make test", "make test-more"]), (7, ["make audit", "make test"])],
    ids=["that pass", "that fail"],
)
def test_continuous_integration_shows_known_faults_and_runs_the_tests(root: Path, tmp_path: Path, code: int, commands: list[str]):
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "make $* CI=$CI in $(pwd)"; cat; exit {code}\n')
    make.chmod(0o755)
    done = subprocess.run(
        [str(root / ".ci" / "run")], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, input="not read", capture_output=True, text=True
    )
    shown = [line for line in done.stdout.splitlines() if line != "make audit: see above."]  # an audit that fails stops nothing
    assert (done.returncode, shown) == (code, [f"{command} CI=true in {root}" for command in commands])
