"""Measures `coarse` for a job with many tasks: an aggregate over 20,000 partitions of a few rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.spark.turns import PLAIN, REFERENCE, SparkTurns
from bench.suite import PROCESSOR, SECONDS, Measure, PairedSuite, Plan, Statistic, Turns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TASKS = 20_000
_ARMS = ("coarse", REFERENCE)
_TARGET = 1.01  # limit of processor time in relation to plain


class TasksSuite:
    """One case: a job with many tasks. A round fails if Spark dropped an event."""

    def __init__(self, scale: float) -> None:
        self._tasks = max(1, round(scale * _TASKS))
        self._case = f"{self._tasks} tasks"
        self.plan = Plan(
            name="tasks" if scale == 1 else f"tasks-{scale:g}",
            arms=(*PLAIN, *_ARMS),
            baseline=PLAIN[0],
            control=PLAIN[1],
            cases=(self._case,),
            measures=[
                Measure(
                    name=f"{arm}: {self._case}", cases=(self._case,), arm=arm, statistic=Statistic.RATIO, quantity=quantity,
                    target=_TARGET if (arm, quantity) == ("coarse", PROCESSOR) else None,
                )
                for arm in _ARMS
                for quantity in (PROCESSOR, SECONDS)
            ],
            rounds=16,
            warm_up=2,
        )  # fmt: skip

    def prepare(self, folder: Path) -> None:
        """Do nothing, because the job reads no data."""

    def turns(self, folder: Path) -> Turns:
        return SparkTurns(folder, {self._case: self._counted}, {})

    def _counted(self, spark: SparkSession) -> DataFrame:
        return spark.range(0, self._tasks, 1, self._tasks).selectExpr("id % 7 k").groupBy("k").count()


def suite(scale: float | None = None) -> PairedSuite:
    return TasksSuite(1.0 if scale is None else scale)
