"""Rows of the program itself: each is named by its relation and its place there, whatever the optimizer evaluates while it plans."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from tests.spark_listener.capture.conftest import Captured, read_row

pytestmark = pytest.mark.spark


def places(captured: Captured, *columns: str) -> dict[tuple[Any, ...], list[list[tuple[str, int]]]]:
    """For each output row, by its values: the rows of relations behind it, relations by their path within the capture."""
    assert captured.lineage is not None, captured.capture["problems"]
    found: dict[tuple[Any, ...], list[list[tuple[str, int]]]] = {}
    prefix = f"local:{captured.capture['capture']}/"
    for written in captured.lineage.written():
        row = read_row(written)
        records = sorted((record.path.removeprefix(prefix), record.row) for record in written.records)
        found.setdefault(tuple(row[name] for name in columns), []).append(records)
    return found


VALUES = "values (0, 'a'), (1, 'b'), (2, 'a'), (3, 'b'), (4, 'a') t(n, s)"


def rows_of(*ordinals: int) -> list[list[tuple[str, int]]]:
    return [[("0", n) for n in ordinals]]


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.parametrize(
    ("query", "column", "expected"),
    [
        (f"select n from {VALUES}", "n", {(n,): rows_of(n) for n in range(5)}),
        (f"select n + 1 as m, s from {VALUES}", "m", {(n + 1,): rows_of(n) for n in range(5)}),
        (f"select n, s from {VALUES} where n > 2", "n", {(3,): rows_of(3), (4,): rows_of(4)}),
        (f"select n, s from {VALUES} limit 2", "n", {(0,): rows_of(0), (1,): rows_of(1)}),
        (f"select s, count(*) c from {VALUES} group by s", "s", {("a",): rows_of(0, 2, 4), ("b",): rows_of(1, 3)}),
        (f"select 7 as x, count(*) c from {VALUES}", "x", {(7,): rows_of(0, 1, 2, 3, 4)}),
        (f"select s, max(n) over (partition by s) m from {VALUES} where s = 'b'", "s", {("b",): rows_of(1, 3) * 2}),
    ],
)
def test_rows_of_values(spark: SparkSession, write: Any, conf: Any, query: str, column: str, expected: dict[Any, Any], aqe: bool) -> None:
    conf(adaptive__enabled=aqe)
    captured = write(spark.sql(query))
    assert places(captured, column) == expected


def test_a_relation_that_is_used_twice_is_one(spark: SparkSession, write: Any) -> None:
    spark.sql(f"select * from {VALUES}").createOrReplaceTempView("pairs")
    captured = write(spark.sql("select a.n, b.n as m from pairs a join pairs b on a.s = b.s and a.n < b.n where a.n = 1"))
    assert places(captured, "n", "m") == {(1, 3): rows_of(1, 3)}
    assert len(captured.capture["sources"]) == 1


def test_rows_that_were_filtered_and_computed_while_planning(spark: SparkSession, write: Any) -> None:
    captured = write(spark.sql(f"select n + 1 as m, s, n from {VALUES} where n > 2"))
    assert places(captured, "m") == {(4,): rows_of(3), (5,): rows_of(4)}
    captured = write(spark.sql(f"select n + 1 as m, s from {VALUES} where n > 2"))  # one of the a's, but which
    assert [(p["operator"], p["kind"]) for p in captured.capture["problems"]] == [("LocalRelation", "refused")]


def test_rows_of_a_list_are_named_by_partition_and_place(spark: SparkSession, write: Any) -> None:
    captured = write(spark.createDataFrame([(n, n % 2) for n in range(10)], "n int, k int").filter("n > 3"))
    found = places(captured, "n")
    parts = sorted({path for sets in found.values() for ((path, _),) in sets})
    assert parts == ["0/0", "0/1"]
    assert found == {(n,): [[("0/0", n) if n < 5 else ("0/1", n - 5)]] for n in range(4, 10)}


def test_rows_of_a_list_in_groups_beside_records(spark: SparkSession, table: Any, write: Any) -> None:
    names = spark.createDataFrame([(k, f"name {k}") for k in range(3)], "k bigint, name string")
    facts = spark.read.parquet(table("facts", [{"id": i, "k": i % 3} for i in range(12)]))
    captured = write(facts.join(f.broadcast(names), "k").groupBy("name").count())
    groups = captured.lineage.written()
    assert len(groups) == 3
    for written in groups:
        k = int(read_row(written)["name"][-1])
        local = [record for record in written.records if record.path.startswith("local:")]
        assert len(local) == 1
        assert len(written.records) == 5
        assert local[0].path.endswith(("/0", "/1")), k


def test_the_relation_is_a_source_without_values(spark: SparkSession, write: Any) -> None:
    captured = write(spark.sql(f"select n from {VALUES}"))
    (source,) = captured.capture["sources"]
    assert (source["format"], source["path"]) == ("local", f"local:{captured.capture['capture']}/0")
    assert [column["name"] for column in source["columns"]] == ["n"]
    assert "a" not in {value for file in source["files"] for value in file.values()}
