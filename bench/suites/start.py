"""The cost of `headwater run` and its mode `coarse` for a small program: sixteen rows of CSV, filtered into Parquet.

A run is the whole program, from the command to its end: a JVM, a session, one query. Its wall time ends with the process. Its processor
time is that of all processes that it started, including a delivery that continues after its end.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench.suite import PROCESSOR, SECONDS, Measure, PairedSuite, Plan, Sample, Statistic, Turns

_CASE = "a small program"
_PROGRAM = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.read.csv(sys.argv[1], header=True, inferSchema=True)
rows.where("reading > 20").write.mode("overwrite").parquet(sys.argv[2])
spark.stop()
"""
_ROWS = 16
_TARGETS = {"run": {PROCESSOR: 0.5, SECONDS: 0.5}, "coarse": {PROCESSOR: 0.3, SECONDS: 0.3}}
_SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER: processes that a program leaves become children of this one, so that their time counts


class StartSuite:
    """The seconds that `headwater run` adds, in the default mode (`run`) and in `coarse`."""

    plan = Plan(
        name="start",
        arms=("plain", "control", "run", "coarse"),
        baseline="plain",
        control="control",
        cases=(_CASE,),
        measures=tuple(
            Measure(name=arm, cases=(_CASE,), arm=arm, statistic=Statistic.DIFFERENCE, quantity=quantity, target=target)
            for arm, targets in _TARGETS.items()
            for quantity, target in targets.items()
        ),
        rounds=16,
        warm_up=1,
    )

    def prepare(self, folder: Path) -> None:
        (folder / "program.py").write_text(_PROGRAM, encoding="utf-8")
        lines = ["station,reading", *(f"S{number},{10 + number}" for number in range(_ROWS))]
        (folder / "readings.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def turns(self, folder: Path) -> Turns:
        """Return the runs. Every run starts its own processes."""
        return _ProgramTurns(folder)


class _ProgramTurns:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)

    def run(self, arm: str, case: str, turn: int) -> Sample:  # noqa: ARG002  # there is one case, and each turn is the same work
        """Run the program once, with a separate home.

        Raises:
            subprocess.CalledProcessError: the program failed.
        """
        home, out = self._folder / "home", self._folder / "out"
        command = [sys.executable]
        if arm not in ("plain", "control"):
            mode = ["--mode", "coarse"] if arm == "coarse" else []
            command += ["-m", "headwater", "run", "--home", str(home), *mode]
        command += [str(self._folder / "program.py"), str(self._folder / "readings.csv"), str(out)]
        before, began = _children_seconds(), time.perf_counter()
        with (self._folder / f"{arm}.log").open("wb") as log:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment())
        seconds = time.perf_counter() - began
        _wait_for_rest()
        sample = {SECONDS: seconds, PROCESSOR: _children_seconds() - before}
        if len(command) > 4 and not any(home.glob("**/*")):
            raise RuntimeError(f"nothing was captured below {home}: the figures would compare plain with plain")
        for made in (home, out):
            shutil.rmtree(made, ignore_errors=True)
        return sample

    def close(self) -> None:
        """Do nothing."""


def _environment() -> dict[str, str]:
    """Return the environment without the variable that keeps Python from storing compiled modules, as in every install."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for_rest() -> None:
    """Wait for processes that a program left running, such as a delivery."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def suite(scale: float | None = None) -> PairedSuite:
    if scale is not None:
        raise ValueError("the suite start has one size only")
    return StartSuite()
