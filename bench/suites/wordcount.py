"""Word count as a DataFrame program, over 0.5 and 2 GB of text, captured against plain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bench.data.text import text
from bench.spark.measures import Target, measures
from bench.spark.turns import CAPTURING, PLAIN, SparkTurns
from bench.suite import PairedSuite, Plan, Turns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SIZES = {"0.5 GB": 0.5, "2 GB": 2.0}


class TextSuite:
    """A program over text of several sizes, which are the cases. `scale` is a share of the sizes, for trials."""

    def __init__(self, name: str, scale: float, program: Callable[[SparkSession, str], DataFrame], target: Target) -> None:
        self._sizes = {case: size * scale for case, size in _SIZES.items()}
        self._program = program
        self.plan = Plan(
            name=name if scale == 1 else f"{name}-{scale:g}",
            arms=(*PLAIN, *CAPTURING),
            baseline=PLAIN[0],
            control=PLAIN[1],
            cases=tuple(_SIZES),
            measures=measures(CAPTURING, tuple(_SIZES), {"active": target}),
            rounds=16,
            warm_up=2,
            asked=("active",),
        )

    def prepare(self, folder: Path) -> None:  # noqa: ARG002  # what it makes is kept for the next run
        for size in self._sizes.values():
            text(size)

    def turns(self, folder: Path) -> Turns:
        return SparkTurns(folder, {case: self._over(str(text(size))) for case, size in self._sizes.items()}, {})

    def _over(self, path: str) -> Callable[[SparkSession], DataFrame]:
        return lambda spark: self._program(spark, path)


def _words(spark: SparkSession, path: str) -> DataFrame:
    from pyspark.sql import functions as f

    return spark.read.text(path).select(f.explode(f.split("value", " ")).alias("word")).groupBy("word").count()


def suite(scale: float | None = None) -> PairedSuite:
    return TextSuite("wordcount", scale or 1.0, _words, Target(each=1.15, keeping=0.3))
