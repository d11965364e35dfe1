"""A Spark without support: the program runs unchanged, its queries are known by dataset, and answers name the unknown parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]

PROGRAM = """
    import headwater.spark_listener.capture.jar as jar
    jar.lines = lambda: ("9.9",)  # so that this Spark is not among them
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.getOrCreate()
    spark.range(20).selectExpr("id", "id % 3 AS k").write.parquet("in")
    rows = spark.read.parquet("in")
    rows.createOrReplaceTempView("rows")
    rows.filter("id > (SELECT avg(id) FROM rows)").groupBy("k").count().write.mode("overwrite").csv("out")
    spark.sql("CREATE TABLE kept USING parquet AS SELECT * FROM rows")
    spark.sql("INSERT INTO kept SELECT id, k FROM rows")
    try:
        rows.write.parquet("out")
    except Exception as error:
        print(type(error).__name__)
    spark.sparkContext.textFile("out").map(len).saveAsTextFile("lengths")
    headwater = __import__("headwater")
    try:
        headwater.lineage(rows)
    except headwater.HeadwaterError as error:
        print(type(error).__name__)
    print(spark.table("kept").count())
"""


@pytest.mark.parametrize("mode", ["active", pytest.param("coarse", marks=pytest.mark.torture)])
def test_queries_are_known_by_dataset_and_the_summary_says_why(mode: str, tmp_path: Path, root: Path) -> None:
    """In coarse, where nothing else would be known anyway, in the torture."""
    script(tmp_path, "job.py", PROGRAM)
    home = tmp_path / "home"
    done = run(["-m", "headwater", "run", "--home", str(home), "--mode", mode, "job.py"], tmp_path, environment(root))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "AnalysisException\nCaptureUnavailableError\n40\n"
    assert "turned itself off" not in done.stderr
    assert "refused, so known by dataset only: capture: records and columns are followed on Spark 9.9 alone; this is Spark" in done.stderr
    events = [event for event in logged(home) if event["eventType"] == "COMPLETE"]
    assert [made(event, tmp_path) for event in events if event["outputs"]] == [
        ([], ["in"]),
        (["in"], ["out"]),
        (["in"], ["spark-warehouse/kept"]),
        (["in"], ["spark-warehouse/kept"]),
        (["out"], ["lengths"]),
    ]
    assert logged(home, "capture") == []


def made(event: dict[str, Any], folder: Path) -> tuple[list[str], list[str]]:
    """The inputs and outputs of a run, below a folder."""
    return tuple([str(Path(one["name"]).relative_to(folder)) for one in event[side]] for side in ("inputs", "outputs"))  # type: ignore[return-value]
