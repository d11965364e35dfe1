"""TPC-H, 22 queries over Parquet at scale factor 1 (`--scale`), each with its result written: captured against plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bench.data.dialect import for_spark
from bench.data.tpc import benchmark
from bench.spark.measures import Target, measures, times
from bench.spark.turns import CAPTURING, PLAIN, REFERENCE, Program, SparkTurns
from bench.suite import PairedSuite, Plan, Turns
from bench.truth.layouts import LAYOUTS, Files, server_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCALE = 1.0
COARSE = Target(mean=1.01, to_disk=50)
_TARGETS = {
    "coarse": COARSE,
    "active": Target(mean=1.05, worst=1.20),
    "auto": Target(mean=1.02, worst=1.10, keeping=0.02),
    "lazy": Target(mean=1.01, worst=1.05),
}


class TpcSuite:
    """TPC-H or TPC-DS. Its queries are the cases, by number: `q1`."""

    def __init__(
        self, name: str, queries: int, *, scale: float, usual: float, asked: Sequence[str], targets: Mapping[str, Target],
        tables: str | None = None,
    ) -> None:  # fmt: skip
        self._tables, self._server = tables, ExitStack()
        name, benchmark_name = (f"{name}-{tables}" if tables else name), name
        cases = [f"q{number}" for number in range(1, queries + 1)]
        self._benchmark, self._scale = benchmark_name, scale
        self.plan = Plan(
            name=name if scale == usual else f"{name}-sf{scale:g}",
            arms=(*PLAIN, *CAPTURING, REFERENCE),
            baseline=PLAIN[0],
            control=PLAIN[1],
            cases=cases,
            measures=[*measures(CAPTURING, cases, targets), *times(REFERENCE, cases)],
            rounds=16,
            warm_up=3,
            asked=asked,
        )

    def prepare(self, folder: Path) -> None:  # noqa: ARG002  # what it makes is kept for the next run
        benchmark(self._benchmark, self._scale)

    def turns(self, folder: Path) -> Turns:
        made = benchmark(self._benchmark, self._scale)
        programs = {f"q{number}": query(for_spark(text)) for number, text in made.queries.items()}
        return SparkTurns(folder, programs, made.tables, layout=self._layout if self._tables else None)

    def _layout(self, folder: Path) -> Files:
        """Write the tables in another format. Servers for the format run until this process ends."""
        kind = str(self._tables)
        server = self._server.enter_context(server_of(kind, folder))
        return LAYOUTS[kind](folder, server)


def query(text: str) -> Program:
    def program(spark: SparkSession) -> DataFrame:
        return spark.sql(text)

    return program


def suite(scale: float | None = None, tables: str | None = None) -> PairedSuite:
    """Return the suite, by default at scale factor 1. `tables` is the format of tables and answers, Parquet by default."""
    asked, targets = (("active",), {"active": _TARGETS["active"]}) if tables else (("active", "auto", "lazy"), _TARGETS)
    return TpcSuite("tpch", 22, scale=scale or _SCALE, usual=_SCALE, asked=asked, targets=targets, tables=tables)
