"""A streaming query is one run of one job, however many batches it has, with what they read and wrote together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.spark_listener.delivery.leftovers import state_end
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.spool import SpoolFolder
from tests.openlineage_schemas import faults_of
from tests.spark_listener.spark import environment, logged, run, script
from tests.spark_listener.test_running_queries import Told

_RUN = "1d1711af-d46a-498d-868e-de49df3fb7ac"
_AT = 1767225605000
_DESCRIBED = f"\nid = 7f1f246a-eaf6-4226-b41e-61dffff67391\nrunId = {_RUN}\nbatch = 0"
_NESTED = {
    "operators": [], "sources": [{"source": 0, "path": "file:/data/names", "format": "parquet"}],
    "sink": {"path": "file:/out/folded", "format": "parquet", "mode": "append", "columns": [{"attr": 9, "name": "k", "type": "int"}]},
}  # fmt: skip


def begin(told: Told, sink: str = "FileSink[file:/out/wind]", *, ends: bool = False, name: str | None = None) -> None:
    told.scribe.take({"event": "stream_start", "run": _RUN, "name": name, "time": "2026-01-01T00:00:00.000Z", "sink": sink, "ends": ends})


def batch(told: Told, number: int, *, nested: bool = False, error: Any = None, sink: str = "FileSink[file:/out/wind]") -> None:
    execution = 10 * number
    plan = {
        "operators": [{"id": 0, "op": "Scan", "children": [], "source": 0, "columns": [{"attr": number, "name": "wind"}]}],
        "sources": [{"source": 0, "path": f"file:/data/in/{number}.csv", "format": "csv", "columns": [{"name": "wind", "type": "int"}]}],
        "sink": None, "output": [{"attr": number, "name": "wind", "type": "int"}],
    }  # fmt: skip
    told.begin(execution, description=_DESCRIBED, root=execution)
    if nested:
        told.begin(execution + 1, description="what the user calls it", root=execution)
        told.end(execution + 1, _NESTED)
    told.end(execution, plan, stream=_RUN, error=error)
    if error is None:
        source = {"source": "FileStreamSource[file:/data/in]", "offset": json.dumps({"logOffset": number}), "rows": 2}
        told.scribe.take({"event": "stream_progress", "run": _RUN, "batch": number, "sink": sink, "written": 2, "sources": [source]})


def end(told: Told, error: Any = None) -> dict[str, Any]:
    told.scribe.take({"event": "stream_end", "run": _RUN, "time": _AT, "error": error})
    events = [item.body for item in told.folder.pending()]
    assert [faults_of(event) for event in events] == [[]] * len(events)
    return events[-1]


def test_a_stream_is_one_run_with_folders_columns_rows_and_offsets(tmp_path: Path) -> None:
    told = Told(tmp_path)
    begin(told)
    for number in range(5):
        batch(told, number)
    last = end(told)
    assert told.events()[1:] == [(kind, "report.stream.wind") for kind in ("START", "RUNNING", "ABORT")]
    (source,), (output,) = last["inputs"], last["outputs"]
    assert (source["name"], source["facets"]["version"]["datasetVersion"]) == ("/data/in", '{"logOffset": 4}')
    assert source["inputFacets"]["inputStatistics"]["rowCount"] == 10
    assert (output["name"], output["outputFacets"]["outputStatistics"]["rowCount"]) == ("/out/wind", 10)
    lineage = output["facets"]["columnLineage"]["fields"]["wind"]["inputFields"]
    assert [(item["name"], item["field"]) for item in lineage] == [("/data/in", "wind")]
    assert last["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert dict(told.tally.left_out) == {"batches": 5}
    assert last["run"]["facets"]["headwater_capture"]["leftOut"] == {"batches": 5}
    assert list(told.folder.open_runs()) == []


def test_what_a_function_does_in_a_batch_is_the_streams(tmp_path: Path) -> None:
    told = Told(tmp_path)
    begin(told, "ForeachBatchSink", ends=True, name="folded")
    batch(told, 1, nested=True, sink="ForeachBatchSink")
    batch(told, 2, nested=True, sink="ForeachBatchSink")
    last = end(told)
    assert told.events()[1:] == [(kind, "report.stream.folded") for kind in ("START", "RUNNING", "COMPLETE")]
    assert {item["name"] for item in last["inputs"]} == {"/data/in", "/data/names"}
    assert [item["name"] for item in last["outputs"]] == ["/out/folded"]
    assert last["run"]["facets"]["headwater_capture"]["problems"] == []


TABLE = {"path": "file:/lake/db/t", "format": "iceberg", "table": "lake.db.t", "columns": [{"name": "v", "type": "int"}]}


def topics(*names: str) -> dict[str, Any]:
    return {"kafka": {"servers": "broker:9092,other:9092", "topics": list(names)}, "format": "kafka", "columns": [{"name": "value"}]}


def connected(
    told: Told, sources: list[dict[str, Any]], offsets: dict[str, Any], sink: str, table: dict[str, Any] | None
) -> dict[str, Any]:
    """The end of a stream of one batch of three rows."""
    start = {"event": "stream_start", "run": _RUN, "name": None, "time": "2026-01-01T00:00:00.000Z", "sink": sink, "ends": True}
    told.scribe.take({**start, "table": table})
    scans = [
        {"id": number, "op": "Scan", "children": [], "source": number, "columns": [{"attr": number, "name": source["columns"][0]["name"]}]}
        for number, source in enumerate(sources)
    ]
    output = [{"attr": 0, "name": "v", "type": "int"}]
    plan = {"operators": scans, "sources": [{"source": i, **source} for i, source in enumerate(sources)], "sink": None, "output": output}
    told.begin(1, description=_DESCRIBED, root=1)
    told.end(1, plan, stream=_RUN)
    read = [{"source": name, "offset": json.dumps(offset), "rows": 3} for name, offset in offsets.items()]
    told.scribe.take({"event": "stream_progress", "run": _RUN, "batch": 0, "sink": sink, "written": 3, "sources": read})
    return end(told)


def test_a_stream_of_topics_reads_each_up_to_its_offsets_and_writes_a_topic_by_its_columns(tmp_path: Path) -> None:
    offsets = {"KafkaV2[Subscribe[in, more]]": {"in": {"0": 5}, "more": {"0": 2, "1": 1}}}
    sink = "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable@1f2e"
    told = Told(tmp_path)
    last = connected(told, [topics("in", "more")], offsets, sink, topics("out"))
    assert ("COMPLETE", "report.stream.out") in told.events()
    read = {(item["namespace"], item["name"]): item["facets"]["version"]["datasetVersion"] for item in last["inputs"]}
    assert read == {("kafka://broker:9092", "in"): '{"0": 5}', ("kafka://broker:9092", "more"): '{"0": 2, "1": 1}'}
    (output,) = last["outputs"]
    assert (output["namespace"], output["name"]) == ("kafka://broker:9092", "out")
    lineage = output["facets"]["columnLineage"]["fields"]["v"]["inputFields"]
    assert {(item["name"], item["field"]) for item in lineage} == {("in", "value"), ("more", "value")}
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert last["run"]["facets"]["headwater_capture"]["problems"] == []


def test_a_pattern_of_topics_is_those_that_its_offsets_name(tmp_path: Path) -> None:
    offsets = {"KafkaV2[SubscribePattern[in.*]]": {"in1": {"0": 5}}}
    last = connected(Told(tmp_path), [topics()], offsets, "ForeachBatchSink", None)
    (read,) = last["inputs"]
    assert (read["name"], read["inputFacets"]["inputStatistics"]["rowCount"]) == ("in1", 3)
    assert last["run"]["facets"]["headwater_capture"]["problems"] == []


def test_tables_are_read_to_a_version_and_written_by_their_name(tmp_path: Path) -> None:
    told = Told(tmp_path / "iceberg")
    offsets = {"org.apache.iceberg.spark.source.SparkMicroBatchStream@5e": {"snapshot_id": 7}}
    last = connected(told, [TABLE], offsets, "DeltaSink[file:/lake/d]", None)
    assert ("COMPLETE", "report.stream.d") in told.events()
    (read,), (written,) = last["inputs"], last["outputs"]
    assert (read["name"], read["facets"]["version"]["datasetVersion"]) == ("/lake/db/t", '{"snapshot_id": 7}')
    assert (written["name"], list(written["facets"]["columnLineage"]["fields"])) == ("/lake/d", ["v"])
    told = Told(tmp_path / "delta")
    source = {"path": "file:/lake/d", "format": "delta", "columns": [{"name": "v", "type": "int"}]}
    last = connected(told, [source], {"DeltaSource[file:/lake/d]": {"reservoirVersion": 3}}, "lake.db.t", TABLE)
    assert ("COMPLETE", "report.stream.t") in told.events()
    (read,), (written,) = last["inputs"], last["outputs"]
    assert "reservoirVersion" in read["facets"]["version"]["datasetVersion"]
    assert (written["name"], written["facets"]["symlinks"]["identifiers"][0]["name"]) == ("/lake/db/t", "lake.db.t")


def test_a_table_beside_a_stream_of_nobody_s_rows_has_neither_its_offset_nor_its_rows(tmp_path: Path) -> None:
    last = connected(Told(tmp_path), [TABLE], {"RateStreamV2[rowsPerSecond=1]": 9}, "ForeachBatchSink", None)
    (read,) = last["inputs"]
    assert "version" not in read["facets"]
    assert "inputStatistics" not in read.get("inputFacets", {})


def test_what_no_plan_names_is_said(tmp_path: Path) -> None:
    source, sink = "org.example.Queue@12ab", "org.example.Sink@12ab"
    last = connected(Told(tmp_path), [], {source: 1, "KafkaV2[Subscribe[a]]": {"a": {"0": 1}}}, sink, None)
    reasons = [problem["reason"] for problem in last["run"]["facets"]["headwater_capture"]["problems"]]
    assert reasons == [
        "what the stream reads of org.example.Queue has no name", "what the stream reads of KafkaV2[Subscribe[a]] has no name",
        "what the stream writes to org.example.Sink has no name",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "batch_error", "error", "kind"),
    [
        (True, None, None, "COMPLETE"), (False, None, None, "ABORT"), (True, {"message": "x", "cancelled": True}, None, "ABORT"),
        (True, {"message": "boom", "cancelled": False}, {"message": "boom", "cancelled": False}, "FAIL"),
    ],
)  # fmt: skip
def test_a_stream_ends_by_itself_or_is_stopped_or_fails(ends: bool, batch_error: Any, error: Any, kind: str, tmp_path: Path) -> None:
    told = Told(tmp_path)
    begin(told, ends=ends)
    batch(told, 1, error=batch_error)
    assert end(told, error)["eventType"] == kind


def test_a_stream_that_outlives_its_application_is_ended_with_it_or_by_who_finds_it(tmp_path: Path) -> None:
    told = Told(tmp_path)
    begin(told)
    told.scribe.end(Outcome(), _AT / 1000, [])
    assert told.events() == [
        ("START", "report"), ("START", "report.stream.wind"), ("ABORT", "report.stream.wind"), ("COMPLETE", "report"),
    ]  # fmt: skip
    killed = Told(tmp_path / "killed")
    begin(killed)
    killed.folder.close()
    found = SpoolFolder.take(killed.folder.path)
    assert found is not None
    state_end(found)
    assert ("ABORT", "report.stream.wind") in [(item.body["eventType"], item.body["job"]["name"]) for item in found.pending()]


def test_a_user_who_writes_what_spark_writes_hides_nothing(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.begin(1, description=_DESCRIBED)
    told.end(1)
    assert [name for kind, name in told.events() if kind == "COMPLETE"] == ["report.scan"]


def test_batches_are_told_where_the_user_says_so(tmp_path: Path) -> None:
    told = Told(tmp_path, leave_out="schema")
    begin(told)
    batch(told, 1)
    assert ("COMPLETE", "report.scan") in told.events()


def test_memory_does_not_grow_with_the_batches(tmp_path: Path) -> None:
    import tracemalloc

    told = Told(tmp_path)
    begin(told, "ForeachBatchSink", name="folded")
    for number in range(100):
        batch(told, number, nested=True, sink="ForeachBatchSink")
    tracemalloc.start()
    try:
        for number in range(100, 1100):
            batch(told, number, nested=True, sink="ForeachBatchSink")
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 200_000, grown
    assert told.events()[1:] == [("START", "report.stream.folded"), ("RUNNING", "report.stream.folded")]


PROGRAM = """
    import os
    import pyspark.sql.functions as f
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("streams").config("spark.sql.warehouse.dir", os.getcwd() + "/warehouse").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    os.mkdir("in")
    for number in range(3):
        with open(f"in/{number}.csv", "w") as file:
            file.write(f"a,{number}\\nb,{number}\\n")
    read = spark.readStream.schema("k string, v int").option("maxFilesPerTrigger", 1).csv("in")
    write = read.select("k", (f.col("v") * 2).alias("w")).writeStream.trigger(availableNow=True)
    write.option("checkpointLocation", "one").start("out").awaitTermination()

    def fold(frame, number):
        frame.write.mode("append").parquet("folded")
        print(frame.count())

    folds = read.writeStream.option("checkpointLocation", "two").queryName("fold").trigger(availableNow=True)
    folds.foreachBatch(fold).start().awaitTermination()
    write.option("checkpointLocation", "three").toTable("copy").awaitTermination()
    counted = read.groupBy("k").count().writeStream.outputMode("complete").format("memory").queryName("counted").start()
    counted.processAllAvailable()
    counted.stop()
    boom = f.udf(lambda value: 1 // 0, "int")
    try:
        read.select(boom("v")).writeStream.option("checkpointLocation", "four").format("noop").start().awaitTermination()
    except Exception as error:
        print(type(error).__name__)
    read.writeStream.option("checkpointLocation", "five").queryName("left").format("noop").start().processAllAvailable()
    print(spark.read.parquet("out").count(), spark.table("copy").count())
    spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", [pytest.param("coarse", marks=pytest.mark.torture), "auto"])
def test_streams_of_spark_are_told_as_they_end(mode: str, tmp_path: Path, root: Path) -> None:
    script(tmp_path, "streams.py", PROGRAM)
    done = run(["-m", "headwater", "run", "--home", "home", "--mode", mode, "streams.py"], tmp_path, environment(root))
    assert (done.returncode, done.stdout) == (0, "2\n2\n2\nStreamingQueryException\n6 6\n"), done.stderr
    events = logged(tmp_path / "home")
    ends = {event["job"]["name"]: event for event in events if event["eventType"] not in ("START", "RUNNING")}
    streams = {name.removeprefix("streams.stream."): event for name, event in ends.items() if ".stream." in name}
    brief = {
        name: (
            event["eventType"],
            [Path(item["name"]).name for item in event["inputs"]],
            [Path(item["name"]).name for item in event["outputs"]],
        )
        for name, event in streams.items()
    }
    assert brief == {
        "out": ("COMPLETE", ["in"], ["out"]), "fold": ("COMPLETE", ["in"], ["folded"]), "copy": ("COMPLETE", ["in"], ["copy"]),
        "counted": ("ABORT", ["in"], []), "noop_table": ("FAIL", ["in"], []), "left": ("ABORT", ["in"], []),
    }  # fmt: skip
    lineage = streams["out"]["outputs"][0]["facets"]["columnLineage"]["fields"]["w"]["inputFields"]
    assert [(Path(item["name"]).name, item["field"]) for item in lineage] == [("in", "v")]
    assert "logOffset" in streams["copy"]["inputs"][0]["facets"]["version"]["datasetVersion"]
    others = [name for name in ends if ".stream." not in name]
    assert others[-1] == "streams"
    assert len(others) <= 4, others  # two reads of what the streams wrote, and the making of a table
    assert "6 streams" in done.stderr
