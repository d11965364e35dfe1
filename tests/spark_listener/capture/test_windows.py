"""Windows: of each row its own record and those that its frames reach over, the way the engine ordered them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from headwater.graph.trace import Semantics
from headwater.spark_listener.lineage.manifest_secrets import without_secret_literals

pytestmark = pytest.mark.spark


def weather() -> list[dict[str, Any]]:
    return [{"id": i, "p": None if i % 17 == 0 else i % 4, "t": i * 7 % 10, "o": i, "v": i * 31 % 97} for i in range(120)]


def partitions(rows: list[dict[str, Any]], *order: str) -> list[list[dict[str, Any]]]:
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: tuple(row[name] for name in order)):
        found.setdefault(row["p"], []).append(row)
    return list(found.values())


@pytest.fixture
def frame(spark: SparkSession, table: Any) -> DataFrame:
    return spark.read.parquet(table("weather", weather()))


def test_whole_partitions(frame: DataFrame, write: Any) -> None:
    captured = write(frame.withColumn("m", f.avg("v").over(Window.partitionBy("p"))).select("o", "m"))
    expected = {(row["o"],): [frozenset(r["id"] for r in part)] for part in partitions(weather(), "o") for row in part}
    assert captured.ids("o") == expected


@pytest.mark.parametrize(("start", "end"), [(-2, 0), (-1, 1), (1, 3), (Window.unboundedPreceding, 0), (0, Window.unboundedFollowing)])
def test_frames_of_rows(frame: DataFrame, write: Any, start: int, end: int) -> None:
    window = Window.partitionBy("p").orderBy("o").rowsBetween(start, end)
    captured = write(frame.withColumn("m", f.sum("v").over(window)).select("o", "m"))
    expected = {}
    for part in partitions(weather(), "o"):
        for place, row in enumerate(part):
            reached = part[max(place + start, 0) : max(place + end + 1, 0)]
            expected[row["o"],] = [frozenset({row["id"], *(r["id"] for r in reached)})]
    assert captured.ids("o") == expected


@pytest.mark.parametrize(("start", "end"), [(None, 0), (-3, 0), (-2, 2), (1, 4), (None, None), (0, None)])
@pytest.mark.parametrize("order", ["t", "t_or_null"])
def test_frames_of_values_with_ties_and_nulls(frame: DataFrame, write: Any, start: int | None, end: int | None, order: str) -> None:
    frame = frame.withColumn("t_or_null", f.expr("if(t = 3, null, t)"))
    low = Window.unboundedPreceding if start is None else start
    high = Window.unboundedFollowing if end is None else end
    window = Window.partitionBy("p").orderBy(order).rangeBetween(low, high)
    captured = write(frame.withColumn("m", f.count("v").over(window)).select("o", "m"))
    expected = {}
    for part in partitions(weather(), "o"):
        for row in part:
            reached = [r["id"] for r in part if _within(_value(row, order), _value(r, order), start, end)]
            expected[row["o"],] = [frozenset({row["id"], *reached})]
    assert captured.ids("o") == expected


def _value(row: dict[str, Any], order: str) -> int | None:
    return None if order == "t_or_null" and row["t"] == 3 else row["t"]


def _within(own: int | None, other: int | None, start: int | None, end: int | None) -> bool:
    """Spark: a null's bounds are among nulls, which come first; an unbounded side takes everything."""
    if own is None or other is None:
        low = start is None or (other is None) == (own is None) or own is None
        high = end is None or (other is None) == (own is None) or other is None
        return low and high
    return (start is None or other >= own + start) and (end is None or other <= own + end)


def test_ranking_lag_and_lead(frame: DataFrame, write: Any) -> None:
    window = Window.partitionBy("p").orderBy("o")
    ranked = write(frame.withColumn("n", f.row_number().over(window)).select("o", "n"))
    assert ranked.ids("o") == {(row["o"],): [frozenset(r["id"] for r in part)] for part in partitions(weather(), "o") for row in part}
    moved = write(frame.withColumn("n", f.lag("v", 2).over(window)).withColumn("m", f.lead("v").over(window)).select("o", "n", "m"))
    expected = {}
    for part in partitions(weather(), "o"):
        for place, row in enumerate(part):
            back = part[place - 2 : place] if place >= 2 else []
            expected[row["o"],] = [frozenset({row["id"], *(r["id"] for r in back), *(r["id"] for r in part[place + 1 : place + 2])})]
    assert moved.ids("o") == expected


@pytest.mark.parametrize(
    "function",
    ["lag(w) ignore nulls", "lead(w, 2) ignore nulls", "last(w, true)", "first_value(w) ignore nulls", "nth_value(w, 2) ignore nulls"],
)
def test_a_function_that_passes_over_nulls_says_what_it_may_have_taken(
    spark: SparkSession, table: Any, write: Any, traced: Any, function: str
) -> None:
    rows = [{"id": i, "p": i % 2, "w": i if i % 6 < 2 else None} for i in range(16)]
    made = f"{function.replace(' ignore nulls', '')} {'ignore nulls' if 'ignore' in function else ''} over (partition by p order by id)"
    captured = write(spark.read.parquet(table("nulls", rows)).selectExpr("id AS o", f"{made} AS taken"))
    for semantics in Semantics:
        found = traced(captured, "o", "taken", semantics=semantics, column="taken" if semantics is Semantics.WITNESS else None)
        assert all({row, taken} - {None} <= records for (row, taken), (records,) in found.ids.items())
        exact = semantics is Semantics.INFLUENCE and not function.startswith(("lag", "lead"))
        assert {effect for _, effect in found.said} == (set() if exact else {"superset"})


