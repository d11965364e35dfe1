"""TPC-DS, 99 queries over Parquet at scale factor 0.2 (`--scale 1`), each with its result written: captured against plain."""

from __future__ import annotations

from bench.spark.measures import Target
from bench.suite import PairedSuite
from bench.suites.tpch import COARSE, TpcSuite

_SCALE = 0.2


def suite(scale: float | None = None) -> PairedSuite:
    return TpcSuite(
        "tpcds", 99, scale=scale or _SCALE, usual=_SCALE, asked=("lazy",), targets={"lazy": Target(mean=1.02), "coarse": COARSE}
    )
