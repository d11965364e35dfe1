"""Functions that are not understood from within: grouped aggregates of the user's own, functions over a task's rows; and odd group keys."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.pandas.functions import PandasUDFType

from headwater.graph.trace import Semantics

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:In Python 3.6:UserWarning")]


FUNCTIONS: Any = f  # whose functions over pandas and Arrow have no types


def numbered(count: int = 60) -> list[dict[str, Any]]:
    return [{"id": i, "k": i % 4} for i in range(count)]


def _mean(values: Any) -> float:
    return float(values.mean())


def _mean_in_arrow(values: pa.Array) -> pa.Scalar:
    return pc.mean(values)


@pytest.mark.parametrize(
    "arrow",
    [
        pytest.param(True, marks=pytest.mark.skipif(not hasattr(f, "arrow_udf"), reason="a Spark before 4.1 has no functions over Arrow")),
        False,
    ],
)
def test_a_grouped_aggregate_in_pandas_or_arrow_is_of_its_whole_group(spark: SparkSession, table: Any, write: Any, arrow: bool) -> None:
    mean = (
        FUNCTIONS.arrow_udf(_mean_in_arrow, "double")
        if arrow
        else FUNCTIONS.pandas_udf(_mean, "double", functionType=PandasUDFType.GROUPED_AGG)
    )
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


@pytest.mark.parametrize("name", ["mapInPandas", "mapInArrow"])
def test_a_limit_may_stop_such_a_function_early(spark: SparkSession, table: Any, write: Any, conf: Any, name: str) -> None:
    conf(execution__arrow__maxRecordsPerBatch=10)
    frame = spark.read.parquet(table("rows", numbered(400), files=1)).repartition(2, "k")
    captured = write(getattr(frame, name)(lambda parts: parts, frame.schema).filter("id >= 0").limit(13))
    found = captured.ids("id")
    assert len(found) == 13
    assert all(key[0] in sets[0] for key, sets in found.items())


class _Words:
    def eval(self, number: int) -> Any:
        for word in range(number % 3):
            yield number, word

    def terminate(self) -> Any:
        yield -1, -1


@pytest.mark.slow
@pytest.mark.parametrize("arrow", [True, False])
def test_a_table_function_in_python_is_of_all_rows_of_its_task(spark: SparkSession, table: Any, write: Any, arrow: bool) -> None:
    registry: Any = spark.udtf
    registry.register("words", FUNCTIONS.udtf(_Words, returnType="n long, word long", useArrow=arrow))
    spark.read.parquet(table("rows", numbered(), files=1)).repartition(2, "k").createOrReplaceTempView("numbered")
    captured = write(spark.sql("select n, word, id from numbered, lateral words(id)"))
    assert [p["kind"] for p in captured.capture["problems"]] == ["superset"]
    found = captured.ids("n", "word")
    assert {key for key in found if key[0] >= 0} == {(i, word) for i in range(60) for word in range(i % 3)}
    assert all(number in sets[0] for (number, _), sets in found.items() if number >= 0)
    tasks = {sets[0] for (number, _), sets in found.items() if number >= 0}
    assert set(found[-1, -1]) == tasks
    assert sum(map(len, tasks)) == 60


FRAMES: dict[str, Any] = {
    "rows": lambda: Window.partitionBy("k").orderBy("id").rowsBetween(-2, 1),
    "values": lambda: Window.partitionBy("k").orderBy("id").rangeBetween(-5, 4),
    "so far": lambda: Window.partitionBy("k").orderBy("id"),
    "whole": lambda: Window.partitionBy("k"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_window_of_a_function_in_pandas_is_of_its_frame(spark: SparkSession, table: Any, write: Any, traced: Any, name: str) -> None:
    mean = FUNCTIONS.pandas_udf(_mean, "double", functionType=PandasUDFType.GROUPED_AGG)
    frame = spark.read.parquet(table("rows", numbered()))
    captured = write(frame.withColumn("m", mean("id").over(FRAMES[name]())).withColumn("n", mean("k").over(FRAMES[name]())))
    of: Any = {
        "rows": lambda i: range(i - 8, i + 5, 4),
        "values": lambda i: range(i - 4, i + 5, 4),
        "so far": lambda i: range(i % 4, i + 1, 4),
        "whole": lambda i: range(i % 4, 60, 4),
    }[name]
    expected = {(i,): [frozenset(j for j in of(i) if 0 <= j < 60)] for i in range(60)}
    assert captured.ids("id") == expected
    found = traced(captured, "id", semantics=Semantics.WITNESS, column="m")
    assert (found.ids, found.said) == (expected, set())


def test_session_windows_are_of_all_rows_of_the_other_keys(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    frame = spark.read.parquet(table("rows", [{"id": i + 100 * (i > 29), "k": i % 4} for i in range(60)]))
    sessions = frame.withColumn("at", f.timestamp_seconds("id")).groupBy("k", f.session_window("at", "9 seconds"))
    captured = write(sessions.agg(f.min("id").alias("id"), f.count("*").alias("n")).select("k", "id", "n"))
    assert [(p["operator"], p["kind"]) for p in captured.capture["problems"]] == [("Aggregate", "superset")]
    everything = {k: frozenset(i + 100 * (i > 29) for i in range(k, 60, 4)) for k in range(4)}
    for semantics in Semantics:
        found = traced(captured, "k", semantics=semantics, column="id")
        assert found.ids == {(k,): [ids, ids] for k, ids in everything.items()}
        assert [effect for _, effect in found.said] == ["superset"]


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
