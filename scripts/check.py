"""Run every check of the repository, as `make test` does: steps side by side where cores allow, one closing line for all.

python scripts/check.py [STEP …]     those steps alone, in their order; --list names them

A step is a command with a log of its own under build/test/. Nothing stops at the first failure: all steps run, and the log of each
that failed is printed. What a failed step was needed for is not run and counts as failed too. The exit code is 1 if anything failed.

Up to five tests that fail in a step of pytest run once more, when all steps are done and nothing else runs. What passes then is unsteady: a
race in a test or, worse, in what it tests. It is named in the last lines, for somebody to mend, and fails nothing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test"
_PLENTY = 8 << 30  # bytes of memory that are free
COMPILED = ROOT / "build" / "compiled"
_POLL_SECONDS = 0.2
_STILL_RUNNING_SECONDS = 120
_ENDING_SECONDS = 10.0  # that a step has to end by itself
_TESTS_FAILED = 1  # what pytest exits with where that is all; else it was ended early, and tests of which nobody heard have not run
_MOST_AGAIN = 5  # failed tests of a step: more than these are no chance
_AGAIN = "-n 0 --last-failed --last-failed-no-failures=none"
# of what Spark 4.0 has otherwise (spark_listener/jvm/shim/v40, the worker of PySpark): a test of capture or two for each
_OF_SHIMS = (
    "test_repartition.py::test_rows_come_to_the_partition_that_they_come_to_without_capture[placed-True]",
    "test_repartition.py::test_rows_come_to_the_partition_that_they_come_to_without_capture[placed-False]",
    "test_subqueries.py::test_correlated_ones",
    "test_subqueries.py::test_grouped_lateral_ones_whose_rows_have_a_subquery_of_their_own",
    "test_checkpoints.py::test_rows[checkpoint]",
    "test_python_sources.py::test_the_source_is_asked_as_often_as_without_capture",
    "test_group_functions.py::test_a_row_of_two_groups_is_made_of_all_rows_of_both[applyInArrow-_both_in_arrow-keys1]",
    "test_refusals.py::test_xml_by_spark_s_older_parser_which_takes_other_elements_for_records[session]",
)
_UNIT = "not (spark or cluster or neo4j or lake or e2e or slow)"


@dataclass(frozen=True)
class Step:
    """A command. `after` names the steps that must have passed; `{junit}` in the command is where its results are written.

    What `waits`, for the network more than for a core, runs beside the others. `again` is appended to run what has failed alone.
    """

    name: str
    command: str
    after: tuple[str, ...] = ()
    waits: bool = False
    again: str = ""

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return LOGS / f"{self.name}.log"

    @property
    def junit(self) -> Path:
        """Where its results go, if it writes any."""
        return LOGS / f"{self.name}.xml"


def _tests(name: str, marks: str, options: str = "", after: tuple[str, ...] = ()) -> Step:
    marks = f"({marks}) and not torture"
    command = f'. .tools/env && .venv/bin/python -m pytest -q -m "{marks}" {options} --junit-xml={{junit}} -o cache_dir={{junit}}.cache'
    return Step(name, command, after, again=_AGAIN)


def _with_spark(line: str) -> str:
    """Some tests of capture, with another line of Spark than the lock's; `make torture ARGS="--modes spark-4.0"` runs all."""
    tests = " ".join(f"'tests/spark_listener/capture/{test}'" for test in _OF_SHIMS)
    options = "-q --timeout=1200 --junit-xml={junit} -o cache_dir={junit}.cache"
    return f". .tools/env && .venv/bin/python -m tests.other_sparks {line} -m pytest {options} {tests}"


