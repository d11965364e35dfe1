"""Tables of Delta and Iceberg, by their own connectors: what each command reads and writes, by place, name and snapshot; no harm done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest

from tests.lake import table_jars
from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]

# Each line is one action, in the order of the lines: its job is known by the events between two marks.
PROGRAM = """
    import json, os
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("tables").getOrCreate()
    sql, here = spark.sql, os.getcwd()
    spark.createDataFrame([(i, i % 3, f"n{i}") for i in range(6)], "id int, k int, s string").coalesce(1).write.parquet("raw")
    raw = spark.read.parquet("raw")
    raw.createOrReplaceTempView("r")
    more = raw.selectExpr("id + 10 id", "k", "s")
    MERGE = "MERGE INTO {} t USING r ON t.id = r.id WHEN MATCHED THEN UPDATE SET s = r.s WHEN NOT MATCHED THEN INSERT *"
    sets = {}

    def changes(table):
        sql(f"UPDATE {table} SET s = 'u' WHERE id = 1")
        sql(f"DELETE FROM {table} WHERE id = 2 OR id = 3")
        sql(MERGE.format(table))

    def rows(frame):
        return sorted([row.id, row.k, row.s] for row in frame.collect())

    delta = spark.read.format("delta")
    raw.write.format("delta").save("dt")
    more.write.format("delta").mode("append").save("dt")
    delta.load("dt").groupBy("k").count().write.parquet("from_delta")
    spark.read.format("delta").option("versionAsOf", 0).load("dt").write.parquet("from_delta_0")
    changes(f"delta.`{here}/dt`")
    sql(f"OPTIMIZE delta.`{here}/dt`")
    sets["delta"] = rows(spark.read.format("delta").load("dt"))
    sql(f"CREATE TABLE named USING delta AS SELECT * FROM delta.`{here}/dt`")
    sql("INSERT INTO named SELECT * FROM r")
    spark.table("named").write.parquet("from_named")
    raw.write.format("delta").mode("overwrite").save("dt")

    def snapshot():
        return sql("SELECT snapshot_id FROM lake.db.t.snapshots ORDER BY committed_at DESC").first()[0]

    raw.writeTo("lake.db.t").using("iceberg").create()
    first = snapshot()
    more.writeTo("lake.db.t").append()
    second = snapshot()
    spark.table("lake.db.t").groupBy("k").count().write.parquet("from_iceberg")
    sql(f"SELECT * FROM lake.db.t VERSION AS OF {first}").write.parquet("from_iceberg_first")
    changes("lake.db.t")
    sets["iceberg"] = rows(spark.table("lake.db.t"))
    sql("CALL lake.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))")
    raw.writeTo("lake.db.t").overwritePartitions()
    print(json.dumps({"sets": sets, "first": str(first), "second": str(second)}))
    spark.stop()
