"""Events are valid OpenLineage, and say what happened."""

from __future__ import annotations

import importlib
import pkgutil
import time
from typing import Any
from uuid import RFC_4122, UUID, uuid4

import pytest
from openlineage.client import generated
from openlineage.client.generated import base

from headwater.backend.ingest.intake.documents import read_documents
from headwater.backend.ingest.intake.events import check_event
from headwater.spark_listener.invocation import Invocation
from headwater.spark_listener.lineage.events import EventMaker, instant
from headwater.spark_listener.lineage.facets import EVENT_SCHEMA, PRODUCER, SCHEMAS, Ledger
from headwater.spark_listener.lineage.parents import RunName, new_run_id
from headwater.spark_listener.lineage.queries import Query, QueryContext, query_of
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.settings import Mode

APPLICATION = RunName("team", "report", str(uuid4()))
CONTEXT = QueryContext(
    application=APPLICATION,
    application_id="local-1",
    application_name="Report",
    spark_version="4.1.4",
    job_prefix="report",
    mode=Mode.ACTIVE,
)
LEDGER = Ledger(status="running", mode="active")
STARTED = "2026-01-01T00:00:00.000000Z"


def maker(**environment: str) -> EventMaker:
    return EventMaker(application=APPLICATION, spark_version="4.1.4", parents=environment)


def plan(**sink: Any) -> dict[str, Any]:
    return {
        "operators": [
            {"id": 0, "op": "Write", "children": [1], "columns": [1]},
            {"id": 1, "op": "Filter", "children": [2], "reads": [2]},
            {"id": 2, "op": "Scan", "children": [], "source": 0, "columns": [{"attr": 1, "name": "wind"}, {"attr": 2, "name": "hour"}]},
        ],
        "sources": [
            {
                "source": 0,
                "path": "file:/data/weather.csv",
                "format": "csv",
                "options": {"header": "true", "password": "hunter2"},
                "columns": [{"name": "wind", "type": "double"}, {"name": "hour", "type": "int"}],
                "files": [{"length": 10}, {"length": 5}],
            }
        ],
        "sink": {
            "path": "file:/out/report",
            "format": "parquet",
            "mode": "overwrite",
            "columns": [{"name": "wind", "type": "double", "attr": 1}],
            **sink,
        },
    }


def ended(**event: Any) -> dict[str, Any]:
    return {
        "event": "query_end",
        "execution": 1,
        "time": 1767225605000,
        "error": None,
        "plan": plan(),
        "capture": None,
        "metrics": {},
        **event,
    }


def valid(event: dict[str, Any]) -> dict[str, Any]:
    """The event, if the service's intake would take it and every facet says who made it."""
    import json

    for document in read_documents(json.dumps(event).encode()):
        check_event(document)
    for facets in facet_maps(event):
        for facet in facets.values():
            assert facet["_producer"] == PRODUCER
            assert "#/$defs/" in facet["_schemaURL"] or facet["_schemaURL"].startswith("urn:headwater:")
    assert event["schemaURL"].endswith("#/$defs/RunEvent")
    return event


def facet_maps(event: dict[str, Any]) -> list[dict[str, Any]]:
    datasets = [*event["inputs"], *event["outputs"]]
    found = [event["run"]["facets"], event["job"]["facets"], *(d["facets"] for d in datasets)]
    return found + [d[key] for d in datasets for key in ("inputFacets", "outputFacets") if key in d]


