"""Groups over files that DuckDB would read otherwise than Spark: the lineage is right, or it is said to lack them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StructField, StructType

from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from tests.jvm import PATIENTLY
from tests.oracle.laboratory import TENANT, Laboratory, laboratory_in

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with laboratory_in(tmp_path_factory.mktemp("laboratory"), budget=1e9) as made:
        yield made


def two_cases(spark: SparkSession, folder: Path) -> DataFrame:
    spark.conf.set("spark.sql.caseSensitive", "true")
    _put(folder / "t/a.parquet", k=["x", "x", "y", "y"], K=["p", "q", "p", "q"])
    return spark.read.parquet(str(folder / "t")).groupBy("K").agg(_ids())


def bytes_as_text(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/a.parquet", s=["é".encode(), b"a\\", "é".encode(), b"z"])
    return spark.read.schema("id bigint, s string").parquet(str(folder / "t")).where("s in ('é', 'a\\\\\\\\')").groupBy("s").agg(_ids())


def place_hidden(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/a.parquet", s=["a", "b", "a", "b"], file_row_number=[3, 2, 1, 0])
    return spark.read.parquet(str(folder / "t")).groupBy("s").agg(_ids())


def place_hidden_from_the_schema(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/a.parquet", s=["a", "b", "a", "b"], file_row_number=[3, 2, 1, 0])
    return spark.read.schema("id bigint, s string").parquet(str(folder / "t")).groupBy("s").agg(_ids())


def another_escape(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/a.parquet", s=["a%c", "abc", "a!c", "a%c"])
    return spark.read.parquet(str(folder / "t")).where("s like 'a!%c' escape '!' or s like 'a!!_' escape '!'").groupBy("s").agg(_ids())


def brackets(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "[t]/a.parquet", s=["a", "b", "a", "b"])
    _put(folder / "t/a.parquet", s=["b", "a", "b", "a"])
    return spark.read.parquet(str(folder / "\\[t\\]")).groupBy("s").agg(_ids())


def old_calendar(spark: SparkSession, folder: Path) -> DataFrame:
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    days = [(n, date(1200, 1, 1 + 4 * n)) for n in range(4)]
    spark.createDataFrame(days, "id bigint, d date").coalesce(1).write.parquet(str(folder / "t"))
    spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")
    return spark.read.parquet(str(folder / "t")).where("d < date'1200-01-07'").groupBy().agg(_ids())


def default_value(spark: SparkSession, folder: Path) -> DataFrame:
    spark.sql(f"CREATE TABLE grown (id BIGINT) USING parquet LOCATION '{folder}/t'")
    spark.sql("INSERT INTO grown VALUES (0), (1)")
    spark.sql("ALTER TABLE grown ADD COLUMN c INT DEFAULT 5")
    spark.sql("INSERT INTO grown VALUES (2, 5), (3, 6)")
    return spark.table("grown").groupBy("c").agg(_ids())


def partition_in_the_file(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/k=1/a.parquet", k=[1, 2, 1, 2])
    _put(folder / "t/k=2/b.parquet", k=[2, 2, 1, 1])
    return spark.read.parquet(str(folder / "t")).groupBy("k").agg(_ids())


def read_in_two_ways(spark: SparkSession, folder: Path) -> DataFrame:
    for part in ("1", "02", "__HIVE_DEFAULT_PARTITION__"):
        _put(folder / f"t/k={part}/{len(part)}.parquet", s=["a", "b", "a", "b"])
    alone = spark.read.parquet(str(folder / "t/k=1")).groupBy("s").agg(_ids()).select("ids")
    return alone.union(spark.read.parquet(str(folder / "t")).groupBy("k").agg(_ids()).select("ids"))


def nothing(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/a.parquet", s=["a", "b", "a", "b"])
    return spark.read.parquet(str(folder / "t")).where("s = 'none'").groupBy().agg(_ids())


def no_such_column(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/a.parquet", s=["a", "b", "a", "b"])
    return spark.read.schema("id bigint, s string, z int").parquet(str(folder / "t")).groupBy("z").agg(_ids())


def one_file_lacks_it(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/a.parquet", z=[1, 2, 1, None])
    _put(folder / "t/b.parquet", s=["a", "b", "a", "b"])
    return spark.read.schema("id bigint, z bigint").parquet(str(folder / "t")).where("z is null or not (z in (2))").groupBy("z").agg(_ids())


def one_file_lacks_the_text(spark: SparkSession, folder: Path) -> DataFrame:
    _put(folder / "t/a.parquet", s=["a", "b", "a", None])  # a record of a file with the column, or without it, identifies the group of null
    _put(folder / "t/b.parquet", z=[1, 2, 1, 2])
    read = spark.read.schema("id bigint, s string, z bigint").parquet(str(folder / "t"))
    grouped = read.groupBy("s").agg(_ids()).select("ids")
    return grouped.union(read.where("z > 0").groupBy("s", "z").agg(_ids()).select("ids"))


_EXACT = [
    two_cases, another_escape, brackets, default_value, partition_in_the_file, read_in_two_ways, nothing, no_such_column, one_file_lacks_it,
    one_file_lacks_the_text,
]  # fmt: skip


@pytest.mark.parametrize("program", [*_EXACT, bytes_as_text, place_hidden, place_hidden_from_the_schema, old_calendar])
def test_lineage_is_right_or_said_to_lack(
    laboratory: Laboratory, tmp_path: Path, program: Callable[[SparkSession, Path], DataFrame]
) -> None:
    spark, out = laboratory.spark, tmp_path / "out"
    try:
        frame = program(spark, tmp_path)
        assert laboratory.bridge.flush(PATIENTLY)
        laboratory.bridge.drain(0)
        frame.coalesce(1).write.parquet(str(out))
        laboratory.publish(laboratory.captured())
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    (path,) = (path for path in out.glob("*.parquet"))
    rows = pq.ParquetFile(path).read().to_pylist()
    assert rows
    for place, row in enumerate(rows):
        answer = laboratory.ask(out, (f"file:{path}", place), Semantics.INFLUENCE)
        assert answer.exact == (program in _EXACT), answer.incomplete
        found = _found(answer)
        assert found == sorted(row["ids"]) if answer.exact else not found


def test_a_witness_is_not_chosen_by_bytes_that_spark_read_as_text(laboratory: Laboratory, tmp_path: Path) -> None:
    spark, out = laboratory.spark, tmp_path / "out"
    _put(tmp_path / "t/a.parquet", s=[b"z", "é".encode(), b"a", b"b"])  # DuckDB writes the bytes of the é as text that begins with a slash
    spark.read.schema("id bigint, s string").parquet(str(tmp_path / "t")).groupBy().agg(f.max("s")).coalesce(1).write.parquet(str(out))
    laboratory.publish(laboratory.captured())
    (path,) = (path for path in out.glob("*.parquet"))
    assert pq.ParquetFile(path).read().to_pylist() == [{"max(s)": "é"}]
    answer = laboratory.ask(out, (f"file:{path}", 0), Semantics.WITNESS)
    assert not answer.exact
    assert _found(answer) == [0, 1, 2, 3]
    assert [entry.effect for entry in answer.incomplete] == ["superset"]


def test_a_witness_is_chosen_by_the_pattern_as_spark_reads_it(laboratory: Laboratory, tmp_path: Path) -> None:
    spark, out = laboratory.spark, tmp_path / "out"
    _put(tmp_path / "t/a.parquet", s=["abc", "a%c", "abbc", "a%c"])
    chosen = f.expr("max(CASE WHEN s LIKE 'a!%c' ESCAPE '!' THEN s END)")
    spark.read.parquet(str(tmp_path / "t")).groupBy().agg(chosen.alias("s")).coalesce(1).write.parquet(str(out))
    laboratory.publish(laboratory.captured())
    (path,) = (path for path in out.glob("*.parquet"))
    answer = laboratory.ask(out, (f"file:{path}", 0), Semantics.WITNESS)
    assert not answer.exact or _found(answer) == [1]
    assert 1 in _found(answer)


def test_a_witness_is_not_chosen_by_what_a_file_lacks_and_the_table_has_a_default_for(laboratory: Laboratory, tmp_path: Path) -> None:
    spark, out = laboratory.spark, tmp_path / "out"
    spark.sql(f"CREATE TABLE given (id BIGINT) USING parquet LOCATION '{tmp_path}/t'")
    spark.sql("INSERT INTO given VALUES (0)")
    spark.sql("ALTER TABLE given ADD COLUMN c INT DEFAULT 50")
    spark.sql("INSERT INTO given VALUES (1, 5)")
    frame = spark.table("given").groupBy().agg(f.max("c").alias("c"))
    assert laboratory.bridge.flush(PATIENTLY)
    laboratory.bridge.drain(0)
    frame.coalesce(1).write.parquet(str(out))
    laboratory.publish(laboratory.captured())
    (path,) = (path for path in out.glob("*.parquet"))
    assert pq.ParquetFile(path).read().to_pylist() == [{"c": 50}]
    answer = laboratory.ask(out, (f"file:{path}", 0), Semantics.WITNESS)
    assert 0 in _found(answer)
    assert [entry.effect for entry in answer.incomplete] == ["superset"]


def by_case(spark: SparkSession, folder: Path) -> DataFrame:
    spark.conf.set("spark.sql.caseSensitive", "true")
    _put(folder / "t/a.parquet", K=[9, 8, 7, 6])
    _put(folder / "t/b.parquet", k=[1, 2, 3, 0])
    return spark.read.schema("id bigint, k bigint").parquet(str(folder / "t")).groupBy().agg(f.max("k"))


def by_field_id(spark: SparkSession, folder: Path) -> DataFrame:
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    (folder / "t").mkdir()
    numbers = [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(place)}) for place, name in enumerate(("id", "k", "j"))]
    pq.write_table(pa.table([[0, 1, 2], [7, 9, 8], [3, 1, 2]], schema=pa.schema(numbers)), folder / "t/a.parquet")
    fields = [StructField(name, LongType(), metadata={"parquet.field.id": place}) for place, name in ((0, "id"), (1, "j"))]
    return spark.read.schema(StructType(fields)).parquet(str(folder / "t")).groupBy().agg(f.max("j"))


@pytest.mark.parametrize(("program", "most", "witness"), [(by_case, 3, 12), (by_field_id, 9, 1)])
def test_a_witness_is_not_chosen_by_another_column_than_spark_read(
    laboratory: Laboratory, tmp_path: Path, program: Callable[[SparkSession, Path], DataFrame], most: int, witness: int
) -> None:
    spark, out = laboratory.spark, tmp_path / "out"
    try:
        program(spark, tmp_path).coalesce(1).write.parquet(str(out))
        laboratory.publish(laboratory.captured())
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
        spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")
    (path,) = (path for path in out.glob("*.parquet"))
    (row,) = pq.ParquetFile(path).read().to_pylist()
    assert list(row.values()) == [most]
    answer = laboratory.ask(out, (f"file:{path}", 0), Semantics.WITNESS)
    assert witness in _found(answer)
    assert [entry.effect for entry in answer.incomplete] == ["superset"]


def test_values_are_not_read_where_a_column_hides_the_place(laboratory: Laboratory, tmp_path: Path) -> None:
    spark, out = laboratory.spark, tmp_path / "out"
    _put(tmp_path / "t/a.parquet", s=["a", "b", "c", "d"], file_row_number=[3, 2, 1, 0])
    spark.read.schema("id bigint, s string").parquet(str(tmp_path / "t")).where("s = 'a'").coalesce(1).write.parquet(str(out))
    laboratory.publish(laboratory.captured())
    (path,) = (path for path in out.glob("*.parquet"))
    asked = TraceRequest(dataset=str(out), rows=[(f"file:{path}", 0)])
    answer = asyncio.run(trace(None, laboratory.store, TENANT, asked))
    assert _found(answer) == [0]
    assert [(record.row, dict(record.values)) for record in answer.records] == [(0, {})]
    assert [entry.effect for entry in answer.incomplete] == ["unreadable"]


def _ids() -> Any:
    return f.collect_list("id").alias("ids")


def _put(path: Path, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    first = 10 * len(list(path.parent.parent.rglob("*.parquet")))
    pq.write_table(pa.table({"id": pa.array(range(first, first + 4), pa.int64()), **columns}), path)


def _found(answer: TraceAnswer) -> list[int]:
    records = [record for record in answer.records if record.file is not None]
    return sorted(_id(str(record.file), record.row or 0) for record in records)


def _id(uri: str, row: int) -> int:
    value = pq.ParquetFile(uri.removeprefix("file:")).read(["id"])["id"][row].as_py()
    assert isinstance(value, int)
    return value