"""
CONNECTORS = {
    "sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "sql.catalog.lake.type": "hadoop",
    "databricks.delta.snapshotPartitions": "1",
}


class Lake(NamedTuple):
    """The effects of the program, and its lineage."""

    folder: Path
    told: dict[str, Any]
    events: list[dict[str, Any]]
    summary: str

    def jobs(self, operation: str) -> list[tuple[set[tuple[str, str | None]], set[str], dict[str, Any]]]:
        """The inputs with their versions, the outputs, and the event of each run of a job."""
        return [
            (
                {(self._name(dataset), _version(dataset)) for dataset in event["inputs"]},
                {self._name(dataset) for dataset in event["outputs"]},
                event,
            )
            for event in self.events
            if event["eventType"] == "COMPLETE" and event["job"]["name"] == f"tables.{operation}"
        ]

    def _name(self, dataset: dict[str, Any]) -> str:
        return f"{dataset['namespace']}:{dataset['name'].removeprefix(str(self.folder))}"


def _version(dataset: dict[str, Any]) -> str | None:
    facet = dataset["facets"].get("version")
    return facet and str(facet["datasetVersion"])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Lake:
    folder = tmp_path_factory.mktemp("tables")
    script(folder, "tables.py", PROGRAM)
    jars = ",".join(map(str, sorted(table_jars().glob("*.jar"))))
    options = {**CONNECTORS, "jars": jars, "sql.catalog.lake.warehouse": f"{folder}/lake", "sql.warehouse.dir": f"{folder}/warehouse"}
    listed = " ".join(f"--conf spark.{name}={value}" for name, value in options.items())
    env = environment(root)
    env["PYSPARK_SUBMIT_ARGS"] = env["PYSPARK_SUBMIT_ARGS"].replace("pyspark-shell", f"{listed} pyspark-shell")
    done = run(["-m", "headwater", "run", "--home", str(folder / "home"), "tables.py"], folder, env)
    assert done.returncode == 0, done.stderr[-3000:]
    return Lake(folder, json.loads(done.stdout.splitlines()[-1]), logged(folder / "home"), done.stderr)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_the_tables_hold_what_the_program_put_there(lake: Lake, kind: str) -> None:
    raw = [[i, i % 3, f"n{i}"] for i in range(6)]
    assert lake.told["sets"][kind] == raw + [[i + 10, k, s] for i, k, s in raw]  # MERGE undid what UPDATE and DELETE had done
    assert "turned off" not in lake.summary


def test_writes_by_path_read_and_write_what_they_do(lake: Lake) -> None:
    created, appended, overwritten = lake.jobs("execute_save_into_data_source_command.dt")
    for inputs, outputs, _ in (created, appended, overwritten):
        assert (inputs, outputs) == ({("file:/raw", None)}, {"file:/dt"})
    changes = [event["outputs"][0]["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") for _, _, event in
               (created, appended, overwritten)]  # fmt: skip
    assert changes == ["CREATE", None, "OVERWRITE"]
    (steps,) = created[2]["outputs"][0]["facets"]["columnLineage"]["fields"]["s"]["inputFields"]
    assert (steps["name"], steps["field"]) == (f"{lake.folder}/raw", "s")


@pytest.mark.parametrize(
    ("out", "table", "version"),
    [
        ("from_delta", "file:/dt", "1"),
        ("from_delta_0", "file:/dt", "0"),
        ("from_named", "file:/warehouse/named", "1"),
        ("from_iceberg", "file:/lake/db/t", "second"),
        ("from_iceberg_first", "file:/lake/db/t", "first"),
    ],
)
def test_a_read_names_the_snapshot_that_it_read(lake: Lake, out: str, table: str, version: str) -> None:
    ((inputs, _, event),) = lake.jobs(f"execute_insert_into_hadoop_fs_relation_command.{out}")
    assert inputs == {(table, lake.told.get(version, version))}
    (read,) = event["inputs"]
    assert read["inputFacets"]["inputStatistics"]["rowCount"] == {"from_named": 18, "from_delta_0": 6, "from_iceberg_first": 6}.get(out, 12)
    ledger = event["run"]["facets"]["headwater_capture"]
    assert ledger["status"] == "complete"


@pytest.mark.parametrize(
    ("command", "reads"), [("update", {"dt"}), ("delete", {"dt"}), ("merge_into", {"dt", "raw"}), ("optimize_table", {"dt"})]
)
def test_a_command_of_delta_reads_and_changes_its_table(lake: Lake, command: str, reads: set[str]) -> None:
    ((inputs, outputs, event),) = lake.jobs(f"execute_{command}_command.dt")
    assert {name for name, _ in inputs} == {f"file:/{name}" for name in reads}
    assert outputs == {"file:/dt"}
    ledger = event["run"]["facets"]["headwater_capture"]
    assert (ledger["status"], ledger["problems"]) == ("complete", [])
    assert outputs_version(event) == {"update": "2", "delete": "3", "merge_into": "4", "optimize_table": "5"}[command]


def outputs_version(event: dict[str, Any]) -> str | None:
    """The version that a command made of its table."""
    return _version(event["outputs"][0])


def test_a_row_level_command_of_iceberg_reads_and_changes_its_table(lake: Lake) -> None:
    jobs = lake.jobs("execute_replace_data.t")
    assert [({name for name, _ in inputs}, outputs) for inputs, outputs, _ in jobs] == [
        ({"file:/lake/db/t"}, {"file:/lake/db/t"}),
        ({"file:/lake/db/t"}, {"file:/lake/db/t"}),
        ({"file:/lake/db/t", "file:/raw"}, {"file:/lake/db/t"}),
    ]
    versions = [version for inputs, _, _ in jobs for name, version in inputs if name == "file:/lake/db/t"]
    assert versions[0] == lake.told["second"]
    assert len(set(versions)) == 3, "each reads what the one before left"
    fields = jobs[2][2]["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert {(Path(entry["name"]).name, entry["field"]) for entry in fields["s"]["inputFields"]} >= {("raw", "s"), ("t", "s")}


def test_a_table_is_one_dataset_with_its_name(lake: Lake) -> None:
    names = {
        (Path(dataset["name"]).name, identifier["name"])
        for event in lake.events
        for dataset in [*event["inputs"], *event["outputs"]]
        for identifier in dataset["facets"].get("symlinks", {}).get("identifiers", ())
    }
    assert names == {("t", "lake.db.t"), ("named", "default.named")}
    ((_, outputs, _),) = lake.jobs("execute_create_table_as_select.named")
    assert outputs == {"file:/warehouse/named"}


def test_compaction_reads_and_writes_the_table_under_its_own_name(lake: Lake) -> None:
    found = [({name for name, _ in inputs}, outputs) for inputs, outputs, _ in lake.jobs("execute_append_data.t")]
    assert found == [({"file:/raw"}, {"file:/lake/db/t"}), ({"file:/lake/db/t"}, {"file:/lake/db/t"})]
    ((_, outputs, _),) = lake.jobs("execute_overwrite_partitions_dynamic.t")
    assert outputs == {"file:/lake/db/t"}


def test_a_table_that_is_created_is_captured_as_one_job(lake: Lake) -> None:
    ((_, outputs, event),) = lake.jobs("execute_create_table_as_select.t")
    assert outputs == {"file:/lake/db/t"}
    ledger = event["run"]["facets"]["headwater_capture"]
    assert (ledger["status"], ledger["expected"], ledger["arrived"]) == ("complete", 1, 1)
    written = event["outputs"][0]["facets"]
    assert written["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert written["version"]["datasetVersion"] == lake.told["first"]


def test_every_write_of_iceberg_is_captured_and_names_its_snapshot(lake: Lake) -> None:
    jobs = [
        event
        for event in lake.events
        if event["eventType"] == "COMPLETE" and any(d["name"].endswith("/lake/db/t") for d in event["outputs"])
    ]
    assert len(jobs) == 7
    assert {event["run"]["facets"]["headwater_capture"]["status"] for event in jobs} == {"complete"}
    versions = [event["outputs"][0]["facets"].get("version", {}).get("datasetVersion") for event in jobs]
    assert versions.count(None) == 1, "compaction commits when its queries have ended"
    assert len(set(versions)) == 7


def test_what_a_format_does_for_itself_makes_no_dataset(lake: Lake) -> None:
    assert "_delta_log" not in str([event["inputs"] for event in lake.events])
    assert {dataset["namespace"] for event in lake.events for dataset in event["outputs"]} == {"file"}
