"""Measures a trace of one row of PigMix's results at a warm service, over 250,000 page views, and the growth from a tenth of them.

The programs and tables are those of the suite `pigmix`.
"""

from __future__ import annotations

from pathlib import Path

from bench.data.pigmix import pigmix
from bench.spark.answers import TracedAnswersSuite
from bench.suite import Suite

_SCALE = 0.25


def _programs(scale: float) -> tuple[dict[str, Path], dict[str, object]]:
    return pigmix(scale), {"suite": "pigmix"}


def suite(scale: float | None = None) -> Suite:
    chosen = scale or _SCALE
    return TracedAnswersSuite("trace_pigmix" if chosen == _SCALE else f"trace_pigmix-{chosen:g}", chosen, _programs)
