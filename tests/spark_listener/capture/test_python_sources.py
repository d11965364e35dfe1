"""Data sources that are written in Python: a row is known by its partition and its rank there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pyspark_datasource = pytest.importorskip("pyspark.sql.datasource")  # from Spark 4.0 on

from pyspark.sql import SparkSession  # noqa: E402 - the skip above is for this module as a whole
from pyspark.sql import functions as f  # noqa: E402

from tests.spark_listener.capture.test_local import places  # noqa: E402

pytestmark = pytest.mark.spark


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Path:
    """Register the source `counted`, whose partitions have ten rows each. Return the file with the calls that it received."""
    log = tmp_path / "log"
    partition, reader, source = (
        pyspark_datasource.InputPartition, pyspark_datasource.DataSourceReader, pyspark_datasource.DataSource,
    )  # fmt: skip

    def note(what: str) -> None:
        with log.open("a") as lines:
            lines.write(f"{what}\n")

    class Reader(reader):  # type: ignore[misc, valid-type]
        def __init__(self, parts: int) -> None:
            self.parts = parts

        def partitions(self) -> list[Any]:
            note("partitions")
            return [partition(part) for part in range(self.parts)]

        def read(self, part: Any) -> Any:
            note(f"read {part.value}")
            for n in range(part.value * 10, part.value * 10 + 10):
                yield (n, n % 3, None if n % 4 == 0 else f"s{n}")

    class Counted(source):  # type: ignore[misc, valid-type]
        @classmethod
        def name(cls) -> str:
            return "counted"

        def schema(self) -> str:
            return "n int, k int, s string"

        def reader(self, schema: Any) -> Any:
            del schema
            return Reader(int(self.options["parts"]))

    spark.dataSource.register(Counted)
    return log


def counted(spark: SparkSession, parts: int) -> Any:
    return spark.read.format("counted").option("parts", parts).load()


def place_of(n: int) -> tuple[str, int]:
    return f"0/{n // 10}", n % 10


@pytest.mark.parametrize("aqe", [True, False])
def test_a_row_is_known_by_its_partition_and_its_rank(spark: SparkSession, write: Any, conf: Any, source: Path, aqe: bool) -> None:
    conf(adaptive__enabled=aqe)
    captured = write(counted(spark, 3).where("n > 4 AND s IS NOT NULL").selectExpr("n", "upper(s) AS t"))
    assert captured.capture["status"] == "complete"
    assert places(captured, "n") == {(n,): [[place_of(n)]] for n in range(5, 30) if n % 4}
    (read,) = captured.capture["sources"]
    assert (read["format"], len(read["files"])) == ("local", 3)
    assert [column["name"] for column in read["columns"]] == ["n", "k", "s"]
    assert source.exists()


def test_groups_joins_and_windows_over_such_rows(spark: SparkSession, write: Any, source: Path) -> None:
    rows = counted(spark, 2)
    sums = write(rows.groupBy("k").agg(f.sum("n").alias("total")))
    assert places(sums, "k") == {(k,): [sorted(place_of(n) for n in range(20) if n % 3 == k)] for k in range(3)}
    joined = write(rows.alias("a").join(rows.alias("b"), f.expr("a.n = b.n + 10")).selectExpr("a.n", "b.n AS before"))
    found = places(joined, "n")
    assert sorted(found) == [(n,) for n in range(10, 20)]
    for (n,), (records,) in found.items():
        assert sorted(place.partition("/")[2] + f":{row}" for place, row in records) == [f"0:{n - 10}", f"1:{n - 10}"]
    assert len(joined.capture["sources"]) == 2, "each scan reads for itself, and may be given other rows"
    assert source.exists()


def test_the_source_is_asked_as_often_as_without_capture(spark: SparkSession, write: Any, source: Path, tmp_path: Path) -> None:
    asked = []
    for run in ("captured", "plain"):
        source.unlink(missing_ok=True)
        frame = counted(spark, 3).repartition(2).sort("n")
        if run == "captured":
            out = write(frame).out
        else:
            optimizer = spark._jsparkSession.experimental()
            rules = optimizer.extraOptimizations()
            getattr(optimizer, "extraOptimizations_$eq")(rules.take(0))
            try:
                frame.write.parquet(str(tmp_path / "plain"))
            finally:
                getattr(optimizer, "extraOptimizations_$eq")(rules)
            out = tmp_path / "plain"
        asked.append((Counter(source.read_text().split("\n")), sorted(map(tuple, spark.read.parquet(str(out)).collect()))))
    assert asked[0] == asked[1]


def test_a_source_without_partitions_or_rows(spark: SparkSession, write: Any, source: Path) -> None:
    captured = write(counted(spark, 1).where("n < 0"))
    assert (captured.capture["status"], places(captured, "n")) == ("complete", {})
    assert source.exists()
