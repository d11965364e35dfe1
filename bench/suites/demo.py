"""What capture costs the demo's jobs: the scripts of examples/flights with record capture (`active`), with events (`coarse`), and plain.

A case is a whole script in an interpreter and a JVM that are warm: making the context, the work, stopping it. Both capturing arms
attach as a user does, by `headwater.attach(spark)`, deliver to a home folder meanwhile, and write to an output folder of their own.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from pathlib import Path

from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite

# In the order in which they need each other's output.
_JOBS = ("clean", "station_counts", "enrich", "hourly_weather", "report")
_SPARK = "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=4 pyspark-shell"


class DemoSuite:
    """Active and coarse over plain, each job and all five together."""

    plan = Plan(
        name="demo",
        arms=("plain", "control", "coarse", "active"),
        baseline="plain",
        control="control",
        cases=_JOBS,
        measures=tuple(
            Measure(name=f"{name}, {arm}", cases=cases, arm=arm, statistic=Statistic.RATIO)
            for arm in ("active", "coarse")
            for name, cases in (("all five jobs", _JOBS), *((job, (job,)) for job in _JOBS))
        ),
        rounds=15,
        warm_up=3,
    )

    def prepare(self, folder: Path) -> None:
        """Unpack the raw data."""
        from headwater.backend.demo.data import prepare

        prepare(folder / "raw")

    def arm(self, name: str, folder: Path) -> Arm:
        """Start a JVM, and capture in it unless the arm is a plain one."""
        return _DemoArm(name, folder)


class _DemoArm:
    def __init__(self, name: str, folder: Path) -> None:
        from pyspark.sql import SparkSession

        import headwater

        os.environ["PYSPARK_SUBMIT_ARGS"] = _SPARK
        self._raw, self._out = folder / "raw", folder / name / "out"
        self._home = folder / name / "home" if name in {"active", "coarse"} else None
        self._records = name == "active"
        spark = SparkSession.builder.getOrCreate()
        if self._home is not None:
            headwater.attach(spark, mode=name, home=str(self._home), quiet=True)
        spark.stop()

    def run(self, case: str, turn: int) -> Sample:  # noqa: ARG002  every turn is the same work
        from headwater.backend.demo.pipeline import script

        program = str(script(case))
        sys.argv = [program, str(self._raw), str(self._out)]
        began = time.perf_counter()
        runpy.run_path(program, run_name="__main__")
        seconds = time.perf_counter() - began
        if self._home is not None and not any(path.is_file() for path in self._home.rglob("*")):
            raise RuntimeError(f"nothing was captured below {self._home}: the figures would compare plain with plain")
        return {SECONDS: seconds}

    def close(self) -> None:
        """Nothing is left: the JVM ends with the process."""


def suite(scale: float | None = None) -> Suite:
    """The suite, which has one size."""
    if scale is not None:
        raise ValueError("the suite demo has one size only")
    return DemoSuite()
