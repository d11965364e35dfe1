"""`headwater.operation` in a program, and `spark.headwater.operation.NAME` in its configuration: runs that are marked as declared."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.workspace import Workspace
from headwater.graph.model import Node, NodeKind, node_id
from tests.spark_listener.spark import logged, script
from tests.spark_listener.warm_spark import WarmSpark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
    import os, sys, time
    import headwater
    from pyspark.sql import SparkSession

    with headwater.operation("Fetch it", [("https://api.example.org", "weather")], ["weather.csv"], "asks a service, password=hunter2"):
        pass
    spark = (
        SparkSession.builder.appName("ops")
        .config("spark.headwater.operation.upload", '{"inputs": ["result"], "outputs": [["sftp://partner", "/in"]]}').getOrCreate()
    )
    spark.read.csv("weather.csv", header=True).write.parquet("result")

    @headwater.operation("train", "result", "model")
    def train(number):
        return 1 // number

    train(1)
    try:
        train(0)
    except ZeroDivisionError as error:
        print(error)
    cut_off = headwater.operation("cut off", ["result"])
    cut_off.__enter__()
    spark.stop()
    with headwater.operation("publish", ["result"], [("mailto:", "board")]):
        print("published")
    with headwater.operation("bad", [1]):
        print("bad")
"""


def names(datasets: list[dict[str, Any]]) -> list[str]:
    return [Path(dataset["name"]).name for dataset in datasets]


def test_declared_operations_are_runs_beside_derived_ones(tmp_path: Path, warm_spark: WarmSpark) -> None:
    script(tmp_path, "ops.py", PROGRAM)
    (tmp_path / "weather.csv").write_text("origin,wind\nEWR,3\n")
    home = tmp_path / "home"
    plain = warm_spark.run(["ops.py"], tmp_path)
    assert plain.returncode == 0, plain.stderr
    (tmp_path / "result").rename(tmp_path / "plain result")
    ours = warm_spark.run(["-m", "headwater", "run", "--home", str(home), "--mode", "coarse", "ops.py"], tmp_path)
    assert (ours.returncode, ours.stdout) == (0, plain.stdout), ours.stderr
    events = logged(home)
    ends: dict[str, list[Any]] = {}
    for event in events:
        if event["eventType"] != "START":
            kind = event["job"]["facets"]["jobType"]["jobType"]
            told = (event["eventType"], kind, names(event["inputs"]), names(event["outputs"]))
            ends.setdefault(event["job"]["name"], []).append(told)
    assert ends == {
        "ops.fetch_it": [("COMPLETE", "OPERATION", ["weather"], ["weather.csv"])],
        "ops.execute_insert_into_hadoop_fs_relation_command.result": [("COMPLETE", "COMMAND", ["weather.csv"], ["result"])],
        "ops.train": [("COMPLETE", "OPERATION", ["result"], ["model"]), ("FAIL", "OPERATION", ["result"], ["model"])],
        "ops.cut_off": [("ABORT", "OPERATION", ["result"], [])],
        "ops.publish": [("COMPLETE", "OPERATION", ["result"], ["board"])],
        "ops.upload": [("COMPLETE", "OPERATION", ["result"], ["in"])],
        "ops": [("COMPLETE", "APPLICATION", [], [])],
    }
    assert events[-1]["job"]["name"] == "ops"
    started = [event["run"]["runId"] for event in events if event["eventType"] == "START"]
    assert sorted(started) == sorted(event["run"]["runId"] for event in events if event["eventType"] != "START")
    fetched = next(event for event in events if event["job"]["name"] == "ops.fetch_it")
    assert fetched["job"]["facets"]["headwater_operation"]["name"] == "Fetch it"
    assert fetched["job"]["facets"]["headwater_operation"]["declaredIn"] == "program"
    assert fetched["job"]["facets"]["documentation"]["description"].startswith("asks a service")
    assert "hunter2" not in str(events)
    assert fetched["run"]["facets"]["parent"]["job"]["name"] == "ops"
    assert "6 declared operations" in ours.stderr, ours.stderr
    assert "A declared operation is left out: its inputs hold '1'" in ours.stderr

    (upload,) = asyncio.run(nodes(home, node_id(NodeKind.JOB, "default", "ops.upload")))
    assert upload.properties["headwater_operation"]["declaredIn"] == "configuration"


async def nodes(home: Path, *ids: str) -> list[Node]:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.settle()
        return await workspace.graph.get(DEFAULT_TENANT, ids)
