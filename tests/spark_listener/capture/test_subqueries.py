"""Scalar, correlated and lateral subqueries: the subquery's row had a part in every row of the operator that holds it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.graph.trace import Semantics

pytestmark = pytest.mark.spark


def rows() -> list[dict[str, Any]]:
    return [{"id": f"a{i:02}", "k": i % 4, "v": i} for i in range(12)]


def others() -> list[dict[str, Any]]:
    return [{"id": f"b{i}", "k": i % 3, "w": i * 2} for i in range(6)]


ALL = frozenset(row["id"] for row in others())


@pytest.fixture
def tables(spark: SparkSession, table: Any) -> None:
    spark.read.parquet(table("a", rows())).createOrReplaceTempView("a")
    spark.read.parquet(table("b", others())).createOrReplaceTempView("b")


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.usefixtures("tables")
def test_in_a_filter(spark: SparkSession, write: Any, traced: Any, conf: Any, aqe: bool) -> None:
    conf(adaptive__enabled=aqe)
    captured = write(spark.sql("select v from a where v > (select avg(w) from b where k < 2)"))  # avg of 0, 2, 6, 8
    read = {row["id"] for row in others() if row["k"] < 2}
    expected = {(v,): [frozenset({f"a{v:02}", *read})] for v in range(5, 12)}
    assert captured.ids("v") == expected
    assert traced(captured, "v") == (expected, set())


@pytest.mark.usefixtures("tables")
def test_as_columns_that_spark_merges_into_one_subquery(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(spark.sql("select v, (select max(w) from b) most, (select min(w) from b) least from a where v < 3"))
    assert any(operator["op"] == "CTERelationRef" for operator in captured.capture["operators"])
    assert traced(captured, "v") == ({(v,): [ALL | {f"a{v:02}"}] for v in range(3)}, set())
    for column, chosen in {"most": {"b5"}, "least": {"b0"}, "v": set()}.items():
        witness = {(v,): [frozenset({f"a{v:02}", *chosen})] for v in range(3)}
        assert traced(captured, "v", semantics=Semantics.WITNESS, column=column) == (witness, set())


@pytest.mark.usefixtures("tables")
def test_above_and_below_aggregates_and_within_each_other(spark: SparkSession, write: Any, traced: Any) -> None:
    query = (
        "select k, sum(v) + (select max(w) from b) s from a where v >= (select min(w) from b where w > (select avg(w) from b where k = 0)) "
        "group by k having sum(v) > (select count(*) from b)"
    )
    captured = write(spark.sql(query))  # of w: avg 3 (b0, b3), least above it 4 (b2)
    read = {"b0", "b3"} | {row["id"] for row in others() if row["w"] > 3} | ALL
    groups = {k: [row for row in rows() if row["k"] == k and row["v"] >= 4] for k in range(4)}
    expected = {(k, sum(r["v"] for r in group) + 10): [frozenset({*read, *(r["id"] for r in group)})] for k, group in groups.items()}
    assert traced(captured, "k", "s") == (expected, set())


@pytest.mark.usefixtures("tables")
def test_the_missing_side_of_an_outer_join_has_no_subquery(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(
        spark.sql("select a.v, t.w from a left join (select * from b where w < (select max(w) from b)) t on t.w = a.v where a.v < 3")
    )
    expected = {(0, 0): ALL | {"a00"}, (1, None): frozenset({"a01"}), (2, 2): ALL | {"a02"}}
    assert traced(captured, "v", "w") == ({key: [ids] for key, ids in expected.items()}, set())


@pytest.mark.usefixtures("tables")
def test_equal_subqueries_that_spark_runs_once(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(
        spark.sql("select v from a where v >= (select max(w) from b) union all select v from a where v >= (select max(w) from b)")
    )
    assert traced(captured, "v") == ({(v,): [ALL | {f"a{v:02}"}] * 2 for v in (10, 11)}, set())


@pytest.mark.usefixtures("tables")
def test_correlated_ones(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(spark.sql("select v, (select sum(w) from b where b.k = a.k) s from a where v < 4"))
    matching = {k: frozenset(row["id"] for row in others() if row["k"] == k) for k in range(4)}
    assert traced(captured, "v") == ({(v,): [matching[v % 4] | {f"a{v:02}"}] for v in range(4)}, set())
    captured = write(spark.sql("select v, w from a, lateral (select w from b where b.k = a.k and b.w < a.v)"))
    pairs = [(a, b) for a in rows() for b in others() if a["k"] == b["k"] and b["w"] < a["v"]]
    assert traced(captured, "v", "w") == ({(a["v"], b["w"]): [frozenset({a["id"], b["id"]})] for a, b in pairs}, set())
    captured = write(spark.sql("select v, (select b.k from b where b.w = a.v) x from a where v < 3"))
    single = {(0,): [frozenset({"a00", "b0"})], (1,): [frozenset({"a01"})], (2,): [frozenset({"a02", "b1"})]}
    assert traced(captured, "v") == (single, set())


@pytest.mark.usefixtures("tables")
def test_grouped_lateral_ones_whose_rows_have_a_subquery_of_their_own(spark: SparkSession, write: Any, traced: Any) -> None:
    matching = {k: frozenset(row["id"] for row in others() if row["k"] == k) for k in range(4)}
    rows_of_four = "(select v, k x, (select min(w) from b where b.k = a.k) m from a where v < 4)"
    lateral = "left join lateral (select sum(w) s from b where b.k = t.x) on true"
    captured = write(spark.sql(f"select v, x, m, s from {rows_of_four} t {lateral}"))
    assert traced(captured, "v") == ({(v,): [matching[v % 4] | {f"a{v:02}"}] for v in range(4)}, set())


@pytest.mark.usefixtures("tables")
def test_distinct_rows_of_the_query_itself_are_followed_beside_lateral_ones(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(
        spark.sql("select x, s from (select distinct k x from a) t left join lateral (select sum(w) s from b where b.k = t.x) on true")
    )
    found, said = traced(captured, "x")
    for (x,), sets in found.items():
        whole = frozenset(row["id"] for row in [*rows(), *others()] if row["k"] == x)
        assert [whole <= records for records in sets] == [True], x
        assert said == {"superset"} or sets == [whole]
    assert found


def _shifted(value: int) -> int:
    return value + 1


@pytest.mark.usefixtures("tables")
def test_as_the_argument_of_a_python_function(spark: SparkSession, write: Any, traced: Any) -> None:
    spark.udf.register("shifted", _shifted, "bigint")
    captured = write(spark.sql("select v, shifted((select max(w) from b)) as m from a where v < 2"))
    assert traced(captured, "v", "m") == ({(v, 11): [ALL | {f"a{v:02}"}] for v in range(2)}, set())