# In the order in which they start, two at a time on two cores: what takes a moment first, then the longest first, so that the lines end
# about together. The tests of one session of Spark and those that start programs of their own are two steps, for the same reason.
STEPS = (
    Step("quick-spark", "make --no-print-directory .tools/spark.jsa"),
    Step("lint", ".venv/bin/ruff check . && .venv/bin/ruff format --check ."),
    Step("page-install", "make --no-print-directory ui/node_modules/.package-lock.json", waits=True),
    Step("neo4j-install", '[ -n "${{NEO4J_URI:-}}" ] || .venv/bin/python -m tests.neo4j_server', waits=True),
    Step(
        "lake-install",
        "for part in lake azure_server databases kafka_server; do .venv/bin/python -m tests.$part || exit 1; done",
        waits=True,
    ),
    Step("sparks-install", ".venv/bin/python -m tests.other_sparks", waits=True),
    Step("types", ".venv/bin/mypy"),
    Step("page-build", "make --no-print-directory backend/page/index.html", ("page-install",)),
    _tests("lake", "lake and not e2e", "--timeout=1200", after=("lake-install", "neo4j-install", "quick-spark")),
    _tests("spark", "spark and not (slow or cluster or lake or e2e)", "--timeout=1200", after=("quick-spark",)),
    _tests("unit", _UNIT, "-n 2"),
    _tests("programs", "spark and slow and not (cluster or lake or e2e)", "--timeout=1200", after=("quick-spark",)),
    _tests("e2e", "e2e", "--timeout=1800", after=("page-build", "quick-spark")),
    _tests("neo4j", "neo4j and not (spark or cluster or lake or e2e)", after=("neo4j-install",)),
    _tests("cluster", "cluster and not (lake or e2e)", "--timeout=1200", after=("quick-spark",)),
    Step("spark-4.0", _with_spark("4.0"), after=("sparks-install",), again=_AGAIN),
    _tests("slow", "slow and not (spark or cluster or neo4j or lake or e2e)", "--timeout=1200"),
    Step(
        "page-unit",
        "scripts/npm run --silent test -- --reporter=default --reporter=junit --outputFile.junit={junit}",
        ("page-install",),
    ),
    Step("page-lint", "scripts/npm run --silent lint && scripts/npm run --silent typecheck", ("page-install",)),
    Step("page-schema", "scripts/npm run --silent codegen:check", ("page-install",)),
)


@dataclass
class Outcome:
    """How a step ended, with the counts of its tests. A step without results of its own counts as one check."""

    step: Step
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unsteady: int = 0


@dataclass
class _Running:
    step: Step
    process: subprocess.Popen[bytes]
    since: float
    first: Outcome | None = None  # of the run that failed, where this is the second


def main(arguments: Sequence[str]) -> int:
    """Run the steps named, or all; return the exit code."""
    parser = argparse.ArgumentParser(prog="check.py", description="Run every check of the repository.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help="steps to run; all without")
    usual = os.cpu_count() or 1  # one more was tried: tests that hold a service to its times became unsteady
    parser.add_argument("--jobs", type=int, default=usual, help=f"steps at a time (default {usual}: one for each core)")
    parser.add_argument("--list", action="store_true", help="list the steps and exit")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(step.name for step in STEPS))
        return 0
    if unknown := set(options.steps) - {step.name for step in STEPS}:
        parser.error(f"no step {', '.join(sorted(unknown))}; there are: {', '.join(step.name for step in STEPS)}")
    chosen = [step for step in STEPS if not options.steps or step.name in options.steps]
    start = time.monotonic()
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that what runs is ended, and the folder removed
    try:
        with tempfile.TemporaryDirectory(prefix="make-test-", ignore_cleanup_errors=True) as scratch:
            outcomes = _run(chosen, jobs=options.jobs, shell=_shell(scratch), environment=_environment(scratch))
    finally:
        signal.signal(signal.SIGTERM, before)
    return _close(outcomes, time.monotonic() - start)


