"""LOAD DATA of Hive: a run that reads the files and writes the table, named, since nothing of it is a query."""

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
    spark = (
        SparkSession.builder.appName("load").enableHiveSupport().config("spark.sql.warehouse.dir", here + "/warehouse")
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={here}/metastore;create=true").getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for folder in ("in", "more"):
        os.mkdir(folder)
        for name in ("one.csv", "two.csv"):
            with open(f"{folder}/{name}", "w") as file:
                file.write("1,a\\n2,b\\n")
    form = " ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"
    spark.sql("CREATE TABLE t (id INT, name STRING)" + form)
    spark.sql("CREATE TABLE p (id INT, name STRING) PARTITIONED BY (k INT)" + form)
    spark.sql("LOAD DATA LOCAL INPATH 'in/one.csv' INTO TABLE t")
    spark.sql("LOAD DATA LOCAL INPATH 'in/*.csv' OVERWRITE INTO TABLE t")
    spark.sql("LOAD DATA INPATH 'file:" + here + "/more' INTO TABLE t")
    spark.sql("LOAD DATA LOCAL INPATH 'in/two.csv' OVERWRITE INTO TABLE p PARTITION (k = 7)")
    try:
        spark.sql("LOAD DATA LOCAL INPATH 'nowhere.csv' INTO TABLE t")
    except Exception as error:
        print(type(error).__name__)
    spark.sql("SELECT id FROM t").write.mode("append").parquet("out")
    spark.sql("SELECT id FROM t").write.mode("append").parquet("out")
    spark.table("p").write.mode("append").partitionBy("k").parquet("parts")
    stream = spark.readStream.text("in").writeStream.option("checkpointLocation", "checkpoint").trigger(availableNow=True)
    stream.toTable("streamed").awaitTermination()
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("load")
    script(folder, "load.py", PROGRAM)
    done = run(["-m", "headwater", "run", "--home", "home", "--mode", "auto", "load.py"], folder, environment(root))
    assert (done.returncode, done.stdout) == (0, "AnalysisException\n"), done.stderr
    return folder


def _ends(folder: Path, job: str) -> list[dict[str, Any]]:
    return [event for event in logged(folder / "home") if event["eventType"] in ("COMPLETE", "FAIL") and event["job"]["name"] == job]


def _change(dataset: dict[str, Any]) -> str | None:
    change: str | None = dataset["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange")
    return change


def test_loading_files_reads_them_and_writes_the_table(ran: Path) -> None:
    events = _ends(ran, "load.execute_load_data_command.t")
    told = [
        (event["eventType"], [item["name"] for item in event["inputs"]], [_change(item) for item in event["outputs"]]) for event in events
    ]
    assert told == [
        ("COMPLETE", [f"{ran}/in/one.csv"], [None]),
        ("COMPLETE", [f"{ran}/in"], ["OVERWRITE"]),
        ("COMPLETE", [f"{ran}/more"], [None]),
        ("FAIL", [f"{ran}/nowhere.csv"], [None]),
    ]
    (output,) = events[0]["outputs"]
    assert (output["name"], output["facets"]["symlinks"]["identifiers"][0]["name"]) == (f"{ran}/warehouse/t", "default.t")
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == ["id", "name"]
    ledgers = [event["run"]["facets"]["headwater_capture"] for event in events]
    assert [ledger["status"] for ledger in ledgers] == ["refused"] * 4
    assert ledgers[0]["problems"][0]["operator"] == "LoadDataCommand"
    (partition,) = _ends(ran, "load.execute_load_data_command.p")
    assert partition["outputs"][0]["outputFacets"]["subset"]["outputCondition"]["partitions"] == [{"dimensions": {"k": "7"}}]


def test_the_first_append_to_a_path_creates_it(ran: Path) -> None:
    of = "load.execute_insert_into_hadoop_fs_relation_command"
    assert [_change(event["outputs"][0]) for event in _ends(ran, f"{of}.out")] == ["CREATE", None]
    assert [_change(event["outputs"][0]) for event in _ends(ran, f"{of}.parts")] == ["CREATE"]


def test_a_table_of_files_that_a_stream_writes_is_known_by_its_name(ran: Path) -> None:
    (event,) = _ends(ran, "load.stream.streamed")
    (output,) = event["outputs"]
    assert (output["name"], output["facets"]["symlinks"]["identifiers"][0]["name"]) == (f"{ran}/warehouse/streamed", "default.streamed")
    assert output["facets"]["catalog"]["name"] == "spark_catalog"
