"""Functions in pandas and Arrow over groups, and over pairs of groups: a row is made of all rows of its group.

The function sees no column of ours, and its results and faults are those without capture.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.util import PythonEvalType

from headwater.graph.trace import Semantics

pytestmark = pytest.mark.spark

ROWS = [{"id": i, "k": None if i % 5 == 4 else i % 5, "s": None if i % 3 == 2 else f"g{i % 3}", "v": i * 1.5} for i in range(60)]


def grouped(*keys: str, rows: list[dict[str, Any]] = ROWS) -> dict[tuple[Any, ...], frozenset[int]]:
    """The ids of the rows of each key."""
    result: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for row in rows:
        result[tuple(row[key] for key in keys)].add(row["id"])
    return {key: frozenset(ids) for key, ids in result.items()}


def _in_pandas(key: Any, group: Any) -> Any:
    told = None if pd.isna(key[0]) else key[0]
    return pd.DataFrame({"k": [told] * 2, "n": [len(group)] * 2, "columns": [",".join(group.columns)] * 2})


def _in_pandas_parts(key: tuple[Any, ...], parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for part in parts:
        yield _in_pandas(key, part)


def _in_arrow(key: Any, group: pa.Table) -> pa.Table:
    columns = {"k": [key[0].as_py()] * 2, "n": [group.num_rows] * 2, "columns": [",".join(group.schema.names)] * 2}
    return pa.Table.from_pydict(columns, schema=pa.schema({"k": pa.int64(), "n": pa.int64(), "columns": pa.string()}))


def _in_arrow_parts(key: tuple[Any, ...], parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        yield from _in_arrow(key, pa.Table.from_batches([part])).to_batches()


WAYS = {
    "pandas": ("applyInPandas", _in_pandas),
    "pandas in parts": ("applyInPandas", _in_pandas_parts),
    "arrow": ("applyInArrow", _in_arrow),
    "arrow in parts": ("applyInArrow", _in_arrow_parts),
}
if not hasattr(PythonEvalType, "SQL_GROUPED_MAP_PANDAS_ITER_UDF"):  # a Spark before 4.1 gives no group in parts
    WAYS = {name: way for name, way in WAYS.items() if "in parts" not in name}


@pytest.mark.parametrize("way", WAYS)
def test_a_row_is_made_of_all_rows_of_its_group(spark: SparkSession, table: Any, write: Any, traced: Any, way: str) -> None:
    name, function = WAYS[way]
    frame = getattr(spark.read.parquet(table("rows", ROWS)).groupBy("k"), name)(function, "k long, n long, columns string")
    captured = write(frame)
    expected = {key: [ids] * 2 for key, ids in grouped("k").items()}
    assert captured.ids("k") == expected
    found = traced(captured, "k")
    assert (found.ids, found.said) == (expected, set())
    assert traced(captured, "k", semantics=Semantics.WITNESS, column="columns").ids == expected
    rows = spark.read.parquet(str(captured.out)).collect()
    assert {row["columns"] for row in rows} == {"id,k,s,v"}
    assert {row["k"]: row["n"] for row in rows} == dict.fromkeys((0, 1, 2, 3, None), 12)


def _counted(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"ids": [",".join(map(str, sorted(group["id"])))], "n": [len(group)]})


# of the last the worker does not make the hash anew
KEYS: dict[str, tuple[str, ...]] = {
    "none": (), "text": ("s",), "several": ("k", "s"), "computed": ("id div 7",), "a day": ("date_add(date'1969-12-28', cast(k as int))",),
    "small ones": ("cast(k as short)", "id % 2 = 0", "s"), "a number with a fraction": ("floor(v / 5) / 2",),
}  # fmt: skip


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("adaptive", [True, False])
def test_groups_of_any_key(spark: SparkSession, table: Any, write: Any, traced: Any, conf: Any, keys: str, adaptive: bool) -> None:
    conf(adaptive__enabled=adaptive)
    frame = (
        spark.read.parquet(table("rows", ROWS))
        .filter("id <> 13")
        .groupBy(*map(f.expr, KEYS[keys]))
        .applyInPandas(_counted, "ids string, n long")
    )
    found = traced(write(frame), "ids")
    assert found.ids == {(ids,): [frozenset(map(int, ids.split(",")))] for (ids,) in found.ids}
    assert sorted(number for (ids,) in found.ids for number in map(int, ids.split(","))) == [i for i in range(60) if i != 13]
    assert not found.said


ODD = {"no UTF-8": "cast(if(id % 2 = 0, X'61FF', X'EDA080') as string)", "a far day": "date_add(date'9999-12-30', cast(id % 4 as int))"}


@pytest.mark.parametrize(("key", "way"), [("no UTF-8", "applyInPandas"), ("no UTF-8", "applyInArrow"), ("a far day", "applyInArrow")])
def test_keys_that_python_cannot_show(spark: SparkSession, table: Any, write: Any, traced: Any, key: str, way: str) -> None:
    """PySpark gives them to a function that does not look at them, so it must not fail with us."""

    def ids(group: Any) -> Any:
        told = ",".join(map(str, sorted(int(str(number)) for number in group["id"])))
        return pd.DataFrame({"ids": [told]}) if way == "applyInPandas" else pa.table({"ids": [told]})

    frame = getattr(spark.read.parquet(table("rows", ROWS)).groupBy(f.expr(ODD[key])), way)(ids, "ids string")
    without = {row["ids"] for row in frame.collect()}
    found = traced(write(frame), "ids")
    assert found.ids == {(told,): [frozenset(map(int, told.split(",")))] for told in without}
    assert not found.said


def test_keys_of_one_hash_give_the_rows_of_both(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    spark.conf.set("spark.headwater.test.keyHashes", 1)
    try:
        captured = write(spark.read.parquet(table("rows", ROWS)).groupBy("s").applyInPandas(_counted, "ids string, n long"))
    finally:
        spark.conf.unset("spark.headwater.test.keyHashes")
    found = traced(captured, "n")
    assert found.ids == {(20,): [frozenset(range(60))] * 3}
    assert [effect for _, effect in found.said] == ["superset"]


RESULTS = {
    "by number": lambda group: pd.DataFrame([(int(group["id"].min()), len(group))]),
    "in another order": lambda group: pd.DataFrame({"n": [len(group)], "id": [group["id"].min()]}),
    "the group itself": lambda group: group.rename(columns={"k": "n"})[["id", "n"]].fillna(0),
    "of some groups": lambda group: group[["id", "k"]].set_axis(["id", "n"], axis=1) if group["id"].min() % 2 else pd.DataFrame(),
    "no columns": lambda group: pd.DataFrame(index=range(2)),
    "no rows": lambda group: group[["id", "k"]].set_axis(["id", "n"], axis=1).head(0),
    "an odd index": lambda group: pd.DataFrame({"id": [1, 2], "n": [3, 4]}, index=["x", "x"]),
}


@pytest.mark.parametrize("result", RESULTS)
def test_results_are_those_without_capture(spark: SparkSession, bridge: Any, table: Any, write: Any, result: str) -> None:
    frame = spark.read.parquet(table("rows", ROWS)).groupBy("k").applyInPandas(RESULTS[result], "id long, n long")
    captured = write(frame)
    assert captured.capture["status"] == "complete", captured.capture["problems"]
    assert not captured.capture["problems"]
    assert sorted(map(str, spark.read.parquet(str(captured.out)).collect())) == sorted(map(str, frame.collect()))
    groups = grouped("k").values()
    for sets in captured.ids("id").values():
        assert set(sets) <= set(groups)


FAULTS = {
    "columns that do not fit": lambda group: pd.DataFrame([(1,)]),
    "other columns": lambda group: pd.DataFrame({"id": [1], "other": [2]}),
    "no frame": lambda group: 7,
    "of its own": lambda group: group["missing"],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_function_is_told_as_without_capture(
    spark: SparkSession, bridge: Any, table: Any, tmp_path: Any, fault: str
) -> None:
    frame = spark.read.parquet(table("rows", ROWS)).groupBy("k").applyInPandas(FAULTS[fault], "id long, n long")
    told = []
    for way in (lambda: frame.write.parquet(str(tmp_path / "out")), frame.collect):
        with pytest.raises(PythonException) as raised:
            way()
        told.append([line for line in str(raised.value).splitlines() if "Error" in line][-1])
    assert told[0] == told[1]


def test_functions_upon_functions(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    source = spark.read.parquet(table("rows", ROWS))
    first = source.groupBy("k").applyInPandas(lambda group: group.nlargest(3, "id")[["id", "s"]], "id long, s string")
    second = first.join(source.select("id", "v"), "id").groupBy("s").applyInArrow(lambda rows: rows, "id long, s string, v double")
    frame = second.groupBy("s").agg(f.count("*").alias("n"), f.max("v").alias("v"))
    found = traced(write(frame), "s")
    kept = {row["id"]: row for ids in grouped("k").values() for row in ROWS if row["id"] in sorted(ids)[-3:]}
    groups: dict[Any, frozenset[int]] = {number: ids for ids in grouped("k").values() for number in ids}
    expected: dict[Any, set[int]] = defaultdict(set)
    for number, row in kept.items():
        expected[row["s"]] |= groups[number]
    assert found.ids == {(key,): [frozenset(ids)] for key, ids in expected.items()}
    assert not found.said


def test_a_limit_and_a_sample_of_the_rows(spark: SparkSession, table: Any, write: Any) -> None:
    frame = spark.read.parquet(table("rows", ROWS)).groupBy("k").applyInPandas(_in_pandas, "k long, n long, columns string")
    captured = write(frame.limit(3))
    groups = grouped("k")
    assert sum(map(len, captured.ids("k").values())) == 3
    assert all(ids == groups[key] for key, sets in captured.ids("k").items() for ids in sets)


def test_a_large_function(spark: SparkSession, table: Any, write: Any) -> None:
    ballast = random.Random(7).randbytes(3 << 20)  # Spark sends such a function by broadcast

    def function(group: pd.DataFrame) -> pd.DataFrame:
        return _counted(group).assign(n=len(ballast))

    captured = write(spark.read.parquet(table("rows", ROWS)).groupBy("k").applyInPandas(function, "ids string, n long"))
    assert sorted(captured.ids("n")[(3 << 20,)], key=min) == sorted(grouped("k").values(), key=min)


LEFT = [{"id": i, "k": i % 4, "s": "x"} for i in range(20)]
RIGHT = [{"id": 100 + i, "k": None if i % 6 == 5 else i % 6, "s": None if i == 3 else "x"} for i in range(30)]


def _both(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"l": [len(left)], "r": [len(right)], "columns": [",".join([*left.columns, *right.columns])]})


def _both_in_arrow(left: pa.Table, right: pa.Table) -> pa.Table:
    columns = {"l": [left.num_rows], "r": [right.num_rows], "columns": [",".join([*left.schema.names, *right.schema.names])]}
    return pa.Table.from_pydict(columns, schema=pa.schema({"l": pa.int64(), "r": pa.int64(), "columns": pa.string()}))


@pytest.mark.parametrize("keys", [("k",), ("k", "s")])
@pytest.mark.parametrize(("name", "function"), [("applyInPandas", _both), ("applyInArrow", _both_in_arrow)])
def test_a_row_of_two_groups_is_made_of_all_rows_of_both(
    spark: SparkSession, table: Any, write: Any, traced: Any, keys: tuple[str, ...], name: str, function: Any
) -> None:
    left, right = spark.read.parquet(table("left", LEFT)), spark.read.parquet(table("right", RIGHT, files=3))
    frame = getattr(left.groupBy(*keys).cogroup(right.groupBy(*keys)), name)(function, "l long, r long, columns string")
    captured = write(frame)
    lefts, rights = grouped(*keys, rows=LEFT), grouped(*keys, rows=RIGHT)
    expected = sorted(sorted(lefts.get(key, frozenset()) | rights.get(key, frozenset())) for key in {*lefts, *rights})
    found = traced(captured, "columns")
    assert sorted(map(sorted, found.ids[("id,k,s,id,k,s",)])) == expected
    assert not found.said


def test_a_frame_with_itself(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    source = spark.read.parquet(table("left", LEFT))
    frame = source.groupBy("k").cogroup(source.filter("id % 2 = 0").groupBy("k")).applyInPandas(_both, "l long, r long, columns string")
    assert sorted(map(sorted, traced(write(frame), "columns").ids[("id,k,s,id,k,s",)])) == sorted(
        map(sorted, grouped("k", rows=LEFT).values())
    )
