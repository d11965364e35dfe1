"""Commands that make, change and drop tables are runs that say what became of the table, and say nothing where nothing happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
    import os
    from pyspark.sql import SparkSession

    here = os.getcwd()
    spark = SparkSession.builder.appName("ddl").config("spark.sql.warehouse.dir", here + "/warehouse").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("DROP TABLE IF EXISTS t")
    spark.sql("CREATE TABLE t (id BIGINT, name STRING) USING parquet")
    spark.sql("CREATE TABLE IF NOT EXISTS t (id BIGINT) USING parquet")
    spark.sql("CREATE TABLE IF NOT EXISTS absent (id BIGINT) USING parquet")
    spark.sql("INSERT INTO t VALUES (1, 'a')")
    spark.sql("ALTER TABLE t ADD COLUMNS (more INT)")
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('password' = 'hunter2')")
    spark.sql("TRUNCATE TABLE t")
    spark.sql("ALTER TABLE t RENAME TO u")
    spark.sql("CREATE TABLE gone (id BIGINT) USING parquet")
    spark.sql("INSERT INTO gone VALUES (1)")
    spark.sql("DROP TABLE gone")
    spark.sql("CREATE TABLE outside (id BIGINT) USING parquet LOCATION '" + here + "/elsewhere'")
    spark.sql("CREATE TABLE alike LIKE outside USING csv")
    spark.sql("DROP TABLE IF EXISTS outside")
    spark.sql("DROP TABLE IF EXISTS outside")
    spark.sql("CREATE VIEW v AS SELECT 1 AS one")
    spark.sql("DROP VIEW v")
    spark.sql("CREATE TABLE p (id BIGINT, k INT) USING parquet PARTITIONED BY (k)")
    spark.sql("ALTER TABLE p ADD PARTITION (k = 1)")
    spark.sql("TRUNCATE TABLE p PARTITION (k = 1)")
    for wrong in ("CREATE TABLE p (id BIGINT) USING parquet", "DROP TABLE nowhere", "ALTER TABLE p ADD COLUMNS (k INT)"):
        try:
            spark.sql(wrong)
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.mark.parametrize("mode", ["coarse", "auto"])
def test_what_became_of_a_table_is_told(mode: str, tmp_path: Path, root: Path) -> None:
    script(tmp_path, "ddl.py", PROGRAM)
    done = run(["-m", "headwater", "run", "--home", "home", "--mode", mode, "ddl.py"], tmp_path, environment(root))
    assert done.returncode == 0, done.stderr
    events = logged(tmp_path / "home")
    told = [_told(event, tmp_path) for event in events if event["eventType"] in ("COMPLETE", "FAIL") and event["job"]["name"] != "ddl"]
    assert done.stdout.split() == ["AnalysisException"] * 3
    assert told == [
        ("COMPLETE", "warehouse/t", "CREATE", None),
        ("COMPLETE", "warehouse/absent", "CREATE", None),
        ("COMPLETE", "warehouse/t", None, None),
        ("COMPLETE", "warehouse/t", "ALTER", None),
        ("COMPLETE", "warehouse/t", "ALTER", None),
        ("COMPLETE", "warehouse/t", "TRUNCATE", None),
        ("COMPLETE", "warehouse/u", "RENAME", "warehouse/t"),
        ("COMPLETE", "warehouse/gone", "CREATE", None),
        ("COMPLETE", "warehouse/gone", None, None),
        ("COMPLETE", "warehouse/gone", "DROP", None),
        ("COMPLETE", "elsewhere", "CREATE", None),
        ("COMPLETE", "warehouse/alike", "CREATE", None),
        ("COMPLETE", "elsewhere", "DROP", None),
        ("COMPLETE", "warehouse/p", "CREATE", None),
        ("COMPLETE", "warehouse/p", "ALTER", None),
        ("COMPLETE", "warehouse/p", "ALTER", None),
        ("FAIL", "warehouse/p", None, None),
        ("FAIL", "default.nowhere", None, None),
        ("FAIL", "warehouse/p", None, None),
    ]  # fmt: skip
    altered = [event["outputs"][0]["facets"]["schema"]["fields"] for event in events if _told(event, tmp_path)[2] == "ALTER"]
    assert [field["name"] for field in altered[0]] == ["id", "name", "more"]
    assert "hunter2" not in str(events)
    statuses = {event["run"]["facets"]["headwater_capture"]["status"] for event in events if _told(event, tmp_path)[2]}
    assert statuses <= {"off"}


def _told(event: dict[str, Any], folder: Path) -> tuple[str, str | None, str | None, str | None]:
    if not event["outputs"] or event["eventType"] == "START":
        return event["eventType"], None, None, None
    (output,) = event["outputs"]
    change = output["facets"].get("lifecycleStateChange") or {}
    previous = (change.get("previousIdentifier") or {}).get("name")
    within = previous and previous.removeprefix(f"{folder}/")
    return event["eventType"], output["name"].removeprefix(f"{folder}/"), change.get("lifecycleStateChange"), within
