"""`headwater.lineage(df)`: the records behind the rows of a frame, as DataFrames of the session."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import headwater
from headwater.backend.cli.shell.frames import _base, _is_called
from headwater.errors import InvalidQueryError, SourceChangedError, UnsupportedError
from headwater.graph.associations import Source
from headwater.graph.associations.parts import DatasetName, SourceFile
from headwater.graph.trace.on_spark.walk import WalkOnSpark
from tests.jvm import start_with

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    start_with()
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


def test_what_is_large_is_followed_by_jobs_of_this_spark(spark: SparkSession, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sales = spark.read.parquet(str(tables / "sales"))
    lineage = headwater.lineage(sales.groupBy("shop").agg(f.max("price").alias("most")), large=5)
    made: list[str] = []
    real = WalkOnSpark.take_table
    monkeypatch.setattr(WalkOnSpark, "take_table", lambda self, local, table: made.append(table) or real(self, local, table))
    assert {row.id for row in lineage.backward().collect()} == set(range(60))
    assert len(made) == 1
    assert sorted(row.shop for row in lineage.forward().collect()) == [0, 1, 2, 3, 4]
    assert len(made) == 2
    assert {row.id for row in lineage.backward("shop < 0").collect()} == set()
    assert len(made) == 2  # that is small
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the first try, on Spark, says nothing of what it could not do
        (witness,) = [row.price for row in lineage.backward("shop = 2", witness=True).collect()]
    assert witness == max(row.price for row in sales.where("shop = 2").collect())
    assert lineage.backward(witness=True).count() == 5
    assert len(made) > 2


def test_frames_with_two_columns_of_one_name_keep_both(spark: SparkSession, tables: Path) -> None:
    sales, shops = spark.read.parquet(str(tables / "sales")), spark.read.parquet(str(tables / "shops"))
    frame = sales.join(shops, sales.shop == shops.shop).where("id < 10")
    lineage = headwater.lineage(frame)
    assert lineage.rows.columns == ["id", "shop", "price", "shop", "name"]
    assert sorted(map(tuple, lineage.rows.collect())) == sorted(map(tuple, frame.collect()))
    assert [row.name for row in lineage.backward("id = 7", source="shops").collect()] == ["s2"]
    assert sorted(tuple(row)[4:] for row in lineage.forward("name = 's2'", source="shops").collect()) == [(14, 2, "s2"), (18, 2, "s2")]
    lineage.close()


@pytest.fixture(scope="module")
def parted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records 0 to 1999 in folders of partitions, in row groups of some tens of them."""
    folder = tmp_path_factory.mktemp("parted") / "readings"
    made = spark.range(0, 2000, 1, 2).selectExpr("id", "id % 500 AS place", "array(id, -id) AS both", "concat('k', id % 3) AS kind")
    made.write.option("parquet.block.size", 512).option("parquet.page.size", 64).partitionBy("kind").parquet(str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batches", "nested", "split"),
    [
        ("true", "true", "2k"),
        *(
            pytest.param(*settings, marks=pytest.mark.torture)
            for settings in (("true", "true", "128m"), ("true", "false", "2k"), ("false", "false", "128m"))
        ),
    ],
)
def test_of_many_row_groups_the_very_records_are_read(spark: SparkSession, parted: Path, batches: str, nested: str, split: str) -> None:
    few = min(pq.ParquetFile(file).num_row_groups for file in parted.rglob("*.parquet"))
    assert few > 3
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", batches)
    spark.conf.set("spark.sql.parquet.enableNestedColumnVectorizedReader", nested)
    spark.conf.set("spark.sql.files.maxPartitionBytes", split)
    try:
        readings = spark.read.parquet(str(parted))
        lineage = headwater.lineage(readings.groupBy("place").agg(f.sum("id").alias("total")))
        for places in ([0], [499], [3, 4, 5, 250, 498], list(range(500))):
            listed = ", ".join(map(str, places))
            behind = lineage.backward(f"place IN ({listed})")
            expected = sorted(map(tuple, readings.where(f"place IN ({listed})").collect()))
            assert sorted(tuple(row)[2:] for row in behind.collect()) == expected
            assert behind.count() == len(expected)
            assert {row.id for row in behind.where("kind = 'k1' AND id > 1500").collect()} == {
                row[0] for row in expected if row[3] == "k1" and row[0] > 1500
            }
            told = behind.select("_file", "_row").collect()
            first = told[0]._file
            assert behind.where(f.col("_file") == first).count() == sum(row._file == first for row in told)
            for row in told[:3]:
                at = pq.read_table(str(row._file).removeprefix("file:")).slice(row._row, 1).to_pydict()
                assert at["place"][0] in places
        assert {row.total for row in lineage.forward("id = 17").collect()} == {17 * 4 + 3000}
        lineage.close()
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
        spark.conf.unset("spark.sql.parquet.enableNestedColumnVectorizedReader")
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def test_pages_that_a_condition_leaves_out_do_not_shift_the_records(spark: SparkSession, tmp_path: Path) -> None:
    made = spark.range(0, 1000, 1, 1).selectExpr("id", "id DIV 200 AS fifth")
    made.write.option("parquet.page.row.count.limit", 100).parquet(str(tmp_path / "t"))
    lineage = headwater.lineage(spark.read.parquet(str(tmp_path / "t")).groupBy("fifth").count())
    ends = "id < 100 OR id >= 900"  # 200 rows of two pages are read; as many records lie between them
    middle, first = lineage.backward("fifth = 2"), lineage.backward("fifth = 0")
    assert (middle.count(), middle.where(ends).collect()) == (200, [])
    assert sorted(row.id for row in first.where(ends).collect()) == list(range(100))
    lineage.close()


