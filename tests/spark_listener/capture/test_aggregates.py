"""Groups: every input record of a group, and no other, stands behind its row."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headwater.graph.associations.segment import Segment
from headwater.graph.records.decode import decode
from headwater.graph.trace import Semantics

pytestmark = pytest.mark.spark


def sales(rows: int = 200) -> list[dict[str, Any]]:
    return [{"id": i, "k": None if i % 11 == 0 else i % 7, "v": i * 37 % 101, "s": f"s{i % 5}"} for i in range(rows)]


def groups(rows: list[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], frozenset[int]]:
    found: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for row in rows:
        found[tuple(row[key] for key in keys)].add(row["id"])
    return {key: frozenset(ids) for key, ids in found.items()}


def single(found: dict[tuple[Any, ...], list[frozenset[Any]]]) -> dict[tuple[Any, ...], frozenset[Any]]:
    assert all(len(sets) == 1 for sets in found.values())
    return {key: sets[0] for key, sets in found.items()}


def test_a_group_is_made_of_its_records_and_nulls_are_a_group(spark: SparkSession, table: Any, write: Any) -> None:
    rows = sales()
    frame = spark.read.parquet(table("sales", rows)).groupBy("k").agg(f.sum("v").alias("total"))
    captured = write(frame)
    assert single(captured.ids("k")) == groups(rows, "k")
    answers = {row["k"]: row["total"] for row in spark.read.parquet(str(captured.out)).collect()}
    assert answers == {k: sum(r["v"] for r in rows if r["k"] == k) for k in {r["k"] for r in rows}}


def test_keys_of_several_columns_with_nulls_stay_apart(spark: SparkSession, table: Any, write: Any) -> None:
    rows = [{"id": i, "a": [None, 1, 2][i % 3], "b": [None, 1, 2][i // 3 % 3]} for i in range(90)]
    captured = write(spark.read.parquet(table("pairs", rows)).groupBy("a", "b").count())
    assert single(captured.ids("a", "b")) == groups(rows, "a", "b")


def test_nan_and_negative_zero_fall_into_spark_s_groups(spark: SparkSession, table: Any, write: Any) -> None:
    values = [0.0, -0.0, float("nan"), -float("nan"), 1.5, None]
    rows = [{"id": i, "x": values[i % 6]} for i in range(60)]
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64())])
    captured = write(spark.read.parquet(table("floats", rows, schema=schema)).groupBy("x").count())
    found = {("nan" if key[0] is not None and math.isnan(key[0]) else key[0]): ids for key, ids in single(captured.ids("x")).items()}
    by_place = [frozenset(i for i in range(60) if i % 6 in places) for places in ([0, 1], [2, 3], [4], [5])]
    assert found == dict(zip([0.0, "nan", 1.5, None], by_place, strict=True))


@pytest.mark.parametrize(("groups_made", "form"), [(1, 1), (256, 2), (257, 0)])
def test_groups_stay_apart_where_their_hashes_are_numbered_and_where_they_are_too_many_for_that(
    spark: SparkSession, table: Any, write: Any, segments: Path, groups_made: int, form: int
) -> None:
    rows = [{"id": i, "s": f"s{i * 7919 % groups_made}"} for i in range(3000)]
    captured = write(spark.read.parquet(table("many", rows)).coalesce(1).groupBy("s").count())
    assert single(captured.ids("s")) == groups(rows, "s")
    (name,) = [segment["name"] for segment in captured.capture["segments"] if segment["rows"] == 3000]
    data = (segments / captured.capture["capture"] / name).read_bytes()
    assert {block.columns[0].form for block in Segment.open(name, data).blocks()} == {form}


@pytest.mark.parametrize(("alike", "least", "most"), [(1, 8.0, 9.0), (40, 0.1, 2.0)])
def test_hashes_are_stored_as_they_are_where_compressing_them_is_of_little_use(
    spark: SparkSession, table: Any, write: Any, segments: Path, alike: int, least: float, most: float
) -> None:
    count = 100_000
    stored = table("runs", [{"id": i} for i in range(count)], files=1)
    keys = spark.read.parquet(stored).coalesce(1).select(f.concat(f.lit("k"), f.floor(f.col("id") / alike)).alias("s"))
    captured = write(keys.groupBy("s").count())
    (group,) = [boundary["boundary"] for boundary in captured.capture["boundaries"] if boundary["kind"] == "group"]
    (entry,) = [segment for segment in captured.capture["segments"] if segment["boundary"] == group]
    hashes, references = decode(Segment.open("s", (segments / captured.capture["capture"] / entry["name"]).read_bytes()))
    assert references.tolist() == list(range(count))
    assert (np.flatnonzero(np.diff(hashes)) + 1 == np.arange(alike, count, alike)).all()
    assert len(np.unique(hashes)) == count // alike
    assert least < entry["bytes"] / count < most


def test_having_leaves_the_groups_that_it_keeps(spark: SparkSession, table: Any, write: Any) -> None:
    rows = sales()
    frame = spark.read.parquet(table("sales", rows)).filter("v > 20").groupBy("s").agg(f.count("*").alias("n")).filter("n > 28")
    kept = groups([row for row in rows if row["v"] > 20], "s")
    assert single(write(frame).ids("s")) == {key: ids for key, ids in kept.items() if len(ids) > 28}


def test_a_global_aggregate_is_made_of_everything(spark: SparkSession, table: Any, write: Any) -> None:
    rows = sales()
    captured = write(spark.read.parquet(table("sales", rows)).agg(f.sum("v").alias("total")))
    assert captured.ids() == {(): [frozenset(range(200))]}


def test_a_global_aggregate_of_nothing_is_made_of_nothing(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("sales", sales())).filter("v + id < -5").agg(f.count("*").alias("n"))
    assert write(frame).ids("n") == {(0,): [frozenset()]}


def test_distinct_aggregates_and_distinct_rows(spark: SparkSession, table: Any, write: Any) -> None:
    rows = sales()
    source = table("sales", rows)
    counted = write(spark.read.parquet(source).groupBy("s").agg(f.countDistinct("k").alias("n")))
    assert single(counted.ids("s")) == groups(rows, "s")
    distinct = write(spark.read.parquet(source).select("k", "s").distinct())
    assert single(distinct.ids("k", "s")) == groups(rows, "k", "s")


def test_aggregates_over_joins_over_aggregates(spark: SparkSession, table: Any, write: Any) -> None:
    rows = sales()
    source = spark.read.parquet(table("sales", rows))
    per_k = source.groupBy("k").agg(f.avg("v").alias("mean"))
    frame = source.join(per_k, "k").filter("v > mean").groupBy("s").agg(f.count("*").alias("n"))
    by_k = {key[0]: ids for key, ids in groups(rows, "k").items() if key[0] is not None}
    mean = {k: sum(rows[i]["v"] for i in ids) / len(ids) for k, ids in by_k.items()}
    expected: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for row in rows:
        if row["k"] is not None and row["v"] > mean[row["k"]]:
            expected[(row["s"],)] |= by_k[row["k"]]
    assert single(write(frame).ids("s")) == {key: frozenset(ids) for key, ids in expected.items()}


@pytest.mark.parametrize(
    "key", ["cast(v as decimal(12, 2))", "cast(v as decimal(30, 4))", "date_add(date'2013-01-01', int(v))", "v % 2 = 0", "substring(s, 2)"]
)
def test_keys_of_every_type(spark: SparkSession, table: Any, write: Any, key: str) -> None:
    rows = sales(60)
    source = spark.read.parquet(table("sales", rows)).selectExpr("*", f"{key} as key")
    expected = groups([row.asDict() for row in source.collect()], "key")
    assert single(write(source.groupBy("key").count()).ids("key")) == expected


@pytest.mark.parametrize("kind", ["bigint", "int", "smallint", "tinyint"])
def test_keys_that_are_numbers_at_their_limits(spark: SparkSession, table: Any, write: Any, kind: str) -> None:
    bits = {"bigint": 63, "int": 31, "smallint": 15, "tinyint": 7}[kind]
    values = [None, 0, -1, -(2**bits), 2**bits - 1]
    rows = [{"id": i, "k": values[i % 5]} for i in range(50)]
    source = spark.read.parquet(table("rows", rows)).selectExpr("id", f"cast(k as {kind}) k")
    assert single(write(source.groupBy("k").count()).ids("k")) == groups(rows, "k")


def priced() -> list[dict[str, Any]]:
    return [{"id": i, "k": i % 5, "p": Decimal(i * 37 % 101) / 4, "d": Decimal(i % 10) / 100} for i in range(60)]


def test_witnesses_by_what_is_computed_of_decimals(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    types = [("id", pa.int64()), ("k", pa.int64()), ("p", pa.decimal128(15, 2)), ("d", pa.decimal128(15, 2))]
    spark.read.parquet(table("priced", priced(), schema=pa.schema(types))).createOrReplaceTempView("priced")

    def revenue(row: dict[str, Any]) -> Decimal:
        net: Decimal = row["p"] * (1 - row["d"])
        return net

    most = {k: max((row for row in priced() if row["k"] == k), key=lambda row: (revenue(row), -row["id"])) for k in range(5)}
    captured = write(spark.sql("select k, max(p * (1 - d)) m from priced group by k"))
    assert traced(captured, "k", semantics=Semantics.WITNESS) == ({(k,): [frozenset({row["id"]})] for k, row in most.items()}, set())
    captured = write(spark.sql("select max(s) m from (select k, sum(p * (1 - d)) s from priced group by k)"))
    best = max(range(5), key=lambda k: sum(revenue(row) for row in priced() if row["k"] == k))
    group = frozenset(row["id"] for row in priced() if row["k"] == best)
    assert traced(captured, semantics=Semantics.WITNESS) == ({(): [group]}, set())
