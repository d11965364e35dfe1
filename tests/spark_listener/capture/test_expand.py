"""Several rows made of one: grouping sets, several distinct aggregates, UNPIVOT, generators."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headwater.graph.trace import Semantics

pytestmark = pytest.mark.spark


def sales(rows: int = 120) -> list[dict[str, Any]]:
    return [{"id": i, "a": None if i % 11 == 0 else i % 3, "b": i % 4, "v": i * 37 % 101, "w": i % 5} for i in range(rows)]


def of(*wanted: Any) -> frozenset[int]:
    """The ids of the sales whose `a` and `b` are as wanted; `...` for any."""
    return frozenset(r["id"] for r in sales() if all(want is ... or r[name] == want for name, want in zip("ab", wanted, strict=True)))


SETS = {
    "rollup": (lambda frame: frame.rollup("a", "b"), [(True, True), (True, False), (False, False)]),
    "cube": (lambda frame: frame.cube("a", "b"), [(True, True), (True, False), (False, True), (False, False)]),
    "grouping_sets": (
        lambda frame: frame.groupingSets([[f.col("a")], [f.col("b")], [f.col("b")]], f.col("a"), f.col("b")),
        [(True, False), (False, True), (False, True)],
    ),
}


@pytest.mark.parametrize("kind", SETS)
def test_each_grouping_set_has_groups_of_its_own(spark: SparkSession, table: Any, write: Any, kind: str) -> None:
    grouped, sets = SETS[kind]
    frame = grouped(spark.read.parquet(table("sales", sales()))).agg(f.grouping_id().alias("g"), f.sum("v").alias("t"))
    expected: dict[tuple[Any, ...], list[frozenset[int]]] = {}
    for by_a, by_b in sets:
        keys = {(r["a"] if by_a else ..., r["b"] if by_b else ...) for r in sales()}
        for a, b in keys:
            shown = (None if a is ... else a, None if b is ... else b, 2 * (not by_a) + (not by_b))
            expected.setdefault(shown, []).append(of(a, b))
    assert write(frame).ids("a", "b", "g") == expected


def test_several_distinct_aggregates_are_of_the_whole_group(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("sales", sales())).groupBy("b")
    captured = write(frame.agg(f.countDistinct("v"), f.countDistinct("w"), f.sum("id"), f.expr("count(distinct a) filter (where w > 2)")))
    assert captured.ids("b") == {(b,): [of(..., b)] for b in range(4)}


def test_a_witness_takes_one_row_a_value_of_a_count_and_all_rows_of_any_other_distinct(
    spark: SparkSession, table: Any, write: Any, traced: Any
) -> None:
    frame = spark.read.parquet(table("sales", sales())).groupBy("b")
    summed = f.expr("sum(distinct a) filter (where w > 2)").alias("s")
    captured = write(frame.agg(f.countDistinct("w").alias("n"), summed, f.expr("count(distinct v)").alias("m")))
    counted = {(b,): [frozenset(next(r["id"] for r in sales() if (r["b"], r["w"]) == (b, w)) for w in range(5))] for b in range(4)}
    assert traced(captured, "b", semantics=Semantics.WITNESS, column="n") == (counted, set())
    passed = {(b,): [frozenset(r["id"] for r in sales() if r["b"] == b and r["w"] > 2)] for b in range(4)}
    assert traced(captured, "b", semantics=Semantics.WITNESS, column="s") == (passed, set())
    assert traced(captured, "b") == ({(b,): [of(..., b)] for b in range(4)}, set())


def test_pivot(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("sales", sales())).groupBy("b").pivot("w", [1, 2]).agg(f.sum("v"))
    assert write(frame).ids("b") == {(b,): [of(..., b)] for b in range(4)}


def _pivoted(spark: SparkSession, path: str, column: str) -> Any:
    """One column of a pivot: Spark takes it of the array in the aggregate that makes the array."""
    return spark.read.parquet(path).groupBy("b").pivot("w", [1, 2, 7]).agg(f.max("v")).select("b", f.col(column).alias("m"))


def test_a_witness_of_the_one_column_that_is_taken_of_a_pivot_has_the_rows_of_its_value(
    spark: SparkSession, table: Any, write: Any, traced: Any
) -> None:
    captured = write(_pivoted(spark, table("sales", sales()), "2"))
    greatest = {b: max((r for r in sales() if (r["b"], r["w"]) == (b, 2)), key=lambda r: r["v"])["id"] for b in range(4)}
    assert traced(captured, "b", semantics=Semantics.WITNESS) == ({(b,): [frozenset({greatest[b]})] for b in range(4)}, set())
    assert traced(captured, "b") == ({(b,): [of(..., b)] for b in range(4)}, set())


def test_the_witness_of_an_empty_cell_of_a_pivot_is_the_first_record_of_its_row(
    spark: SparkSession, table: Any, write: Any, traced: Any
) -> None:
    captured = write(_pivoted(spark, table("sales", sales()), "7"))
    assert traced(captured, "b", semantics=Semantics.WITNESS) == ({(b,): [frozenset({b})] for b in range(4)}, set())


def test_a_witness_says_where_the_column_of_a_pivot_was_not_recorded(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    captured = write(_pivoted(spark, table("sales", sales()), "2"))
    (pivot,) = [d["expr"] for o in captured.capture["operators"] for d in o.get("defines", ()) if d["expr"].get("name") == "pivot"]
    pivot["args"].append(pivot.pop("filter")["args"][0])
    pivot["fn"] = pivot.pop("name") + "first"  # as Headwater described it before
    _, said = traced(captured, "b", semantics=Semantics.WITNESS)
    assert {effect for _, effect in said} == {"superset"}


def test_unpivot(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("sales", sales())).unpivot("id", ["v", "w"], "name", "value")
    assert write(frame).ids("id", "name") == {(i, name): [frozenset({i})] for i in range(120) for name in ("v", "w")}


LISTS = [{"id": i, "l": list(range(i % 4)) if i % 5 else None, "j": f'{{"x": {i}}}'} for i in range(40)]
GENERATORS = {
    "explode": (lambda frame: frame.select("id", f.explode("l")), lambda r: len(r["l"] or ())),
    "explode_outer": (lambda frame: frame.select("id", f.explode_outer("l")), lambda r: len(r["l"] or ()) or 1),
    "posexplode": (lambda frame: frame.select("id", f.posexplode("l")), lambda r: len(r["l"] or ())),
    "stack": (lambda frame: frame.selectExpr("id", "stack(3, id, 1L, 2L)"), lambda _: 3),
    "inline": (lambda frame: frame.selectExpr("id", "inline(array(struct(id as x, 1L as y), struct(id as x, 2L as y)))"), lambda _: 2),
    "json_tuple": (lambda frame: frame.select("id", f.json_tuple("j", "x")), lambda _: 1),
    "after_a_join": (
        lambda frame: frame.join(frame.selectExpr("id", "l as m"), "id").select("id", "l", f.explode("m")).drop("l"),
        lambda r: len(r["l"] or ()),
    ),
    "lateral_view": (
        lambda frame: frame.selectExpr("id", "l").where("id > 3").selectExpr("id", "explode(transform(l, x -> x + id)) y").where("y > 8"),
        lambda r: sum(r["id"] > 3 and x + r["id"] > 8 for x in r["l"] or ()),
    ),
}


@pytest.mark.parametrize("generator", GENERATORS)
def test_generated_rows_are_those_of_their_input_row(spark: SparkSession, table: Any, write: Any, generator: str) -> None:
    make, count = GENERATORS[generator]
    captured = write(make(spark.read.parquet(table("lists", LISTS))))
    assert captured.ids("id") == {(r["id"],): [frozenset({r["id"]})] * count(r) for r in LISTS if count(r)}


@pytest.mark.parametrize("query", ["select 1 as x", "select sum(id) x from range(10)", "select id x from range(3) where id > 5"])
def test_rows_that_come_from_no_record_have_an_empty_lineage(spark: SparkSession, write: Any, query: str) -> None:
    captured = write(spark.sql(query))
    assert captured.capture["status"] == "complete"
    assert {written.records for written in captured.lineage.written()} <= {frozenset()}


def test_a_range_joined_with_records(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("sales", sales())).join(spark.range(3).withColumnRenamed("id", "n"), f.col("n") == f.col("a"))
    assert write(frame.groupBy("n").count()).ids("n") == {(n,): [of(n, ...)] for n in range(3)}
