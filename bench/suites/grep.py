"""Grep as a DataFrame program, over 0.5 and 2 GB of text, captured against plain. About one line in a hundred matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.spark.measures import Target
from bench.suite import PairedSuite
from bench.suites.wordcount import TextSuite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _lines(spark: SparkSession, path: str) -> DataFrame:
    from pyspark.sql import functions as f

    return spark.read.text(path).where(f.col("value").contains("Qu"))


def suite(scale: float | None = None) -> PairedSuite:
    return TextSuite("grep", scale or 1.0, _lines, Target(each=1.05))
