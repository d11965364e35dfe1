"""Events describe an application and the inputs of its queries: by allow-lists, and as Spark counted them, in every mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.appName("counted").config("spark.hadoop.fs.s3a.secret.key", "hunter2").config("spark.team.name", "wind")
        .config("spark.team.token", "hunter2")
        .config("spark.openlineage.capturedProperties", "spark.team.name,spark.team.token").getOrCreate()
    )
    spark.range(10).write.parquet("ten")
    spark.range(1000).selectExpr("id", "id % 3 AS k").write.partitionBy("k").parquet("parted")
    ten, parted = spark.read.parquet("ten"), spark.read.parquet("parted")
    parted.filter("k = 1").join(ten, "id").write.parquet("joined")
    ten.union(ten).agg({"id": "max"}).write.parquet("twice")
    spark.read.parquet("ten", "joined").write.parquet("both")
    ten.filter("id < 3").collect()
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", [pytest.param("coarse", marks=pytest.mark.torture), "auto"])
def test_what_was_read_is_counted_and_the_application_is_described(mode: str, tmp_path: Path, root: Path) -> None:
    script(tmp_path, "counted.py", PROGRAM)
    env = environment(root, AIRFLOW_CTX_EXECUTION_DATE="2026-03-01T06:00:00+02:00", TZ="UTC")
    done = run(["-m", "headwater", "run", "--home", "home", "--mode", mode, "counted.py"], tmp_path, env)
    assert done.returncode == 0, done.stderr
    events = logged(tmp_path / "home")
    read = {
        event["job"]["name"].rpartition(".")[2]: _read(event) for event in events if event["eventType"] == "COMPLETE" and event["inputs"]
    }
    assert read["joined"] == {"parted": 333, "ten": 10}
    assert read["twice"] == {"ten": 20}
    assert read["both"] == {"ten": None, "joined": None}
    assert [rows for name, rows in read.items() if name not in ("joined", "twice", "both")] == [
        {"ten": 5}
    ]  # of two files, one holds no such row
    start = next(event for event in events if event["eventType"] == "START" and event["job"]["name"] == "counted")
    facets = start["run"]["facets"]
    assert facets["spark_properties"]["properties"]["spark.master"] == "local[2]"
    assert facets["spark_properties"]["properties"]["spark.team.name"] == "wind"
    assert facets["spark_applicationDetails"]["applicationId"].startswith("local-")
    assert facets["spark_applicationDetails"]["userName"]
    assert facets["nominalTime"]["nominalStartTime"] == "2026-03-01T04:00:00.000000Z"
    assert {"name": "TZ", "value": "UTC"} in facets["environmentVariables"]["environmentVariables"]
    assert "hunter2" not in str(events)


def _read(event: dict[str, Any]) -> dict[str, int | None]:
    return {Path(item["name"]).name: (item.get("inputFacets") or {}).get("inputStatistics", {}).get("rowCount") for item in event["inputs"]}