def _shell(scratch: str) -> tuple[str, ...]:
    """What runs the command of a step. To root, where there is plenty of memory, the folder is memory, for that step alone.

    Stores make durable each thing that they are told, and on a disk the tests wait for that some ten thousand times.
    """
    plain = ("/bin/bash", "-c")
    mounted = ("unshare", "--mount", "/bin/bash", "-c", f'mount -t tmpfs tmpfs {shlex.quote(scratch)} && exec /bin/bash -c "$0"')
    if os.geteuid() != 0 or shutil.which("unshare") is None or _memory_available() < _PLENTY:
        return plain
    tried = subprocess.run([*mounted, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return plain if tried.returncode else mounted


def _memory_available() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)


def _environment(scratch: str) -> dict[str, str]:
    """That of steps. Modules are compiled once for all: the tests start Python some thousand times, and half of that would be compiling.

    What is compiled goes into a folder of its own, as who forbids Python to write beside its modules wants no such files in the tree.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(COMPILED)} | {"TMPDIR": scratch}


def _run(steps: list[Step], *, jobs: int, shell: Sequence[str], environment: dict[str, str]) -> list[Outcome]:
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = {step.name for step in steps}
    waiting, running, done, again = list(steps), list[_Running](), dict[str, Outcome](), list[Outcome]()
    last_word = time.monotonic()
    try:
        while waiting or running or again:
            if again and not waiting and not running:
                first = again.pop(0)
                running.append(_start(first.step, shell, environment, first))
            for step in [step for step in waiting if any(name in done and done[name].failed for name in step.after)]:
                waiting.remove(step)
                done[step.name] = Outcome(step, 0.0, failed=1)
                print(f"✗ {step.name:<13} not run: it needs {', '.join(step.after)}", flush=True)
            ready = [step for step in waiting if all(name in done or name not in chosen for name in step.after)]
            free = jobs - sum(not run.step.waits for run in running)
            for step in [*(step for step in ready if step.waits), *[step for step in ready if not step.waits][:free]]:
                waiting.remove(step)
                running.append(_start(step, shell, environment))
            time.sleep(_POLL_SECONDS)
            for run in [run for run in running if run.process.poll() is not None]:
                running.remove(run)
                outcome = _finish(run)
                if _is_to_run_again(run, outcome):
                    again.append(outcome)
                else:
                    done[run.step.name] = outcome
                last_word = time.monotonic()
            if running and time.monotonic() - last_word > _STILL_RUNNING_SECONDS:
                last_word = time.monotonic()
                print("… " + ", ".join(f"{run.step.name} for {last_word - run.since:.0f} s" for run in running), flush=True)
    finally:
        _end(running)
    return [done[step.name] for step in steps]


def _end(running: Sequence[_Running]) -> None:
    """End what still runs, and wait for it: the folder that it writes into is removed next."""
    deadline = time.monotonic() + _ENDING_SECONDS
    for run in running:
        os.killpg(run.process.pid, signal.SIGTERM)
    for run in running:
        with suppress(subprocess.TimeoutExpired):
            run.process.wait(max(0.0, deadline - time.monotonic()))
        with suppress(ProcessLookupError):  # what the step has started may be there without it
            os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()


def _start(step: Step, shell: Sequence[str], environment: dict[str, str], first: Outcome | None = None) -> _Running:
    step.junit.unlink(missing_ok=True)
    if first is None:
        shutil.rmtree(f"{step.junit}.cache", ignore_errors=True)  # what failed at another time
    command = step.command if first is None else f"{step.command} {step.again}"
    with step.log.open("wb" if first is None else "ab") as log:
        process = subprocess.Popen(
            [*shell, command.format(junit=step.junit)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return _Running(step, process, time.monotonic(), first)


def _is_to_run_again(run: _Running, outcome: Outcome) -> bool:
    few = 0 < outcome.failed <= _MOST_AGAIN and run.step.junit.exists()
    return bool(run.step.again) and run.first is None and few and run.process.returncode == _TESTS_FAILED


def _finish(run: _Running) -> Outcome:
    seconds, code = time.monotonic() - run.since, run.process.returncode
    outcome = Outcome(run.step, seconds, *_counts(run.step.junit)) if run.step.junit.exists() else Outcome(run.step, seconds)
    if code or outcome.failed:
        outcome.failed = outcome.failed or 1
    elif run.first is None:
        outcome.passed = outcome.passed or 1
    if run.first is not None:
        outcome = _of_both(run.first, outcome)
    if not outcome.failed:
        counts = f"{outcome.passed} passed" + "".join(
            f", {count} {name}" for name in ("skipped", "unsteady") if (count := getattr(outcome, name))
        )
        print(f"✓ {run.step.name:<13} {counts if run.step.junit.exists() else 'ok'} in {outcome.seconds:.0f} s", flush=True)
        return outcome
    print(f"✗ {run.step.name:<13} failed (exit code {code}) in {seconds:.0f} s; its log, also in {run.step.log.relative_to(ROOT)}:")
    print(run.step.log.read_text(errors="replace"), flush=True)
    return outcome


def _of_both(first: Outcome, again: Outcome) -> Outcome:
    """How a step ended of which what had failed was run once more."""
    steady = again.failed or again.passed != first.failed  # not each of them passed
    passed = 0 if steady else first.failed
    failed = first.failed - passed
    return Outcome(first.step, first.seconds + again.seconds, first.passed + passed, failed, first.skipped, unsteady=passed)


def _counts(junit: Path) -> tuple[int, int, int]:
    """Tests passed, failed and skipped."""
    suites = ET.parse(junit).iter("testsuite")  # noqa: S314  our own file, written a moment ago
    total = failed = skipped = 0
    for suite in suites:
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return total - failed - skipped, failed, skipped


def _close(outcomes: list[Outcome], seconds: float) -> int:
    failed = [outcome.step.name for outcome in outcomes if outcome.failed]
    counts = {name: sum(getattr(outcome, name) for outcome in outcomes) for name in ("failed", "passed", "skipped", "unsteady")}
    summary = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    minutes, rest = divmod(int(seconds), 60)
    if unsteady := [str(outcome.step.log.relative_to(ROOT)) for outcome in outcomes if outcome.unsteady]:
        print(f"\nUnsteady: what failed passed when it ran once more, alone. Mend it: {', '.join(unsteady)}")
    if failed:
        print(f"\nFailed: {', '.join(failed)}. One alone: make test ARGS={failed[0]}")
    print(f" {summary} in {seconds:.2f}s ({minutes // 60}:{minutes % 60:02}:{rest:02}) ".center(100, "="), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
