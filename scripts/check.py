"""Run every check of the repository, as `make test` does: steps side by side where cores allow, one closing line for all.

python scripts/check.py [STEP …]          some steps; --list prints their names
python scripts/check.py --more [STEP …]   the long tests, as `make test-more` does

A step is a command with a log of its own in build/test. A failure stops nothing: all steps run, and the log of each
failed step is printed. The last lines name each failed test. A step whose needed steps failed does not run and counts
as failed. The exit code is 1 if anything failed. The durations of all tests go to build/test/durations.json, and the
slowest tests are printed.

If at most five tests of a step of pytest fail, they run once more when all steps are done and nothing else runs. A
test that passes then is unsteady: there is a race in the test or, worse, in the code. The last lines name it, and the
run does not fail for it.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import check_durations
import check_failures
from check_steps import MORE_STEPS, ROOT, STEPS, Step

LOGS = ROOT / "build" / "test"
_PLENTY = 8 << 30  # bytes of free memory
COMPILED = ROOT / "build" / "compiled"
_POLL_SECONDS = 0.2
_STILL_RUNNING_SECONDS = 120
_ENDING_SECONDS = 10.0  # time for a step to end by itself
_TESTS_FAILED = 1  # the exit code of pytest if all tests ran and some failed; other codes mean that it ended early
_MOST_AGAIN = 5  # limit of failed tests of a step; more failures are not by chance


@dataclass
class Outcome:
    """The result of a step, with the counts of its tests. A step without test results counts as one check.

    `tests` has the duration of each test in seconds. `failures` describes each failed or unsteady test, or the end of the log.
    """

    step: Step
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unsteady: int = 0
    processor_seconds: float = 0.0
    tests: Mapping[str, float] = field(default_factory=dict)
    failures: Sequence[str] = ()


@dataclass
class _Running:
    step: Step
    process: subprocess.Popen[bytes]
    since: float
    first: Outcome | None = None  # outcome of the first run, if this is the second
    processor_seconds: float = 0.0

    def has_ended(self) -> bool:
        """Whether the process has ended. At this moment its processor time is added to that of all children."""
        before = _processor_seconds()
        ended = self.process.poll() is not None
        self.processor_seconds += _processor_seconds() - before
        return ended


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="check.py", description="Run every check of the repository.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help="steps to run; all without")
    usual = os.cpu_count() or 1  # with one more step at a time, tests with time limits became unsteady
    parser.add_argument("--jobs", type=int, default=usual, help=f"steps at a time (default {usual}: one for each core)")
    parser.add_argument("--more", action="store_true", help="the steps of `make test-more`")
    parser.add_argument("--list", action="store_true", help="list the steps and exit")
    options = parser.parse_args(arguments)
    steps = MORE_STEPS if options.more else STEPS
    if options.list:
        print("\n".join(step.name for step in steps))
        return 0
    if unknown := set(options.steps) - {step.name for step in steps}:
        parser.error(f"no step {', '.join(sorted(unknown))}; there are: {', '.join(step.name for step in steps)}")
    chosen = [step for step in steps if not options.steps or step.name in options.steps]
    start = time.monotonic()
    with _signals_noted() as signals, tempfile.TemporaryDirectory(prefix="make-test-", ignore_cleanup_errors=True) as scratch:
        outcomes = _run(chosen, jobs=options.jobs, shell=_shell(scratch), environment=_environment(scratch), signals=signals)
    return _close(outcomes, time.monotonic() - start, more=options.more)


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Record signals that ask for the end. An exception at an arbitrary place could lose a process that was just started."""
    noted: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log(step: Step) -> Path:
    return LOGS / f"{step.name}.log"


def _junit(step: Step) -> Path:
    return LOGS / f"{step.name}.xml"


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _shell(scratch: str) -> tuple[str, ...]:
    """Return the shell that runs the command of a step.

    For root, with enough memory, a folder in memory replaces the disk, because the tests would wait for the disk some ten thousand times.
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
    """Return the environment of steps.

    Modules are compiled once for all steps. The tests start Python some thousand times, and compilation would be half of that time.

    A separate folder contains compiled modules, because a user may forbid Python to write them into the tree.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(COMPILED)} | {"TMPDIR": scratch}


def _run(steps: list[Step], *, jobs: int, shell: Sequence[str], environment: dict[str, str], signals: Sequence[int]) -> list[Outcome]:
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
                done[step.name] = Outcome(step, 0.0, failed=1, failures=(f"not run: it needs {', '.join(step.after)}",))
                print(f"✗ {step.name:<13} not run: it needs {', '.join(step.after)}", flush=True)
            ready = [step for step in waiting if all(name in done or name not in chosen for name in step.after)]
            free = jobs - sum(not run.step.waits for run in running)
            for step in [*(step for step in ready if step.waits), *[step for step in ready if not step.waits][:free]]:
                waiting.remove(step)
                running.append(_start(step, shell, environment))
            time.sleep(_POLL_SECONDS)
            if signals:
                sys.exit(128 + signals[0])
            for run in [run for run in running if run.has_ended()]:
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
    """End running steps, and wait for them, because the folder that they write into is removed next."""
    deadline = time.monotonic() + _ENDING_SECONDS
    for run in running:
        os.killpg(run.process.pid, signal.SIGTERM)
    for run in running:
        with suppress(subprocess.TimeoutExpired):
            run.process.wait(max(0.0, deadline - time.monotonic()))
        with suppress(ProcessLookupError):  # processes that the step started may still run
            os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()


