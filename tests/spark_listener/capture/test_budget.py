"""The groups that a query leaves to its traces: together no more than the trace budget, by the estimates in its capture."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY

pytestmark = pytest.mark.spark

TWO_GROUPS = (
    "SELECT a.k, a.n, b.m FROM (SELECT k, count(*) n FROM facts GROUP BY k) a "
    "JOIN (SELECT k, max(v) m FROM facts GROUP BY k) b ON a.k = b.k"
)
OF_ONE = "SELECT a.k, sum(a.v) v FROM facts a GROUP BY a.k"
OF_JOINED = "SELECT a.k, sum(a.v) v FROM facts a JOIN names b ON a.k = b.k GROUP BY a.k"
OF_MATCHED = "SELECT a.k, sum(a.v) v FROM facts a WHERE a.v IN (SELECT k FROM names) GROUP BY a.k"

Estimates = Callable[[str, float], list[float]]


@pytest.fixture
def estimates(spark: SparkSession, table: Any, tmp_path: Path) -> Estimates:
    """Capture a query under a budget in seconds, and return the estimate in seconds of each group that was left to traces."""
    facts = table("facts", [{"id": n, "k": n % 7, "v": n % 11} for n in range(5000)])
    names = table("names", [{"id": n, "k": n} for n in range(5)])
    number = iter(range(100))

    def run(query: str, budget: float) -> list[float]:
        session, place = spark.newSession(), next(number)
        session.read.parquet(facts).createOrReplaceTempView("facts")
        session.read.parquet(names).createOrReplaceTempView("names")
        bridge = Bridge.install(session, mode="auto", segments=str(tmp_path / f"segments{place}"), budget=budget)
        try:
            session.sql(query).write.parquet(str(tmp_path / f"out{place}"))
            assert bridge.flush(PATIENTLY)
            (end,) = [event for event in bridge.drain(1000) if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
        finally:
            bridge.close()
        assert end["capture"]["status"] == "complete", end["capture"]["problems"]
        groups = [boundary for boundary in end["capture"]["boundaries"] if boundary["kind"] == "group"]
        return [boundary["derived"]["estimate_ms"] / 1000 for boundary in groups if "derived" in boundary]

    return run


def test_groups_share_the_budget(estimates: Estimates) -> None:
    first, second = estimates(TWO_GROUPS, math.inf)
    assert estimates(TWO_GROUPS, (first + second) * 1.01) == [first, second]
    assert estimates(TWO_GROUPS, (first + second) * 0.99) == [first]
    assert estimates(TWO_GROUPS, first * 0.99) in ([], [second])


def test_joins_and_matches_are_counted(estimates: Estimates) -> None:
    (alone,), (joined,), (matched,) = (estimates(query, math.inf) for query in (OF_ONE, OF_JOINED, OF_MATCHED))
    assert 0 < alone < joined
    assert alone < matched
    assert estimates(OF_JOINED, joined * 0.99) == []
