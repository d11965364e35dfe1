"""Measures a trace of one row of TPC-H's answers at a warm service, at scale factor 1 (`--scale`), and the growth from a tenth."""

from __future__ import annotations

from pathlib import Path

from bench.data.dialect import for_spark
from bench.data.tpc import benchmark
from bench.spark.answers import TracedAnswersSuite
from bench.suite import Suite

SCALE = 1.0


def queries(scale: float) -> tuple[dict[str, Path], dict[str, object]]:
    """Return the tables, and the texts of the queries."""
    made = benchmark("tpch", scale)
    return made.tables, {"texts": {f"q{number}": for_spark(text) for number, text in made.queries.items()}}


def suite(scale: float | None = None) -> Suite:
    chosen = scale or SCALE
    return TracedAnswersSuite("trace_tpch" if chosen == SCALE else f"trace_tpch-sf{chosen:g}", chosen, queries)
