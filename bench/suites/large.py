"""What `coarse` costs where a query is large: a plan of 2,000 operators over 1,000 columns, and a job of 20,000 tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.spark.turns import PLAIN, REFERENCE, SparkTurns
from bench.suite import PROCESSOR, SECONDS, Measure, PairedSuite, Plan, Statistic, Turns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OPERATORS, _COLUMNS, _TASKS = 2000, 1000, 20_000
_BRANCH = 3  # operators of one branch of the union: a scan, a filter, a projection
_ARMS = ("coarse", REFERENCE)


class LargeSuite:
    """`scale` is that of the operators and tasks."""

    def __init__(self, scale: float) -> None:
        self._branches, self._tasks = max(1, round(scale * _OPERATORS / _BRANCH)), max(1, round(scale * _TASKS))
        plan, tasks = f"{self._branches * _BRANCH:,} operators, {_COLUMNS:,} columns", f"{self._tasks:,} tasks"
        self._cases = {plan: self._wide, tasks: self._many}
        self.plan = Plan(
            name="large" if scale == 1 else f"large-{scale:g}",
            arms=(*PLAIN, *_ARMS),
            baseline=PLAIN[0],
            control=PLAIN[1],
            cases=tuple(self._cases),
            measures=[
                measure
                for arm in _ARMS
                for measure in (
                    _measure(arm, plan, Statistic.DIFFERENCE, PROCESSOR, 0.5 if arm == "coarse" else None),
                    _measure(arm, plan, Statistic.DIFFERENCE, SECONDS, None),
                    _measure(arm, tasks, Statistic.RATIO, PROCESSOR, 1.01 if arm == "coarse" else None),
                    _measure(arm, tasks, Statistic.RATIO, SECONDS, None),
                )
            ],
            rounds=15,
            warm_up=2,
        )

    def prepare(self, folder: Path) -> None:
        """Write a table of 1,000 columns, and one of three."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for name, columns in (("wide", _COLUMNS), ("narrow", 3)):
            (folder / name).mkdir()
            pq.write_table(pa.table({f"c{number}": [1, 2, 3] for number in range(columns)}), folder / name / "part-0.parquet")

    def turns(self, folder: Path) -> Turns:
        """Start a JVM."""
        tables = {name: folder / name for name in ("wide", "narrow")}
        return SparkTurns(folder, dict(self._cases), tables)

    def _wide(self, spark: SparkSession) -> DataFrame:
        branches = " UNION ALL ".join(f"SELECT c0 + {number} x FROM narrow WHERE c1 > {number % 3}" for number in range(self._branches))
        return spark.sql(f"SELECT wide.*, total.x FROM wide CROSS JOIN (SELECT sum(x) x FROM ({branches})) total")

    def _many(self, spark: SparkSession) -> DataFrame:
        return spark.range(0, self._tasks, 1, self._tasks).selectExpr("id % 7 k").groupBy("k").count()


def _measure(arm: str, case: str, statistic: Statistic, quantity: str, target: float | None) -> Measure:
    return Measure(name=f"{arm}: {case}", cases=(case,), arm=arm, statistic=statistic, quantity=quantity, target=target)


def suite(scale: float | None = None) -> PairedSuite:
    """The suite, at full size unless a scale is given."""
    return LargeSuite(1.0 if scale is None else scale)