def test_a_written_dataset_carries_schema_columns_and_what_happened_to_it() -> None:
    query = query_of(ended(metrics={"rows": 12, "bytes": 340, "files": 2}), STARTED, CONTEXT, run_id=str(uuid4()), segments=None)
    assert query is not None
    start, complete = (valid(event) for event in (maker().work_start(query.work), maker().work_end(query.work)))
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["eventTime"] == STARTED
    assert complete["job"]["name"] == "report.execute_insert_into_hadoop_fs_relation_command.report"
    assert complete["run"]["facets"]["parent"]["run"]["runId"] == APPLICATION.run_id
    (source,), (output,) = complete["inputs"], complete["outputs"]
    assert (source["namespace"], source["name"]) == ("file", "/data/weather.csv")
    assert source["inputFacets"]["inputStatistics"]["size"] == 15
    assert output["facets"]["schema"]["fields"][0] == {"name": "wind", "type": "double", "ordinal_position": 1, "fields": []}
    assert output["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 12
    lineage = output["facets"]["columnLineage"]
    assert lineage["fields"]["wind"]["inputFields"][0]["field"] == "wind"
    assert lineage["fields"]["wind"]["inputFields"][0]["transformations"][0]["subtype"] == "IDENTITY"
    assert lineage["dataset"][0]["transformations"][0] == {"type": "INDIRECT", "subtype": "FILTER", "description": "", "masking": False}


@pytest.mark.parametrize("name", ["", "case when " + "x" * 9000])
def test_a_column_that_an_event_has_no_name_for_is_left_out_and_the_ledger_says_so(name: str) -> None:
    of_pivot = plan(columns=[{"name": "wind", "type": "double", "attr": 1}, {"name": name, "type": "int", "attr": 2}])
    of_pivot["operators"][2]["columns"][1]["name"] = name
    of_pivot["sources"][0]["columns"][1]["name"] = name
    for described in (of_pivot, {**of_pivot, "sink": None}):
        query = query_of(ended(plan=described), STARTED, CONTEXT, run_id=str(uuid4()), segments=None)
        assert query is not None
        for event in (maker().work_start(query.work), maker().work_end(query.work)):
            valid(event)
        for dataset in (*event["inputs"], *event["outputs"]):
            assert [field["name"] for field in dataset["facets"]["schema"]["fields"]] == ["wind"]
        reasons = [problem["reason"] for problem in event["run"]["facets"]["headwater_capture"]["problems"]]
        assert reasons.count("a column without a name, or with one of more than 8,192 characters, is not listed") == 1


def test_a_failed_query_fails_with_its_message_and_without_secrets() -> None:
    query = query_of(
        ended(error="cannot open jdbc:x://u:pw@host/db?password=hunter2"), STARTED, CONTEXT, run_id=str(uuid4()), segments=None
    )
    assert query is not None
    _, fail = (valid(event) for event in (maker().work_start(query.work), maker().work_end(query.work)))
    assert fail["eventType"] == "FAIL"
    message = fail["run"]["facets"]["errorMessage"]["message"]
    assert "cannot open" in message
    assert "hunter2" not in message
    assert ":pw@" not in message


def test_a_query_without_record_capture_says_so_in_its_ledger() -> None:
    refused = {"operator": "Generate", "reason": "not covered yet", "kind": "refused"}
    query = query_of(
        ended(capture={"problems": [refused]} | {"capture": str(uuid4()), "status": "refused", "segments": []}),
        STARTED,
        CONTEXT,
        run_id=str(uuid4()),
        segments=None,
    )
    assert query is not None
    assert query.work.ledger.problems == [refused]
    unseen = query_of(ended(), STARTED, CONTEXT, run_id=str(uuid4()), segments=None)
    assert unseen is not None
    assert unseen.work.ledger.status == "refused"
    assert unseen.work.ledger.problems[0]["kind"] == "missing"


def test_a_manifest_is_completed_and_misses_what_is_not_there(tmp_path: Any) -> None:
    capture = str(uuid4())
    (tmp_path / capture).mkdir()
    (tmp_path / capture / "a.seg").write_bytes(b"x")
    parts = {
        **plan(),
        "capture": capture,
        "problems": [],
        "boundaries": [],
        "segments": [{"name": "a.seg", "rows": 3}, {"name": "b.seg", "rows": 4}],
    }
    query = query_of(ended(capture=parts), STARTED, CONTEXT, run_id="r1", segments=tmp_path)
    assert query is not None
    assert query.manifest is not None
    assert query.manifest["run"] == {"namespace": "team", "job": query.work.run.job, "runId": "r1"}
    assert query.manifest["application"] == {"id": "local-1", "name": "Report", "spark": "4.1.4"}
    assert query.manifest["sources"][0]["dataset"] == {"namespace": "file", "name": "/data/weather.csv"}
    assert query.manifest["sources"][0]["options"] == {"header": "true", "password": "[redacted]"}
    assert [segment["name"] for segment in query.manifest["segments"]] == ["a.seg"]
    assert query.manifest["status"] == "partial"
    assert (query.work.ledger.status, query.work.ledger.expected, query.work.ledger.arrived) == ("partial", 2, 1)


def test_a_look_at_the_log_of_a_table_is_no_run_and_a_query_of_nothing_named_has_no_datasets() -> None:
    def told(plan: dict[str, Any]) -> Query | None:
        return query_of(ended(plan={"sink": None, **plan}), STARTED, CONTEXT, run_id="r", segments=None)

    log = {"source": 0, "path": "file:/lake/t/_delta_log/0.json", "format": "json"}
    assert told({"operators": [{"id": 0, "op": "Scan", "children": [], "source": 0}], "sources": [log]}) is None
    own = told({"operators": [{"id": 0, "op": "Range", "children": []}], "sources": []})
    assert own is not None
    assert (own.work.inputs, own.work.outputs) == ([], [])


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [(Outcome(exit_code=0), "COMPLETE"), (Outcome(), "COMPLETE"), (Outcome(exit_code=3), "FAIL"), (Outcome(error="ValueError: x"), "FAIL")],
)
def test_the_end_of_the_application_says_how_it_ended(outcome: Outcome, kind: str) -> None:
    event = valid(maker().application_end(STARTED, outcome, LEDGER))
    assert event["eventType"] == kind
    assert ("errorMessage" in event["run"]["facets"]) == (kind == "FAIL")


