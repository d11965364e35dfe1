"""The check of events against OpenLineage's schemas finds what is wrong with them."""

from __future__ import annotations

import copy
from typing import Any
from uuid import uuid4

import pytest

from headwater.spark_listener.lineage.datasets import bare_input, bare_output
from headwater.spark_listener.lineage.events import EventMaker, Work, now
from headwater.spark_listener.lineage.facets import Ledger
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.outcome import Outcome
from tests.openlineage_schemas import faults_of


def event() -> dict[str, Any]:
    run = RunName("team", "app", str(uuid4()))
    work = Work(
        run=run, started=now(), ended=now(), kind="QUERY", inputs=[bare_input("/data/a b/100% [x]#y?z^ü")],
        outputs=[bare_output("s3a://bucket/p q/{é}")], outcome=Outcome(error="boom"),
        ledger=Ledger(status="off", mode="coarse"), sql="select 1",
    )  # fmt: skip
    return EventMaker(application=run, spark_version="4.1.4").work_end(work)


def test_an_event_is_valid_whatever_its_datasets_are_called() -> None:
    made = event()
    assert faults_of(made) == []
    assert made["inputs"][0]["facets"]["dataSource"]["uri"] == "file:/data/a%20b/100%25%20%5Bx%5D%23y%3Fz%5E%C3%BC"
    assert made["outputs"][0]["facets"]["dataSource"]["uri"] == "s3://bucket/p%20q/%7B%C3%A9%7D"


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("eventTime",), "2026-01-01 10:00:00", "no date-time"),
        (("eventTime",), "2026-01-01T10:00:00", "no date-time"),
        (("eventType",), "DONE", "is none of"),
        (("run", "runId"), "1", "no UUID"),
        (("producer",), "headwater", "no URI"),
        (("inputs", 0, "name"), None, "no str"),
        (("inputs", 0, "facets", "dataSource", "uri"), "file:/a b", "no URI"),
        (("job", "facets", "sql"), {"_producer": "urn:x", "_schemaURL": "urn:y", "query": 1}, ""),
        (("job", "facets", "sql", "query"), 1, "no str"),
        (("job", "facets", "jobType", "processingType"), ..., "missing"),
        (("job", "facets", "jobType", "_producer"), ..., "missing"),
        (("run", "facets", "parent", "run"), {}, "runId is missing"),
        (("run", "facets", "headwater_capture", "_schemaURL"), "capture", "no URI"),
        (("outputs", 0, "facets", "lifecycleStateChange", "lifecycleStateChange"), "MADE", "is none of"),
    ],
)
def test_a_fault_is_found(path: tuple[Any, ...], value: Any, fault: str) -> None:
    broken = copy.deepcopy(event())
    holder: Any = broken
    for part in path[:-1]:
        holder = holder[part]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    assert any(fault in found for found in faults_of(broken)) if fault else faults_of(broken) == []
