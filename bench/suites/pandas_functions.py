"""Measures the capture of functions in pandas and Arrow over 10 million rows in 10,000 groups."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.data.numbers import numbers
from bench.spark.measures import Target, measures
from bench.spark.turns import CAPTURING, PLAIN, SparkTurns
from bench.suite import PairedSuite, Plan, Turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

_ROWS = 10_000_000
_TARGET = Target(each=1.05)


def _apply_in_pandas(spark: SparkSession, path: str) -> DataFrame:
    def centred(group: Any) -> Any:
        return group.assign(v=group["v"] - group["v"].mean())

    return spark.read.parquet(path).groupBy("k").applyInPandas(centred, "id long, k long, v double")


def _apply_in_arrow(spark: SparkSession, path: str) -> DataFrame:
    def centred(group: Any) -> Any:
        import pyarrow.compute as pc

        values = group.column("v")
        return group.set_column(2, "v", pc.subtract(values, pc.mean(values)))

    return spark.read.parquet(path).groupBy("k").applyInArrow(centred, "id long, k long, v double")


def _map_in_arrow(spark: SparkSession, path: str) -> DataFrame:
    def doubled(batches: Iterable[Any]) -> Iterable[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            columns = [batch.column("id"), batch.column("k"), pc.multiply(batch.column("v"), 2.0)]
            yield pa.RecordBatch.from_arrays(columns, names=["id", "k", "v"])

    return spark.read.parquet(path).mapInArrow(doubled, "id long, k long, v double")


_PROGRAMS = {"applyInPandas": _apply_in_pandas, "applyInArrow": _apply_in_arrow, "mapInArrow": _map_in_arrow}


class _PandasSuite:
    """The suite. `scale` is a share of the rows, for trials."""

    def __init__(self, scale: float) -> None:
        self._rows = int(_ROWS * scale)
        self.plan = Plan(
            name="pandas_functions" if scale == 1 else f"pandas_functions-{scale:g}",
            arms=(*PLAIN, *CAPTURING),
            baseline=PLAIN[0],
            control=PLAIN[1],
            cases=tuple(_PROGRAMS),
            measures=measures(CAPTURING, tuple(_PROGRAMS), {"active": _TARGET}),
            rounds=16,
            warm_up=2,
            asked=("active",),
        )

    def prepare(self, folder: Path) -> None:  # noqa: ARG002  # what it makes is kept for the next run
        numbers(self._rows)

    def turns(self, folder: Path) -> Turns:
        return SparkTurns(folder, {case: self._over(program) for case, program in _PROGRAMS.items()}, {})

    def _over(self, program: Callable[[SparkSession, str], DataFrame]) -> Callable[[SparkSession], DataFrame]:
        path = str(numbers(self._rows))
        return lambda spark: program(spark, path)


def suite(scale: float | None = None) -> PairedSuite:
    return _PandasSuite(scale or 1.0)
