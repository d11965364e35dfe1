"""Measures `headwater.lineage(frame)` in a running session, over TPC-H at scale factor 1 (`--scale`).

Each DataFrame is computed once with capture, untimed. A case requests the records of one source behind one row of it, and counts or
reads them (into Spark's noop sink). Its time is the wait of the user of a notebook.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite
from bench.suites.trace_tpch import SCALE, queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READS = ("count", "records")


@dataclass(frozen=True)
class _Asked:
    """A query of TPC-H or a text, the columns that identify a row of its answer, and the requested source."""

    query: str
    by: tuple[str, ...]
    source: str


_FRAMES = {
    "a filter": _Asked("SELECT * FROM lineitem WHERE l_shipdate = DATE '1996-03-13'", ("l_orderkey", "l_linenumber"), "lineitem"),
    "a join": _Asked(
        "SELECT l_orderkey, l_linenumber, o_custkey FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
        "WHERE o_orderdate = DATE '1996-03-13'",
        ("l_orderkey", "l_linenumber"),
        "orders",
    ),
    "q1": _Asked("q1", ("l_returnflag", "l_linestatus"), "lineitem"),
    "q3": _Asked("q3", ("l_orderkey",), "lineitem"),
    "q5": _Asked("q5", ("n_name",), "lineitem"),
}


class LineageSuite:
    """The median wait for each DataFrame, with a control that does the same work."""

    def __init__(self, name: str, scale: float) -> None:
        self._scale = scale
        cases = tuple(f"{frame}, {read}" for frame in _FRAMES for read in _READS)
        self.plan = Plan(
            name=name,
            arms=("lineage", "control"),
            baseline="lineage",
            control="control",
            cases=cases,
            measures=tuple(Measure(name=case, cases=(case,), arm="lineage", statistic=Statistic.P50) for case in cases),
            rounds=10,
            warm_up=2,
        )

    def prepare(self, folder: Path) -> None:  # noqa: ARG002  # the tables are kept elsewhere
        queries(self._scale)

    def arm(self, name: str, folder: Path) -> Arm:
        return _SessionArm(folder / name, self._scale)


class _SessionArm:
    def __init__(self, folder: Path, scale: float) -> None:
        import headwater
        from bench.spark.session import start

        folder.mkdir()
        tables, stated = queries(scale)
        texts: Any = stated["texts"]
        self._tables = tables
        self._spark: SparkSession = start(folder, tables=tables)
        self._asked = {}
        for name, asked in _FRAMES.items():
            made = headwater.lineage(self._spark.sql(texts.get(asked.query, asked.query)))
            self._asked[name] = (made, _condition(made.rows, asked.by), str(tables[asked.source]))

    def run(self, case: str, turn: int) -> Sample:  # noqa: ARG002  # every turn asks the same
        name, _, read = case.rpartition(", ")
        made, where, source = self._asked[name]
        began = time.perf_counter()
        records: DataFrame = made.backward(where, source=source)
        if read == "count":
            count = records.count()
        else:
            records.write.format("noop").mode("overwrite").save()
            count = 1
        seconds = time.perf_counter() - began
        if not count:
            raise RuntimeError(f"{case}: no record was found")
        return {SECONDS: seconds}

    def close(self) -> None:
        self._spark.stop()


def _condition(rows: DataFrame, by: tuple[str, ...]) -> str:
    """Return a condition that is true for the first row only, over the columns that identify it."""
    first = rows.orderBy(*by).first()
    if first is None:
        raise RuntimeError(f"there is no row to ask for by {', '.join(by)}")
    return " AND ".join(f"{name} = '{first[name]}'" for name in by)


def suite(scale: float | None = None) -> Suite:
    chosen = scale or SCALE
    return LineageSuite("lineage" if chosen == SCALE else f"lineage-sf{chosen:g}", chosen)
