"""Streams of topics and tables by their own connectors: Kafka to Kafka, a pattern to Delta, Delta to Iceberg, Iceberg to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.kafka_server import connector_jars, kafka
from tests.lake import table_jars
from tests.spark_listener.spark import environment, logged, run, script
from tests.spark_listener.test_table_formats import CONNECTORS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]

PROGRAM = """
    import os, sys
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("queues").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    broker = sys.argv[1]

    def topics(**which):
        read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker)
        return read.option("startingOffsets", "earliest").options(**which).load().selectExpr("CAST(value AS STRING) v", "offset o")

    def write(frame, name):
        return frame.writeStream.trigger(availableNow=True).option("checkpointLocation", f"checkpoints/{name}")

    out = write(topics(subscribe="orders").selectExpr("upper(v) AS value"), "topic").format("kafka")
    out.option("kafka.bootstrap.servers", broker).option("topic", "loud").start().awaitTermination()
    write(topics(subscribePattern="ord.*"), "delta").format("delta").start(os.getcwd() + "/delta").awaitTermination()
    spark.sql("CREATE TABLE lake.db.t (v STRING, o BIGINT) USING iceberg")
    write(spark.readStream.format("delta").load("delta"), "iceberg").toTable("lake.db.t").awaitTermination()
    write(spark.readStream.table("lake.db.t").select("v"), "files").format("parquet").start("files").awaitTermination()
    rows = topics(subscribe="orders").selectExpr("'loud' AS topic", "v AS value")
    write(rows, "rows").format("kafka").queryName("routed").option("kafka.bootstrap.servers", broker).start().awaitTermination()
    print(spark.read.parquet("files").count())
    spark.stop()
"""


def test_streams_name_the_topics_and_tables_that_they_read_and_write(tmp_path: Path, root: Path) -> None:
    script(tmp_path, "queues.py", PROGRAM)
    jars = ",".join(str(jar) for folder in (connector_jars(), table_jars()) for jar in sorted(folder.glob("*.jar")))
    options = {**CONNECTORS, "jars": jars, "sql.catalog.lake.warehouse": f"{tmp_path}/lake", "sql.warehouse.dir": f"{tmp_path}/warehouse"}
    listed = " ".join(f"--conf spark.{name}={value}" for name, value in options.items())
    env = environment(root)
    env["PYSPARK_SUBMIT_ARGS"] = env["PYSPARK_SUBMIT_ARGS"].replace("pyspark-shell", f"{listed} pyspark-shell")
    with kafka() as server:
        for name in ("orders", "loud"):
            server.topic(name, 1)
        server.send("orders", 0, [(None, f"v{number}") for number in range(5)])
        broker = f"kafka://{server.servers}"
        done = run(["-m", "headwater", "run", "--home", "home", "--mode", "coarse", "queues.py", server.servers], tmp_path, env)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr[-3000:]
    streams = {
        event["job"]["name"].removeprefix("queues.stream."): event
        for event in logged(tmp_path / "home")
        if ".stream." in event["job"]["name"] and event["eventType"] == "COMPLETE"
    }
    orders = (broker, "orders")
    places = {name: ("file", f"{tmp_path}/{path}") for name, path in (("delta", "delta"), ("t", "lake/db/t"), ("files", "files"))}
    assert {name: (_names(event, "inputs"), _names(event, "outputs")) for name, event in streams.items()} == {
        "loud": ([orders], [(broker, "loud")]), "delta": ([orders], [places["delta"]]), "t": ([places["delta"]], [places["t"]]),
        "files": ([places["t"]], [places["files"]]), "routed": ([orders], []),
    }  # fmt: skip
    columns = {
        name: {column: [(item["name"], item["field"]) for item in made["inputFields"]] for column, made in _columns(event).items()}
        for name, event in streams.items()
    }
    assert columns["loud"] == {"value": [("orders", "value")]}
    assert columns["delta"] == {"v": [("orders", "value")], "o": [("orders", "offset")]}
    assert columns["t"] == {name: [(places["delta"][1], name)] for name in ("v", "o")}
    assert columns["files"] == {"v": [(places["t"][1], "v")]}
    for name, word in (("loud", '{"0": 5}'), ("t", "reservoirVersion"), ("files", "snapshot_id")):
        (source,) = streams[name]["inputs"]
        assert word in source["facets"]["version"]["datasetVersion"], name
        assert source["inputFacets"]["inputStatistics"]["rowCount"] == 5, name
    problems = {name: event["run"]["facets"]["headwater_capture"]["problems"] for name, event in streams.items()}
    assert [problem["reason"] for problem in problems.pop("routed")] == ["which topics it means is not known before it runs"]
    assert not any(problems.values()), json.dumps(problems)


def _names(event: dict[str, Any], part: str) -> list[tuple[str, str]]:
    return [(item["namespace"], item["name"]) for item in event[part]]


def _columns(event: dict[str, Any]) -> dict[str, Any]:
    return {} if not event["outputs"] else event["outputs"][0]["facets"].get("columnLineage", {}).get("fields", {})
