"""Measures reading one line of 5 GB of text by its number at a warm service, and the growth from a tenth of the text."""

from __future__ import annotations

from bench.spark.rdd_program import FIRST_LINES
from bench.suite import Suite
from bench.suites.trace_rdd import TraceRddSuite

_SIZE = 5.0  # GB


def suite(scale: float | None = None) -> Suite:
    name = "raw_record" if scale in (None, 1) else f"raw_record-{scale:g}"
    return TraceRddSuite(name, _SIZE * (scale or 1.0), cases=("raw record",), programs=(FIRST_LINES,))