def _start(step: Step, shell: Sequence[str], environment: dict[str, str], first: Outcome | None = None) -> _Running:
    _junit(step).unlink(missing_ok=True)
    if first is None:
        shutil.rmtree(f"{_junit(step)}.cache", ignore_errors=True)  # removes failures of earlier runs
    command = step.command if first is None else f"{step.command} {step.again}"
    with _log(step).open("wb" if first is None else "ab") as log:
        process = subprocess.Popen(
            [*shell, command.format(junit=_junit(step))],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return _Running(step, process, time.monotonic(), first)


def _is_to_run_again(run: _Running, outcome: Outcome) -> bool:
    few = 0 < outcome.failed <= _MOST_AGAIN and _junit(run.step).exists()
    return bool(run.step.again) and run.first is None and few and run.process.returncode == _TESTS_FAILED


def _finish(run: _Running) -> Outcome:
    seconds, code = time.monotonic() - run.since, run.process.returncode
    outcome = Outcome(run.step, seconds, processor_seconds=run.processor_seconds)
    if (junit := _junit(run.step)).exists():
        outcome.passed, outcome.failed, outcome.skipped = _counts(junit)
        outcome.tests = check_durations.read_tests(junit)
        outcome.failures = check_failures.read_failures(junit)
    if code or outcome.failed:
        outcome.failed = outcome.failed or 1
        outcome.failures = outcome.failures or check_failures.last_lines(_log(run.step))
    elif run.first is None:
        outcome.passed = outcome.passed or 1
    if run.first is not None:
        outcome = _of_both(run.first, outcome)
    if not outcome.failed:
        counts = f"{outcome.passed} passed" + "".join(
            f", {count} {name}" for name in ("skipped", "unsteady") if (count := getattr(outcome, name))
        )
        print(f"✓ {run.step.name:<13} {counts if _junit(run.step).exists() else 'ok'} in {_seconds(outcome)}", flush=True)
        return outcome
    print(f"✗ {run.step.name:<13} failed (exit code {code}) in {_seconds(outcome)}; its log, also in {_log(run.step).relative_to(ROOT)}:")
    print(_log(run.step).read_text(errors="replace"), flush=True)
    return outcome


def _seconds(outcome: Outcome) -> str:
    return f"{outcome.seconds:.0f} s ({outcome.processor_seconds:.0f} s of processor time)"


def _of_both(first: Outcome, again: Outcome) -> Outcome:
    """Return the outcome of a step whose failed tests ran once more."""
    steady = again.failed or again.passed != first.failed  # some of them did not pass
    passed = 0 if steady else first.failed
    failed = first.failed - passed
    return replace(
        first,
        seconds=first.seconds + again.seconds,
        processor_seconds=first.processor_seconds + again.processor_seconds,
        passed=first.passed + passed,
        failed=failed,
        unsteady=passed,
    )


def _counts(junit: Path) -> tuple[int, int, int]:
    suites = ET.parse(junit).iter("testsuite")  # noqa: S314  our own file, written a moment ago
    total = failed = skipped = 0
    for suite in suites:
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return total - failed - skipped, failed, skipped


def _close(outcomes: list[Outcome], seconds: float, *, more: bool) -> int:
    _report_durations(outcomes, LOGS / ("durations-more.json" if more else "durations.json"))
    command = "make test-more" if more else "make test"
    failed = [outcome.step.name for outcome in outcomes if outcome.failed]
    counts = {name: sum(getattr(outcome, name) for outcome in outcomes) for name in ("failed", "passed", "skipped", "unsteady")}
    summary = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    minutes, rest = divmod(int(seconds), 60)
    if unsteady := [outcome for outcome in outcomes if outcome.unsteady]:
        logs = ", ".join(str(_log(outcome.step).relative_to(ROOT)) for outcome in unsteady)
        print(f"\nUnsteady: what failed passed when it ran once more, alone. Mend it: {logs}")
        _print_failures(unsteady)
    if failed:
        print(f"\nFailed: {', '.join(failed)}. One alone: {command} ARGS={failed[0]}")
        _print_failures(outcome for outcome in outcomes if outcome.failed)
    print(f" {summary} in {seconds:.2f}s ({minutes // 60}:{minutes % 60:02}:{rest:02}) ".center(100, "="), flush=True)
    return 1 if failed else 0


def _print_failures(outcomes: Iterable[Outcome]) -> None:
    for outcome in outcomes:
        for line in check_failures.lines_of(outcome.step.name, outcome.failures):
            print(line)


def _report_durations(outcomes: list[Outcome], path: Path) -> None:
    tests = {name: seconds for outcome in outcomes for name, seconds in outcome.tests.items()}
    steps = {
        outcome.step.name: {"seconds": round(outcome.seconds, 1), "processor_seconds": round(outcome.processor_seconds, 1)}
        for outcome in outcomes
    }
    check_durations.write(path, steps, tests)
    if tests:
        print(f"\nSlowest tests; all are in {path.relative_to(ROOT)}:")
        print("\n".join(check_durations.slowest(tests)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
