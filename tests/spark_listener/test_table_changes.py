"""Commands that make, change and drop tables are runs with the kind of the change, and no runs if nothing changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.openlineage_schemas import faults_of
from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
    import os
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

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
    spark.sql("CREATE TABLE filled USING parquet AS SELECT 1 AS one")
    spark.sql("CREATE TABLE IF NOT EXISTS filled USING parquet AS SELECT 2 AS one")
    spark.sql("SELECT 3 AS one").write.mode("append").saveAsTable("filled")
    spark.range(3).write.mode("overwrite").saveAsTable("filled")
    spark.range(3).writeTo("written").using("parquet").create()
    spark.sql("DROP TABLE written")
    spark.range(3).write.saveAsTable("written")
    spark.range(6).selectExpr("id", "id % 2 AS k").write.partitionBy("k").saveAsTable("parts")
    metrics = f.count("*").alias("n"), f.max("id").alias("m"), f.expr("bool_and(id > 0)").alias("whole")
    observed = spark.table("parts").observe("seen", *metrics)
    observed.select("id").write.parquet("observed")
    spark.table("parts").filter("k = 1").write.parquet("part")
    spark.table("parts").selectExpr(" + ".join(["id"] * 450) + " AS deep").write.parquet("deep")
    spark.sql("INSERT OVERWRITE parts PARTITION (k = 1) SELECT 7 AS id")
    FAILING = "CREATE TABLE unmade USING parquet AS SELECT raise_error(CAST(id AS STRING)) AS one FROM range(3)"
    for wrong in ("CREATE TABLE p (id BIGINT) USING parquet", "DROP TABLE nowhere", "ALTER TABLE p ADD COLUMNS (k INT)", FAILING):
        try:
            spark.sql(wrong)
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", [pytest.param("coarse", marks=pytest.mark.torture), "auto"])
def test_what_became_of_a_table_is_told(mode: str, tmp_path: Path, root: Path) -> None:
    script(tmp_path, "ddl.py", PROGRAM)
    done = run(["-m", "headwater", "run", "--home", "home", "--mode", mode, "ddl.py"], tmp_path, environment(root))
    assert done.returncode == 0, done.stderr
    events = logged(tmp_path / "home")
    told = [_told(event, tmp_path) for event in events if event["eventType"] in ("COMPLETE", "FAIL") and event["job"]["name"] != "ddl"]
    assert done.stdout.split()[:3] == ["AnalysisException"] * 3
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
        ("COMPLETE", "warehouse/filled", "CREATE", None),
        ("COMPLETE", "warehouse/filled", None, None),
        ("COMPLETE", "warehouse/filled", "OVERWRITE", None),
        ("COMPLETE", "warehouse/written", "CREATE", None),
        ("COMPLETE", "warehouse/written", "DROP", None),
        ("COMPLETE", "warehouse/written", "CREATE", None),
        ("COMPLETE", "warehouse/parts", "CREATE", None),
        ("COMPLETE", "observed", "CREATE", None),
        ("COMPLETE", "part", "CREATE", None),
        ("COMPLETE", "deep", "CREATE", None),
        ("COMPLETE", "warehouse/parts", "OVERWRITE", None),
        ("FAIL", "warehouse/p", None, None),
        ("FAIL", "default.nowhere", None, None),
        ("FAIL", "warehouse/p", None, None),
        ("FAIL", "warehouse/unmade", None, None),
    ]  # fmt: skip
    assert [fault for event in events for fault in faults_of(event)] == []
    ends = {_told(event, tmp_path)[1]: event for event in events if event["eventType"] == "COMPLETE"}
    read = ends["observed"]["inputs"][0]["inputFacets"]
    assert (read["dataQualityMetrics"]["rowCount"], read["dataQualityMetrics"]["columnMetrics"]) == (6, {"id": {"max": 5.0}})
    assert [(told["assertion"], told["success"]) for told in read["dataQualityAssertions"]["assertions"]] == [("whole", False)]
    assert ends["observed"]["outputs"][0]["facets"]["dataQualityMetrics"]["rowCount"] == 6
    asked = ends["part"]["inputs"][0]["inputFacets"]["subset"]["inputCondition"]
    assert (asked["comparison"], asked["left"]["field"], asked["right"]["value"]) == ("EQUAL", "k", "1")
    assert ends["part"]["inputs"][0]["name"] == f"{tmp_path}/warehouse/parts"  # not the folder of the partition
    assert ends["part"]["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 3
    assert ends["deep"]["outputs"][0]["facets"]["columnLineage"]["fields"]["deep"]["inputFields"][0]["field"] == "id"
    (last,) = ends["warehouse/parts"]["outputs"]
    assert last["outputFacets"]["subset"]["outputCondition"]["partitions"] == [{"dimensions": {"k": "1"}}]
    assert last["facets"]["catalog"]["name"] == "spark_catalog"
    assert [level["name"] for level in last["facets"]["hierarchy"]["hierarchy"]] == ["default", "parts"]
    altered = [event["outputs"][0]["facets"]["schema"]["fields"] for event in events if _told(event, tmp_path)[2] == "ALTER"]
    assert [field["name"] for field in altered[0]] == ["id", "name", "more"]
    assert "hunter2" not in str(events)
    statuses = {event["run"]["facets"]["headwater_capture"]["status"] for event in events if _told(event, tmp_path)[2] in ("ALTER", "DROP")}
    assert statuses <= {"off"}


def _told(event: dict[str, Any], folder: Path) -> tuple[str, str | None, str | None, str | None]:
    if not event["outputs"] or event["eventType"] == "START":
        return event["eventType"], None, None, None
    (output,) = event["outputs"]
    change = output["facets"].get("lifecycleStateChange") or {}
    previous = (change.get("previousIdentifier") or {}).get("name")
    within = previous and previous.removeprefix(f"{folder}/")
    return event["eventType"], output["name"].removeprefix(f"{folder}/"), change.get("lifecycleStateChange"), within