def test_of_some_partitions_the_folders_tell_their_columns(spark: SparkSession, parted: Path) -> None:
    part = spark.read.option("basePath", str(parted)).parquet(str(parted / "kind=k1"))
    lineage = headwater.lineage(part.groupBy("place", "kind").agg(f.count("*").alias("n")))
    behind = lineage.backward("place = 1 AND kind = 'k1'")
    assert sorted((row.id, row.kind) for row in behind.collect()) == [(1, "k1"), (1501, "k1")]
    assert [row.n for row in lineage.forward("kind = 'k1' AND id = 1501").collect()] == [2]
    lineage.close()


def test_files_that_lie_in_no_folders_of_partitions_are_refused() -> None:
    def source(*paths: str) -> Source:
        files = tuple(SourceFile(ordinal=place, path=path, length=1, modified=1) for place, path in enumerate(paths))
        dataset = DatasetName(namespace="file", name="/t")
        return Source(source=0, dataset=dataset, path="file:/t/d=1", format="parquet", partition_columns=("d", "a b"), files=files)

    assert _base(source("file:/t/D=1/a%20b=x/0.parquet", "file:/t/d=2/a b=y=z/0.parquet")) == "file:/t"
    assert _base(source()) == "file:/t/d=1"
    for path in ("file:/t/0.parquet", "file:/elsewhere/d=1/0.parquet", "file:/t/a b=1/d=1/0.parquet"):
        with pytest.raises(UnsupportedError, match="does not lie in folders that tell d, a b"):
            _base(source(path))


@pytest.mark.parametrize(
    ("name", "called"),
    [("sales", True), ("x/sales/", True), ("/data/x/sales", True), ("file:/data/x/sales", True), ("les", False), ("presales", False)],
)
def test_a_source_is_called_by_the_last_folders_of_its_path(name: str, called: bool) -> None:
    dataset = DatasetName(namespace="file", name="/data/x/sales")
    assert _is_called(Source(source=0, dataset=dataset, path="file:/data/x/sales", format="parquet"), name) == called


def test_folders_whose_names_look_like_patterns_are_read_alone(spark: SparkSession, tmp_path: Path) -> None:
    for name, start in (("[x]*?", 0), ("xab", 100), ("50%25 #1", 200)):
        spark.range(start, start + 4).write.parquet(str(tmp_path / name))
    kept = tmp_path / "kept [1]*"
    kept.mkdir()
    read = spark.read.parquet(str(tmp_path / "\\[x\\]\\*\\?")).union(spark.read.parquet(str(tmp_path / "50%25 #1")))
    lineage = headwater.lineage(read.where("id % 4 > 1"), folder=kept)
    assert sorted(row.id for row in lineage.rows.collect()) == [2, 3, 202, 203]
    for number, source in ((3, "[x]*?"), (202, "50%25 #1")):
        assert [row.id for row in lineage.backward(f"id = {number}", source=source).collect()] == [number]
    lineage.close()


