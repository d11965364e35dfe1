"""`headwater.record_operations`: operations on fields that a running program records of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.errors import InvalidInputError
from tests.spark_listener.spark import environment, logged, run, script
from tests.spark_listener.warm_spark import WarmSpark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
    import headwater
    from pyspark.sql import SparkSession

    def field(origin, name):
        return {"origin": origin, "name": name}

    def operations(prefix, dataset):
        end, start = {"namespace": "lake", "name": dataset}, {"namespace": "lake", "name": "lines"}
        return [
            {"name": prefix + "read", "inputs": {"endPoint": start}, "outputs": {"fields": ["body"]}},
            {"name": prefix + "parse", "inputs": {"fields": [field(prefix + "read", "body")]}, "outputs": {"fields": ["first"]}},
            {"name": prefix + "write", "inputs": {"fields": [field(prefix + "parse", "first")]}, "outputs": {"endPoint": end}},
        ]

    headwater.record_operations(operations("", "people"))
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").appName("recorder").getOrCreate()
    headwater.record_operations(operations("second ", "others"))
    try:
        headwater.record_operations(operations("", "people")[:1])
    except headwater.HeadwaterError as error:
        print(type(error).__name__)
    try:
        headwater.record_operations(operations("", "people"))
    except headwater.HeadwaterError as error:
        print(error.field)
    spark.stop()
"""


def test_a_program_records_operations_of_its_own_run(tmp_path: Path, root: Path, warm_spark: WarmSpark) -> None:
    script(tmp_path, "recorder.py", PROGRAM)
    home = tmp_path / "home"
    ran = warm_spark.run(["-m", "headwater", "run", "--home", str(home), "recorder.py"], tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["InvalidInputError", "$.operations"]

    people, others = (_lineage(home, tmp_path, root, dataset) for dataset in ("people", "others"))
    assert [(step["operation"], step["src"].rpartition(":")[2], step["dst"].rpartition(":")[2]) for step in people["steps"]] == [
        ("read", "body", "read.body"), ("parse", "read.body", "parse.first"), ("write", "parse.first", "first"),
    ]  # fmt: skip
    assert [step["operation"] for step in others["steps"]] == ["second read", "second parse", "second write"]
    stated = [event for event in logged(home) if "headwater_recordedOperations" in event["run"]["facets"]]
    application = next(event for event in logged(home) if event["eventType"] == "START")
    assert {(event["run"]["runId"], event["job"]["name"]) for event in stated} == {(application["run"]["runId"], "recorder")}
    assert all(event["run"]["facets"]["headwater_recordedOperations"]["declared"] for event in stated)


def _lineage(home: Path, folder: Path, root: Path, dataset: str) -> Any:
    """The one derivation of a field, as the command shows it."""
    asked = ["-m", "headwater", "column", "lineage", f"column:lake:{dataset}:first", "--detailed", "-f", "json", "--home", str(home)]
    (edge,) = json.loads(run(asked, folder, environment(root)).stdout)
    return edge


@pytest.mark.parametrize("operations", [None, "read", {"name": "x"}, [], [1], [{"name": "x"}], 7])
def test_what_is_no_recording_is_refused_at_once(operations: Any) -> None:
    with pytest.raises(InvalidInputError):
        headwater.record_operations(operations)
