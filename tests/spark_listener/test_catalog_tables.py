"""Tables of Spark's and Hive's catalog: one dataset each, by its folder, however it is written and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.backend.cli.command import headwater
from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

PROGRAM = """
    import os
    from pyspark.sql import SparkSession

    here = os.getcwd()
    spark = (
        SparkSession.builder.appName("tables").master("local[2]").enableHiveSupport()
        .config("spark.sql.warehouse.dir", here + "/warehouse")
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={here}/metastore;create=true")
        .config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.range(12).selectExpr("id", "id % 3 AS k", "concat('n', id) AS name").coalesce(1).write.parquet("source")
    rows = spark.read.parquet("source")
    rows.createOrReplaceTempView("rows")

    rows.write.saveAsTable("saved")
    rows.write.insertInto("saved")
    rows.write.partitionBy("k").saveAsTable("parted")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    rows.filter("k = 1").select("id", "name", "k").write.insertInto("parted", overwrite=True)
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    rows.write.bucketBy(2, "k").sortBy("id").saveAsTable("bucketed")
    rows.writeTo("written_to").using("parquet").create()
    spark.sql("CREATE TABLE selected USING parquet AS SELECT * FROM rows WHERE id > 3")
    spark.sql("CREATE DATABASE other")
    spark.sql("CREATE TABLE other.outside (id BIGINT, k BIGINT, name STRING) USING parquet LOCATION '" + here + "/elsewhere'")
    spark.sql("INSERT INTO other.outside SELECT * FROM rows")
    spark.sql("CREATE TABLE hive_parquet (id BIGINT, name STRING) PARTITIONED BY (k BIGINT) STORED AS PARQUET")
    spark.sql("INSERT OVERWRITE TABLE hive_parquet PARTITION (k) SELECT id, name, k FROM rows")
    spark.sql("CREATE TABLE hive_selected STORED AS PARQUET AS SELECT * FROM rows")
    spark.sql("CREATE TABLE hive_orc (id BIGINT, k BIGINT, name STRING) STORED AS ORC")
    spark.sql("INSERT INTO hive_orc SELECT * FROM rows")
    spark.sql("CREATE TABLE hive_text (id BIGINT, k BIGINT, name STRING) STORED AS TEXTFILE")
    spark.sql("INSERT INTO hive_text SELECT * FROM rows")
    spark.sql("CREATE TABLE before USING parquet AS SELECT * FROM rows")
    spark.sql("ALTER TABLE before RENAME TO renamed")
    spark.sql("CREATE VIEW seen AS SELECT id, name FROM saved WHERE id > 5")

    tables = "saved parted bucketed written_to selected other.outside hive_parquet hive_selected hive_orc hive_text seen renamed"
    for name in tables.split():
        spark.table(name).write.parquet("read/" + name)
    spark.read.parquet("warehouse/saved").write.parquet("read/by_path")
    spark.sql("SELECT * FROM parquet.`" + here + "/warehouse/hive_parquet`").write.parquet("read/by_path_in_sql")
"""
RECORDS = ["saved", "parted", "bucketed", "written_to", "selected", "hive_parquet", "hive_selected", "hive_orc"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    script(folder, "tables.py", PROGRAM)
    done = run(["-m", "headwater", "run", "--home", "home", "tables.py"], folder, environment(root))
    assert done.returncode == 0, done.stderr
    return folder


def _ends(folder: Path) -> list[dict[str, Any]]:
    return [event for event in logged(folder / "home") if event["eventType"] == "COMPLETE"]


def _writing(folder: Path, name: str) -> list[dict[str, Any]]:
    """The events that wrote rows: CREATE TABLE reads nothing."""
    return [event for event in _ends(folder) if event["inputs"] and event["outputs"] and event["outputs"][0]["name"] == f"{folder}/{name}"]


def _symlinks(dataset: dict[str, Any]) -> list[tuple[str, str]]:
    return [(link["namespace"], link["name"]) for link in dataset["facets"].get("symlinks", {"identifiers": []})["identifiers"]]


@pytest.mark.parametrize("name", [*RECORDS, "hive_text"])
def test_a_table_is_the_dataset_of_its_folder_for_who_writes_it_and_who_reads_it(ran: Path, name: str) -> None:
    written = _writing(ran, f"warehouse/{name}")
    assert len(written) == (2 if name in ("saved", "parted") else 1)
    assert {event["inputs"][0]["name"] for event in written} == {f"{ran}/source"}
    (reader,) = _writing(ran, f"read/{name}")
    (read,) = reader["inputs"]
    assert (read["namespace"], read["name"]) == ("file", f"{ran}/warehouse/{name}")
    assert _symlinks(read) == [(f"file:{ran}/warehouse", f"default.{name}")]
    assert read["inputFacets"]["inputStatistics"]["rowCount"] == {"saved": 24, "selected": 8}.get(name, 12)
    status = "refused" if name == "hive_text" else "complete"
    assert {event["run"]["facets"]["headwater_capture"]["status"] for event in (*written, reader)} == {status}


def test_a_table_of_another_database_and_folder_is_named_by_both(ran: Path) -> None:
    (reader,) = _writing(ran, "read/other.outside")
    (read,) = reader["inputs"]
    assert (read["name"], _symlinks(read)) == (f"{ran}/elsewhere", [(f"file:{ran}/warehouse", "other.outside")])
    (writer,) = _writing(ran, "elsewhere")
    assert _symlinks(writer["outputs"][0]) == _symlinks(read)


@pytest.mark.parametrize(
    ("reader", "table"), [("by_path", "saved"), ("by_path_in_sql", "hive_parquet"), ("seen", "saved")], ids=["path", "path in SQL", "view"]
)
def test_a_table_that_is_read_by_its_path_or_by_a_view_is_the_same_dataset(ran: Path, reader: str, table: str) -> None:
    (event,) = _writing(ran, f"read/{reader}")
    assert [dataset["name"] for dataset in event["inputs"]] == [f"{ran}/warehouse/{table}"]


def test_what_hive_writes_keeps_its_columns(ran: Path) -> None:
    (event,) = _writing(ran, "warehouse/hive_text")
    (output,) = event["outputs"]
    assert output["facets"]["storage"]["fileFormat"] == "hive text"
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == ["id", "k", "name"]
    assert output["facets"]["columnLineage"]["fields"]["name"]["inputFields"][0]["field"] == "name"


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_traced_through_tables(ran: Path, name: str) -> None:
    asked = ("trace", f"{ran}/read/{name}", "--where", "id = 7", "--to", f"{ran}/source", "--home", str(ran / "home"), "-f", "json")
    told = json.loads(headwater(*asked).stdout)
    assert told["exact"] is True
    # The twofold table holds it twice; the partition that was overwritten once more, once.
    assert {(record["dataset"], record["row"], record["values"]["name"]) for record in told["records"]} == {(f"{ran}/source", 7, "n7")}


def test_records_behind_a_table_that_was_renamed_are_followed(ran: Path) -> None:
    asked = ("trace", f"{ran}/read/renamed", "--where", "id = 7", "--to", f"{ran}/source", "--home", str(ran / "home"), "-f", "json")
    answer = json.loads(headwater(*asked).stdout)
    assert answer["exact"] is True, answer["incomplete"]
    assert [(record["dataset"], record["grain"], record["values"]["id"]) for record in answer["records"]] == [
        (f"{ran}/source", "record", 7)
    ]


def test_what_is_behind_a_table_that_is_not_followed_is_known_by_dataset(ran: Path) -> None:
    asked = ("lineage", f"{ran}/read/hive_text", "--direction", "upstream", "--home", str(ran / "home"), "-f", "json")
    told = headwater(*asked).stdout
    assert f"{ran}/warehouse/hive_text" in told
    assert f"{ran}/source" in told
