"""A LIMIT or OFFSET in a query that runs for each row of another: a row of the output has the joined rows, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.graph.trace import Semantics
from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY
from tests.spark_listener.capture.conftest import Captured

pytestmark = pytest.mark.spark

A = [{"id": f"a{n}", "k": n % 3, "v": n} for n in range(6)]
B = [{"id": f"b{n:02}", "k": n % 4, "w": n * 7 % 20} for n in range(20)]
BY_WEIGHT = {row["w"]: row["id"] for row in B}


@pytest.fixture(params=["active", "auto", "lazy"])
def written(
    request: pytest.FixtureRequest, spark: SparkSession, table: Any, segments: Path, tmp_path: Path
) -> Iterator[Callable[[str], Captured]]:
    """Run a query over A and B in a mode."""
    session, number = spark.newSession(), iter(range(100))
    session.read.parquet(table("a", A)).createOrReplaceTempView("a")
    session.read.parquet(table("b", B)).createOrReplaceTempView("b")
    budget = {"active": 0.0, "auto": 1.0, "lazy": float("inf")}[request.param]
    bridge = Bridge.install(session, mode=request.param, segments=str(segments), budget=budget)

    def run(query: str) -> Captured:
        out = tmp_path / f"out{next(number)}"
        session.sql(query).write.parquet(str(out))
        assert bridge.flush(PATIENTLY)
        (end,) = [event for event in bridge.drain(1000) if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
        assert end["capture"]["status"] == "complete", end["capture"]["problems"]
        return Captured(end, out, None)

    yield run
    bridge.close()


def _of(v: int, w: int | None) -> frozenset[str]:
    return frozenset({f"a{v}"} if w is None else {f"a{v}", BY_WEIGHT[w]})


def _least(k: int) -> list[int]:
    return sorted(row["w"] for row in B if row["k"] == k)


QUERIES = {
    "ordered": "SELECT v, w FROM a, LATERAL (SELECT w FROM b WHERE b.k = a.k ORDER BY w LIMIT 2)",
    "without an order": "SELECT v, w FROM a, LATERAL (SELECT w FROM b WHERE b.k = a.k LIMIT 2)",
    "with an offset": "SELECT v, w FROM a, LATERAL (SELECT w FROM b WHERE b.k = a.k ORDER BY w LIMIT 2 OFFSET 1)",
    "an offset alone": "SELECT v, w FROM a, LATERAL (SELECT w FROM b WHERE b.k = a.k ORDER BY w OFFSET 3)",
    "outer": "SELECT v, w FROM a LEFT JOIN LATERAL (SELECT w FROM b WHERE b.k = a.k AND b.k < 2 ORDER BY w DESC LIMIT 2) ON true",
    "many": "SELECT v, w FROM a, LATERAL (SELECT w FROM b WHERE b.k = a.k ORDER BY w LIMIT 5000)",
    "of a scalar subquery": "SELECT v, (SELECT w FROM b WHERE b.k = a.k ORDER BY w LIMIT 1) w FROM a",
    "below a filter": "SELECT v, w FROM a, LATERAL (SELECT w FROM b WHERE b.k = a.k ORDER BY w LIMIT 2) WHERE w > 2",
    "in a view that is read twice": "WITH l AS (SELECT v, w FROM a, LATERAL (SELECT w FROM b WHERE b.k = a.k ORDER BY w LIMIT 2)) "
    "SELECT * FROM l WHERE w > 2 UNION ALL SELECT * FROM l WHERE w <= 2",
}


@pytest.mark.parametrize("semantics", list(Semantics))
def test_a_limit_for_each_row_leaves_the_rows_that_it_passes_as_they_are(
    written: Callable[[str], Captured], traced: Any, semantics: Semantics
) -> None:
    for name, query in QUERIES.items():
        found = traced(written(query), "v", "w", semantics=semantics)
        assert found == ({(v, w): [_of(v, w)] for v, w in found.ids}, set()), name
        assert found.ids, name
    assert set(found.ids) == {(row["v"], w) for row in A for w in _least(row["k"])[:2]}


def test_an_exists_with_a_limit_has_the_matches_that_pass_it(written: Callable[[str], Captured], traced: Any) -> None:
    found = traced(written("SELECT v FROM a WHERE EXISTS (SELECT w FROM b WHERE b.k = a.k ORDER BY w LIMIT 2)"), "v")
    assert found == ({(row["v"],): [frozenset().union(*(_of(row["v"], w) for w in _least(row["k"])[:2]))] for row in A}, set())


def test_a_limit_of_groups_gives_the_rows_of_each_group(written: Callable[[str], Captured], traced: Any) -> None:
    captured = written(
        "SELECT v, h, n FROM a, LATERAL (SELECT w % 2 h, count(*) n FROM b WHERE b.k = a.k GROUP BY w % 2 ORDER BY h LIMIT 1)"
    )
    found = traced(captured, "v", "h")
    for (v, h), (records,) in found.ids.items():
        whole = {row["id"] for row in B if row["k"] == v % 3 and row["w"] % 2 == h}
        assert records == whole | {f"a{v}"}
    assert found.said == set()


def test_a_condition_that_is_no_equality(written: Callable[[str], Captured], traced: Any) -> None:
    found = traced(written("SELECT v, w FROM a, LATERAL (SELECT w FROM b WHERE b.w > a.v ORDER BY w LIMIT 2)"), "v", "w")
    assert all(_of(v, w) <= records for (v, w), (records,) in found.ids.items())
    exact = found.ids == {(v, w): [_of(v, w)] for v, w in found.ids}
    assert exact or {effect for _, effect in found.said} == {"superset"}


def test_a_row_number_of_the_query_itself_keeps_its_partition(written: Callable[[str], Captured], traced: Any) -> None:
    numbered = "(SELECT * FROM (SELECT k, w, row_number() OVER (PARTITION BY k ORDER BY w) n FROM b) WHERE n = 1)"
    captured = written(
        f"SELECT v, f.w f, l.w FROM a JOIN {numbered} f ON f.k = a.k, LATERAL (SELECT w FROM b WHERE b.k = a.k ORDER BY w LIMIT 2) l"
    )
    found = traced(captured, "v", "w")
    expected = {(v, w): [_of(v, w) | {row["id"] for row in B if row["k"] == v % 3}] for v, w in found.ids}
    assert found == (expected, set())


def test_a_row_number_of_the_name_that_spark_gives_its_own_is_a_superset(written: Callable[[str], Captured], traced: Any) -> None:
    numbered = "(SELECT k, w, row_number() OVER (PARTITION BY k ORDER BY w) rn FROM b)"
    captured = written(f"SELECT v, rn, l.w FROM a JOIN {numbered} f ON f.k = a.k, LATERAL (SELECT w FROM b WHERE b.k = a.k LIMIT 2) l")
    found = traced(captured, "v", "w")
    assert {effect for _, effect in found.said} == {"superset"}
    for (v, w), rows in found.ids.items():
        assert all(_of(v, w) | {row["id"] for row in B if row["k"] == v % 3} <= records for records in rows)
