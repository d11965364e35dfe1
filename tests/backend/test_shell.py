"""`headwater.lineage(df)`: the records behind the rows of a frame, as DataFrames of the session."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import headwater
from headwater.errors import InvalidQueryError, UnsupportedError
from tests.jvm import submit

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_SUBMIT_ARGS"] = submit()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables of 100% a+b ü")
    spark.range(60).selectExpr("id", "id % 5 AS shop", "id * 7 % 31 AS price").write.parquet(str(folder / "sales"))
    spark.range(5).selectExpr("id AS shop", "concat('s', id) AS name").write.parquet(str(folder / "shops"))
    return folder


def test_records_behind_a_row_and_rows_that_a_record_went_into_are_dataframes(spark: SparkSession, tables: Path) -> None:
    sales, shops = spark.read.parquet(str(tables / "sales")), spark.read.parquet(str(tables / "shops"))
    frame = sales.where("price > 3").join(shops, "shop").groupBy("name").agg(f.max("price").alias("most"))
    lineage = headwater.lineage(frame)
    assert {row.name: row.most for row in lineage.rows.collect()} == {row.name: row.most for row in frame.collect()}
    expected = {row.id for row in sales.where("price > 3 AND shop = 2").collect()}
    behind = lineage.backward("name = 's2'", source="sales")
    assert {row.id for row in behind.collect()} == expected
    assert behind.where("price > 10").count() == sales.where("price > 10 AND shop = 2").count()
    assert [row.name for row in lineage.backward("name = 's2'", source="shops").collect()] == ["s2"]
    (witness,) = lineage.backward("name = 's2'", source="sales", witness=True).collect()
    assert witness.price == max(row.price for row in sales.where("shop = 2").collect())
    assert [row.name for row in lineage.forward("id = 7", source="sales").collect()] == ["s2"]
    assert not lineage.forward("price = 0", source="sales").collect()
    with pytest.raises(InvalidQueryError, match="has to name one source"):
        lineage.backward()
    lineage.close()


def test_what_cannot_be_followed_is_refused_by_name_and_nothing_stays(spark: SparkSession, tables: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"shop": 1}')
    frame = spark.read.json(str(tmp_path / "in"))
    with pytest.raises(UnsupportedError, match="cannot be followed"):
        headwater.lineage(frame.groupBy("shop").count(), folder=tmp_path / "kept")
    assert not list((tmp_path / "kept").iterdir())


def test_the_guides_session_runs_as_it_is_written(spark: SparkSession, root: Path, tmp_path: Path) -> None:
    rows = [("EWR", 2, 1048.4), ("EWR", 2, 9.2), ("EWR", 3, 7.0), ("JFK", 2, 12.7)]
    spark.createDataFrame(rows, "origin string, month int, wind_speed double").write.parquet(str(tmp_path / "weather"))
    weather = spark.read.parquet(str(tmp_path / "weather"))
    names: dict[str, Any] = {"report": weather.groupBy("origin", "month").agg(f.max("wind_speed").alias("max_wind"))}
    page = (root / "docs" / "guide" / "asking.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    shown = []
    for statement in ast.parse(block).body:
        if isinstance(statement, ast.Expr):  # what a notebook shows
            frame = eval(ast.unparse(statement), names)
            shown.append(sorted(tuple(row)[2:] for row in frame.collect()))  # behind `_file` and `_row`
        else:
            exec(ast.unparse(statement), names)
    assert shown == [sorted(rows[:2]), sorted([rows[0], rows[2]]), rows[:1]]
    names["lineage"].close()
