"""Newt's de-duplication as a DataFrame program: the distinct lines of 0.5 and 2 GB of text, captured against plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.spark.measures import Target
from bench.suite import PairedSuite
from bench.suites.wordcount import TextSuite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _lines(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.text(path).distinct()


def suite(scale: float | None = None) -> PairedSuite:
    return TextSuite("distinct", scale or 1.0, _lines, Target(each=1.15))
