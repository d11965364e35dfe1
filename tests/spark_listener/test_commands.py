"""Commands that read and write in another way than queries: each is one run with its inputs and outputs, or none without either."""

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
        SparkSession.builder.appName("app").enableHiveSupport().config("spark.sql.warehouse.dir", here + "/warehouse")
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={here}/metastore;create=true").getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("CREATE TABLE twice (id INT) USING parquet")
    spark.sql("CREATE TABLE other (name STRING) USING parquet")
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

    spark.sql("FROM t INSERT INTO twice SELECT id INSERT OVERWRITE other SELECT name WHERE id > 1")
    spark.sql(f"INSERT OVERWRITE LOCAL DIRECTORY '{here}/local'" + form + " SELECT * FROM t")
    spark.range(3).write.mode("ignore").parquet("kept")
    spark.range(5).write.mode("ignore").parquet("kept")
    assert len(list(spark.read.parquet("kept").toLocalIterator())) == 3
    for statement in (
        "CACHE TABLE t", "UNCACHE TABLE t", "CACHE TABLE c AS SELECT id FROM t", "UNCACHE TABLE c",
        "COMMENT ON TABLE t IS 'x'", "SHOW CREATE TABLE t",
        "CREATE VIEW v AS SELECT id FROM t", "ALTER VIEW v AS SELECT name FROM t", "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS id",
        f"SELECT * FROM csv.`{here}/in`", "DROP VIEW v",
    ):
        spark.sql(statement).collect()
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    script(folder, "app.py", PROGRAM)
    done = run(["-m", "headwater", "run", "--home", "home", "--mode", "auto", "app.py"], folder, environment(root))
    assert (done.returncode, done.stdout) == (0, "AnalysisException\n"), done.stderr
    return folder


def _ends(folder: Path, job: str) -> list[dict[str, Any]]:
    return [event for event in logged(folder / "home") if event["eventType"] in ("COMPLETE", "FAIL") and event["job"]["name"] == job]


def _change(dataset: dict[str, Any]) -> str | None:
    change: str | None = dataset["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange")
    return change


def test_loading_files_reads_them_and_writes_the_table(ran: Path) -> None:
    events = _ends(ran, "app.execute_load_data_command.t")
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
    (partition,) = _ends(ran, "app.execute_load_data_command.p")
    assert partition["outputs"][0]["outputFacets"]["subset"]["outputCondition"]["partitions"] == [{"dimensions": {"k": "7"}}]


def test_the_first_append_to_a_path_creates_it(ran: Path) -> None:
    of = "app.execute_insert_into_hadoop_fs_relation_command"
    assert [_change(event["outputs"][0]) for event in _ends(ran, f"{of}.out")] == ["CREATE", None]
    assert [_change(event["outputs"][0]) for event in _ends(ran, f"{of}.parts")] == ["CREATE"]


def test_a_table_of_files_that_a_stream_writes_is_known_by_its_name(ran: Path) -> None:
    (event,) = _ends(ran, "app.stream.streamed")
    (output,) = event["outputs"]
    assert (output["name"], output["facets"]["symlinks"]["identifiers"][0]["name"]) == (f"{ran}/warehouse/streamed", "default.streamed")
    assert output["facets"]["catalog"]["name"] == "spark_catalog"


def _sql(event: dict[str, Any]) -> str:
    text: str = event["job"]["facets"].get("sql", {}).get("query", "")
    return text


def _told(folder: Path, statement: str) -> list[tuple[str, list[str], list[str]]]:
    """The runs of a statement: how each ended, what it read and wrote."""
    return [
        (event["eventType"], *([item["name"].removeprefix(f"{folder}/") for item in event[side]] for side in ("inputs", "outputs")))
        for event in logged(folder / "home")
        if event["eventType"] in ("COMPLETE", "FAIL", "ABORT") and _sql(event).startswith(statement)
    ]


def test_a_statement_that_inserts_into_two_tables_writes_both(ran: Path) -> None:
    assert _told(ran, "FROM t INSERT") == [("COMPLETE", ["warehouse/t"], ["warehouse/twice", "warehouse/other"])]
    (event,) = [event for event in logged(ran / "home") if _sql(event).startswith("FROM t") and event["eventType"] == "COMPLETE"]
    assert [_change(output) for output in event["outputs"]] == [None, "OVERWRITE"]
    lineage = [output["facets"]["columnLineage"] for output in event["outputs"]]
    assert [list(part["fields"]) for part in lineage] == [["id"], ["name"]]
    assert [[item["field"] for item in part.get("dataset") or ()] for part in lineage] == [[], ["id"]]  # the filter is the second's alone
    assert [output["outputFacets"]["outputStatistics"]["rowCount"] for output in event["outputs"]] == [8, 4]
    (problem,) = event["run"]["facets"]["headwater_capture"]["problems"]
    assert (problem["operator"], problem["kind"]) == ("Union", "refused")


def test_a_folder_in_a_format_of_hive_is_written(ran: Path) -> None:
    assert _told(ran, "INSERT OVERWRITE LOCAL") == [("COMPLETE", ["warehouse/t"], ["local"])]


def test_a_write_that_found_something_and_left_it_alone_is_none(ran: Path) -> None:
    (event,) = _ends(ran, "app.execute_insert_into_hadoop_fs_relation_command.kept")
    assert (_change(event["outputs"][0]), event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"]) == ("CREATE", 3)


def test_rows_that_are_read_after_the_query_are_not_counted_as_none(ran: Path) -> None:
    (event,) = [event for event in logged(ran / "home") if event["eventType"] == "COMPLETE" and str(event["inputs"]).find("/kept'") > 0]
    assert "inputStatistics" not in event["inputs"][0]["inputFacets"]


@pytest.mark.parametrize("statement", ["CACHE", "UNCACHE", "SHOW", "CREATE VIEW", "ALTER VIEW", "DROP VIEW"])
def test_commands_that_read_no_rows_for_a_result_are_no_runs(ran: Path, statement: str) -> None:
    assert _told(ran, statement) == []


def test_commands_that_change_or_look_through_a_table_say_which(ran: Path) -> None:
    assert _told(ran, "COMMENT") == [("COMPLETE", [], ["warehouse/t"])]
    assert _told(ran, "ANALYZE") == [("COMPLETE", ["warehouse/t"], [])]


def test_looking_for_the_columns_of_files_in_sql_is_no_run(ran: Path) -> None:
    assert _told(ran, "SELECT * FROM csv") == [("COMPLETE", ["in"], [])]
