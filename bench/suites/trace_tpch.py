"""How long tracing one row of an answer of TPC-H takes at a warm service, at scale factor 1 (`--scale`), and its growth from a tenth."""

from __future__ import annotations

from pathlib import Path

from bench.data.dialect import for_spark
from bench.data.tpc import benchmark
from bench.spark.answers import TracedAnswersSuite
from bench.suite import Suite

_SCALE = 1.0


def _queries(scale: float) -> tuple[dict[str, Path], dict[str, object]]:
    made = benchmark("tpch", scale)
    return made.tables, {"texts": {f"q{number}": for_spark(text) for number, text in made.queries.items()}}


def suite(scale: float | None = None) -> Suite:
    """The suite, at scale factor 1 unless another is asked for."""
    chosen = scale or _SCALE
    return TracedAnswersSuite("trace_tpch" if chosen == _SCALE else f"trace_tpch-sf{chosen:g}", chosen, _queries)
