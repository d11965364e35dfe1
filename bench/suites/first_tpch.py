"""Measures the first trace of an answer of TPC-H at a warm service, at scale factor 1 (`--scale`)."""

from __future__ import annotations

from bench.spark.first import FirstTracesSuite
from bench.suite import Suite
from bench.suites.trace_tpch import SCALE, queries


def suite(scale: float | None = None) -> Suite:
    chosen = scale or SCALE
    name = "first_tpch" if chosen == SCALE else f"first_tpch-sf{chosen:g}"
    return FirstTracesSuite(name, chosen, queries, tuple(f"q{number}" for number in range(1, 23)))