@pytest.mark.parametrize(
    ("paths", "columns"),
    [
        (["one/a.parquet"], ["id"]),
        (["one/a.parquet", "one/b.parquet"], ["id"]),
        (["one", "two"], ["id"]),
        (["two", "one/a.parquet"], ["id"]),
        (["one/[ab].parquet"], ["id"]),
        (["*/a.parquet"], ["id"]),
        (["parts/d=1", "parts/d=2"], ["id"]),
        (["parts/d=1/a.parquet"], ["id"]),
        (["parts"], ["id", "d"]),
    ],
)
def test_files_lists_of_paths_and_patterns_are_read_again(
    spark: SparkSession, tmp_path: Path, paths: list[str], columns: list[str]
) -> None:
    for place, name in enumerate(("one/a", "one/b", "two/a", "parts/d=1/a", "parts/d=2/a")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": range(10 * place, 10 * place + 5)}), tmp_path / f"{name}.parquet")
    frame = spark.read.parquet(*(str(tmp_path / path) for path in paths))
    lineage = headwater.lineage(frame.where("id % 10 < 3"))
    behind = lineage.backward("id % 10 = 1")
    assert behind.columns == ["_file", "_row", *columns]
    expected = {row.id for row in frame.where("id % 10 = 1").collect()}
    assert {row.id for row in behind.collect()} == expected == {row.id for row in lineage.forward("id % 10 = 1").collect()}
    assert expected
    lineage.close()


def test_two_answers_over_the_same_files_stay_apart(spark: SparkSession, parted: Path) -> None:
    lineage = headwater.lineage(spark.read.parquet(str(parted)).groupBy("place").count())
    one, other = lineage.backward("place = 1"), lineage.backward("place = 2")
    assert sorted(row.id for row in one.union(other).collect()) == [1, 2, 501, 502, 1001, 1002, 1501, 1502]
    assert one.join(other, "kind").count() == sum(left.kind == right.kind for left in one.collect() for right in other.collect())
    assert one.join(one.select("id", f.col("place").alias("again")), "id").count() == 4
    assert not lineage.backward("place < 0").collect()
    lineage.close()


@pytest.mark.parametrize("wanted", ["true", "id % 2 = 0", "id % 8 = 3", "id % 97 = 5", "id IN (0, 1999)", "id BETWEEN 700 AND 760"])
@pytest.mark.parametrize("few", [0, 100_000])
def test_dense_and_sparse_records_are_read_alike(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, few: int
) -> None:
    monkeypatch.setattr("headwater.backend.cli.shell.frames._FEW_ROWS", few)
    spark.range(2000).repartition(3).write.parquet(str(tmp_path / "numbers"))
    numbers = spark.read.parquet(str(tmp_path / "numbers"))
    lineage = headwater.lineage(numbers.groupBy(f.expr(wanted).alias("wanted")).count())
    assert sorted(row.id for row in lineage.backward("wanted").collect()) == [row.id for row in spark.range(2000).where(wanted).collect()]
    lineage.close()


def test_one_task_reads_few_records_and_several_read_many(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.range(2000).repartition(3).write.parquet(str(tmp_path / "numbers"))
    lineage = headwater.lineage(spark.read.parquet(str(tmp_path / "numbers")).where("id < 300"))
    assert lineage.backward("id IN (1, 2, 3, 4, 5)").rdd.getNumPartitions() == 1
    monkeypatch.setattr("headwater.backend.cli.shell.frames._FEW_WANTED", 4)
    many = lineage.backward("id IN (1, 2, 3, 4, 5)")
    assert many.rdd.getNumPartitions() > 1
    assert many.count() == 5
    lineage.close()


def test_a_source_that_changed_since_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(10).write.parquet(str(tmp_path / "t"))
    lineage = headwater.lineage(spark.read.parquet(str(tmp_path / "t")).where("id > 3"))
    spark.range(11).write.mode("overwrite").parquet(str(tmp_path / "t"))
    with pytest.raises(SourceChangedError, match="it is gone"):
        lineage.backward("id = 4")
    lineage.close()


def test_what_cannot_be_followed_is_refused_by_name_and_nothing_stays(spark: SparkSession, tables: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xml").write_text("<shops>\n<row><shop>1</shop></row>\n</shops>\n")
    frame = spark.read.schema("shop long").xml(str(tmp_path / "in"), rowTag="row", multiLine=False)
    with pytest.raises(UnsupportedError, match="cannot be followed"):
        headwater.lineage(frame.groupBy("shop").count(), folder=tmp_path / "kept")
    assert not list((tmp_path / "kept").iterdir())


def test_the_guides_session_runs_as_it_is_written(spark: SparkSession, root: Path, tmp_path: Path) -> None:
    rows = [("EWR", 2, 1048.4), ("EWR", 2, 9.2), ("EWR", 3, 7.0), ("JFK", 2, 12.7)]
    spark.createDataFrame(rows, "origin string, month int, wind_speed double").write.parquet(str(tmp_path / "weather"))
    weather = spark.read.parquet(str(tmp_path / "weather"))
    names: dict[str, Any] = {"report": weather.groupBy("origin", "month").agg(f.max("wind_speed").alias("max_wind"))}
    page = (root / "docs" / "guide" / "asking.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if "headwater.lineage(report)" in block]
    shown = []
    for statement in ast.parse(block).body:
        if isinstance(statement, ast.Expr):  # what a notebook shows
            frame = eval(ast.unparse(statement), names)
            shown.append(sorted(tuple(row)[2:] for row in frame.collect()))  # behind `_file` and `_row`
        else:
            exec(ast.unparse(statement), names)
    assert shown == [sorted(rows[:2]), sorted([rows[0], rows[2]]), rows[:1]]
    names["lineage"].close()