def test_the_start_of_the_application_says_how_it_was_started_and_by_whom() -> None:
    parent, root = str(uuid4()), str(uuid4())
    made = maker(
        OPENLINEAGE_PARENT_ID=f"airflow/dag.task/{parent}", OPENLINEAGE_ROOT_PARENT_RUN_ID=root, OPENLINEAGE_ROOT_PARENT_JOB_NAME="dag"
    )
    invocation = Invocation(
        argv=("job.py", "x"), working_directory="/w", interpreter="/usr/bin/python3", script="/w/job.py", script_sha256="0" * 64
    )
    facets = valid(made.application_start(STARTED, invocation, "active", LEDGER))["run"]["facets"]
    assert facets["headwater_invocation"]["argv"] == ["job.py", "x"]
    assert facets["headwater_invocation"]["script"] == "/w/job.py"
    assert facets["parent"]["run"]["runId"] == parent
    assert facets["parent"]["job"] == {"namespace": "airflow", "name": "dag.task"}
    assert facets["parent"]["root"]["run"]["runId"] == root


def test_a_parent_that_is_no_run_is_left_out() -> None:
    invocation = Invocation(argv=(), working_directory="", interpreter="")
    event = maker(OPENLINEAGE_PARENT_ID="a/b/not-a-uuid").application_start(STARTED, invocation, "active", LEDGER)
    assert "parent" not in event["run"]["facets"]


def test_instants_have_one_form() -> None:
    assert instant(0) == "1970-01-01T00:00:00.000000Z"
    assert instant("2026-01-01T01:00:00+01:00") == instant("2026-01-01T00:00:00Z") == STARTED


def test_ids_of_runs_are_in_the_order_of_time() -> None:
    ids = [new_run_id() for _ in range(3)]
    assert all(UUID(run).version == 7 and UUID(run).variant == RFC_4122 for run in ids)
    assert UUID(ids[0]).int >> 80 <= UUID(ids[2]).int >> 80 <= time.time_ns() // 1_000_000
    assert len(set(ids)) == 3


def test_the_schemas_of_facets_are_those_of_openlineage() -> None:
    """A facet of a version that the package does not know would be a guess."""
    modules = [importlib.import_module(f"{generated.__name__}.{found.name}") for found in pkgutil.iter_modules(generated.__path__)]
    known = {kind._get_schema() for module in modules for kind in vars(module).values() if hasattr(kind, "_get_schema")}
    assert {schema for schema in SCHEMAS.values() if not schema.startswith("urn:headwater:")} <= known
    assert base.RunEvent._get_schema() == EVENT_SCHEMA