def test_windows_over_windows_and_filters_above(frame: DataFrame, write: Any) -> None:
    whole, running = Window.partitionBy("p"), Window.partitionBy("p").orderBy("o").rowsBetween(-1, 0)
    result = frame.withColumn("m", f.avg("v").over(whole)).filter("v > m").withColumn("s", f.sum("m").over(running)).select("o", "s")
    expected = {}
    for part in partitions(weather(), "o"):
        mean = sum(row["v"] for row in part) / len(part)
        kept = [row for row in part if row["v"] > mean]
        for row in kept:
            expected[row["o"],] = [frozenset(r["id"] for r in part)]
    assert write(result).ids("o") == expected


def test_a_window_over_groups_and_a_group_over_windows(frame: DataFrame, write: Any) -> None:
    per_t = frame.groupBy("p", "t").agg(f.sum("v").alias("v"))
    shares = per_t.withColumn("all", f.sum("v").over(Window.partitionBy("p")))
    totals = shares.groupBy("t").agg(f.max("all").alias("most"))
    rows = weather()
    expected = {(t,): [frozenset(r["id"] for r in rows if any(q["t"] == t and q["p"] == r["p"] for q in rows))] for t in range(10)}
    assert write(totals).ids("t") == expected


def test_many_rows_cross_the_blocks(spark: SparkSession, table: Any, write: Any, conf: Any) -> None:
    conf(shuffle__partitions=1)
    rows = [{"id": i, "p": i % 3, "o": i} for i in range(40_000)]
    frame = spark.read.parquet(table("many", rows))
    window = Window.partitionBy("p").orderBy("o").rowsBetween(-1, 0)
    captured = write(frame.withColumn("n", f.sum("o").over(window)).select("o", "n"))
    assert captured.ids("o") == {(i,): [frozenset({i, i - 3} if i >= 3 else {i})] for i in range(40_000)}


def test_a_window_without_partitions(frame: DataFrame, write: Any) -> None:
    captured = write(frame.withColumn("n", f.sum("v").over(Window.orderBy("o").rowsBetween(-1, 0))).select("o", "n"))
    assert captured.ids("o") == {(i,): [frozenset({i, i - 1} if i else {i})] for i in range(120)}


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.parametrize("strategy", ["broadcast", "merge", "shuffle_hash"])
def test_windows_under_joins(spark: SparkSession, table: Any, write: Any, traced: Any, conf: Any, strategy: str, aqe: bool) -> None:
    conf(adaptive__enabled=aqe, autoBroadcastJoinThreshold=-1)
    rows: list[dict[str, Any]] = [{"id": f"l{i:02}", "k": i % 5, "v": i} for i in range(30)]
    frame = spark.read.parquet(table("left", rows))
    totals = frame.select("k", "v", f.sum("v").over(Window.partitionBy("k")).alias("total"), f.col("id").alias("other"))
    few = spark.read.parquet(table("few", [{"id": f"r{k}", "k": k, "w": k} for k in range(3)]))
    captured = write(totals.join(few.hint(strategy), "k").select("v", "total", "w"))
    expected = {(row["v"],): [frozenset(r["id"] for r in rows if r["k"] == row["k"]) | {f"r{row['k']}"}] for row in rows if row["k"] < 3}
    assert traced(captured, "v") == (expected, set())


def test_a_partition_that_a_join_left_half_read_is_said_to_be_missing(
    spark: SparkSession, table: Any, write: Any, traced: Any, conf: Any
) -> None:
    conf(adaptive__enabled=False, autoBroadcastJoinThreshold=-1, requireAllClusterKeysForCoPartition=False)
    rows: list[dict[str, Any]] = [{"id": f"l{i:03}", "k": i // 50, "v": i % 50} for i in range(200)]
    frame = spark.read.parquet(table("left", rows))
    running = frame.select("k", "v", f.sum("v").over(Window.partitionBy("k").orderBy("v")).alias("until"))
    totals = frame.select("k", "v", f.sum("v").over(Window.partitionBy("k").orderBy("v").rowsBetween(-1000, 1000)).alias("total"))
    few = spark.read.parquet(table("few", [{"id": f"r{i}", "k": k, "v": 5} for i, k in enumerate([0, 2])]))
    until = write(running.join(few.hint("merge"), ["k", "v"]).select("k", "until"))
    expected = {(k,): [frozenset(r["id"] for r in rows if r["k"] == k and r["v"] <= 5) | {f"r{i}"}] for i, k in enumerate([0, 2])}
    assert traced(until, "k", column=None).ids == expected  # what a frame reaches was read
    whole, said = traced(write(totals.join(few.hint("merge"), ["k", "v"]).select("k", "total")), "k")
    true = {(k,): [frozenset(r["id"] for r in rows if r["k"] == k) | {f"r{i}"}] for i, k in enumerate([0, 2])}
    assert whole != true, "the join reads everything: this test shows nothing"
    assert {effect for _, effect in said} == {"missing"}
    assert all(whole[key][0] < true[key][0] for key in true)


def test_the_row_that_a_function_takes_of_a_secret_column_is_not_guessed(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    frame = spark.read.parquet(table("rows", [{"id": i, "token": f"t{i}"} for i in range(6)], files=1))
    whole = "(order by id rows between unbounded preceding and unbounded following)"
    captured = write(frame.selectExpr("id", f"nth_value(token, 2) over {whole} as n"))
    captured.event["capture"] = without_secret_literals(captured.capture)
    answer = traced(captured, "id", semantics=Semantics.WITNESS, column="n")
    assert answer.ids == {(i,): [frozenset(range(6))] for i in range(6)}
    assert {effect for _, effect in answer.said} == {"superset"}
