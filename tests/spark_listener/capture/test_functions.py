"""Functions that are not understood from within: grouped aggregates of the user's own, functions over a task's rows; and odd group keys."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.functions import PandasUDFType

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:In Python 3.6:UserWarning")]


def numbered(count: int = 60) -> list[dict[str, Any]]:
    return [{"id": i, "k": i % 4} for i in range(count)]


def _mean(values: Any) -> float:
    return float(values.mean())


def test_a_grouped_aggregate_in_pandas_is_of_its_whole_group(spark: SparkSession, table: Any, write: Any) -> None:
    mean = f.pandas_udf(_mean, "double", functionType=PandasUDFType.GROUPED_AGG)
    captured = write(spark.read.parquet(table("rows", numbered())).groupBy("k").agg(mean("id").alias("m")))
    assert captured.ids("k") == {(k,): [frozenset(range(k, 60, 4))] for k in range(4)}


@pytest.mark.parametrize("name", ["mapInPandas", "mapInArrow"])
def test_a_function_over_a_task_s_rows_is_of_all_of_them_and_says_so(spark: SparkSession, table: Any, write: Any, name: str) -> None:
    frame = spark.read.parquet(table("rows", numbered(), files=1)).repartition(3, "k")
    captured = write(getattr(frame, name)(lambda parts: parts, frame.schema))
    assert captured.capture["status"] == "complete"
    assert [(p["operator"].lower(), p["kind"]) for p in captured.capture["problems"]] == [(name.lower(), "superset")]
    found = captured.ids("id")
    assert set(found) == {(i,) for i in range(60)}
    of_tasks = {sets[0] for sets in found.values()}
    assert sum(map(len, of_tasks)) == 60  # disjoint, and together everything
    assert all(key[0] in sets[0] for key, sets in found.items())


KEYS = {
    "struct": "named_struct('a', if(id % 3 = 0, null, id % 2), 'b', if(id % 3 = 1, null, id % 2))",
    "array": "transform(array(0, 1, 2), x -> if(x = id % 3, null, id % 2))",
    "array_of_structs": "array(named_struct('a', if(id % 3 = 0, null, 0D), 'b', if(id % 3 = 1, null, -0D)), null)",
    "null_or_empty": "if(id % 2 = 0, array(), cast(null as array<bigint>))",
}


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_structs_and_arrays_stay_apart(spark: SparkSession, table: Any, write: Any, key: str) -> None:
    frame = spark.read.parquet(table("rows", numbered())).selectExpr("id", f"{KEYS[key]} as x")
    texts = {row["id"]: row["t"] for row in frame.selectExpr("id", "to_json(struct(x), map('ignoreNullFields', 'false')) t").collect()}
    expected = defaultdict(set)
    for i, text in texts.items():
        expected[text.replace("-0.0", "0.0")].add(i)  # they are one key
    captured = write(frame.groupBy("x").agg(f.count("*").alias("n")).selectExpr("to_json(struct(x), map('ignoreNullFields', 'false')) t"))
    assert captured.ids("t") == {(text,): [frozenset(ids)] for text, ids in expected.items()}


def test_filters_and_distincts(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("rows", numbered()))
    captured = write(frame.groupBy("k").agg(f.expr("sum(id) filter (where id > 30)").alias("s")))
    assert captured.ids("k") == {(k,): [frozenset(range(k, 60, 4))] for k in range(4)}
    captured = write(frame.dropDuplicates(["k"]))
    assert {k: sets for (_, k), sets in captured.ids("id", "k").items()} == {k: [frozenset(range(k, 60, 4))] for k in range(4)}
    assert write(frame.select("k").distinct()).ids("k") == {(k,): [frozenset(range(k, 60, 4))] for k in range(4)}
