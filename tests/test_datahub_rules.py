"""DataHub takes our events and shows them whole, by the rules of its converter; the check finds what DataHub would refuse or leave out."""

from __future__ import annotations

import copy
from typing import Any
from uuid import uuid4

import pytest

from headwater.capture.events import pipeline_event
from headwater.spark_listener.delivery.leftovers import _abort
from headwater.spark_listener.invocation import Invocation
from headwater.spark_listener.lineage.datasets import bare_input, bare_output
from headwater.spark_listener.lineage.events import EventMaker, Work, now
from headwater.spark_listener.lineage.facets import Ledger
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.outcome import Outcome
from tests.datahub_rules import dataset_urn, forgotten, refusals, shown, unfit_names

APPLICATION = RunName("team", "report", str(uuid4()))
OFF = Ledger(status="off", mode="coarse")


def work(**changed: Any) -> Work:
    described: dict[str, Any] = {
        "run": RunName("team", "report.save.out", str(uuid4())), "started": now(), "ended": now(), "kind": "QUERY",
        "inputs": [bare_input("/data/a b/weather")], "outputs": [bare_output("s3a://bucket/lake/out")], "outcome": Outcome(), "ledger": OFF,
        "sql": "select 1",
    }  # fmt: skip
    return Work(**{**described, **changed})


def made() -> dict[str, Any]:
    event = EventMaker(application=APPLICATION, spark_version="4.1.4").work_end(work())
    read = {"namespace": "file", "name": "/data/a b/weather", "field": "wind"}
    event["outputs"][0]["facets"]["columnLineage"] = {
        "_producer": event["producer"], "_schemaURL": event["schemaURL"], "fields": {"max(wind)": {"inputFields": [read]}},
    }  # fmt: skip
    return event


def test_datahub_takes_every_kind_of_event() -> None:
    maker = EventMaker(application=APPLICATION, spark_version="4.1.4")
    failed = work(outcome=Outcome(error="boom"))
    start = maker.work_start(work())
    events = [
        maker.application_start(now(), Invocation((), "/", "python"), "coarse", OFF), start, maker.work_runs(work(), now()),
        maker.work_end(work()), maker.work_end(failed),
        maker.application_end(now(), Outcome(), OFF), _abort(start, now(), 0),
        pipeline_event("START", now(), APPLICATION, OFF, RunName("team", "above", str(uuid4())), None),
    ]  # fmt: skip
    assert [refusals(event) + unfit_names(event) for event in events] == [[]] * len(events)


def test_datahub_shows_the_run_below_its_application_with_its_datasets_and_columns() -> None:
    flow, source = "urn:li:dataFlow:(spark,report,team)", "urn:li:dataset:(urn:li:dataPlatform:file,/data/a b/weather,PROD)"
    output = "urn:li:dataset:(urn:li:dataPlatform:s3,bucket/lake/out,PROD)"
    found = shown(made())
    assert (found.flow, found.parent_flow, found.job) == (flow, flow, f"urn:li:dataJob:({flow},report.save.out)")
    assert (found.label, found.state, found.inputs, found.outputs) == ("save.out", "SUCCESS", (source,), (output,))
    assert found.columns == {f"urn:li:schemaField:({output},max(wind))": (f"urn:li:schemaField:({source},wind)",)}


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("run", "facets", "parent", "_producer"), "urn:headwater:1", "no platform of the parent"),
        (("run", "facets", "processing_engine"), None, "no object"),
        (("job", "name"), ".out", "no flow"),
        (("eventType",), None, "no eventType"),
        (("producer",), "a b:/spark", "producer"),
        (("run", "facets", "sql"), {"_producer": "a:/b", "_schemaURL": "a:/b", "query": ""}, "sql is no facet of a run"),
        (("inputs", 0, "facets", "inputStatistics"), {"_producer": "a:/b", "_schemaURL": "a:/b"}, "no facet of a dataset"),
        (("job", "facets", "sql", "_schemaURL"), "SQLJobFacet.json", "_schemaURL"),
        (("run", "facets", "spark_properties"), {"_producer": "a:/b", "_schemaURL": "a:/b", "properties": {"spark.x": None}}, "is null"),
    ],
)
def test_what_datahub_refuses_is_found(path: tuple[Any, ...], value: Any, fault: str) -> None:
    broken: Any = copy.deepcopy(made())
    holder = broken
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    assert any(fault in found for found in refusals(broken)), refusals(broken)


def test_an_engine_or_a_path_in_the_producer_is_needed() -> None:
    event = made()
    del event["run"]["facets"]["processing_engine"]
    assert refusals(event) == []
    assert any("no platform: " in found for found in refusals({**event, "producer": "urn:headwater:1"}))


@pytest.mark.parametrize("name", ["/data/a,b", "/data/(a", "/data/a)", "/" + "x" * 600])
def test_names_that_datahub_cannot_hold_are_found(name: str) -> None:
    event = made()
    event["outputs"][0]["facets"]["columnLineage"]["fields"]["max(wind)"]["inputFields"][0]["name"] = name
    event["inputs"][0]["name"] = name
    assert unfit_names(event) != []
    assert unfit_names(made()) == []


def test_what_the_last_event_of_a_run_does_not_link_is_forgotten() -> None:
    first, last = made(), made()
    assert forgotten([first, last]) == []
    last["inputs"] = []
    assert forgotten([first, last]) == [dataset_urn(first["inputs"][0])]


def test_datasets_are_called_as_datahub_calls_them() -> None:
    table = {"symlinks": {"identifiers": [{"namespace": "hive://meta:9083", "name": "db.t", "type": "TABLE"}]}}
    urns = [
        dataset_urn({"namespace": "postgres://h:5432", "name": "shop.public.t"}),
        dataset_urn({"namespace": "sqlserver://h", "name": "a.b.c"}),
        dataset_urn({"namespace": "abfss://c@a.dfs.core.windows.net", "name": "/x"}),
        dataset_urn({"namespace": "file", "name": "/warehouse/db.db/t", "facets": table}),
    ]  # fmt: skip
    assert [str(urn).removeprefix("urn:li:dataset:(urn:li:dataPlatform:") for urn in urns] == [
        "postgres,shop.public.t,PROD)", "mssql,a.b.c,PROD)", "abs,c@a.dfs.core.windows.net/x,PROD)", "hive,db.t,PROD)",
    ]  # fmt: skip
    assert dataset_urn({"namespace": "s3://lake", "name": "a folder/x"}) is None
