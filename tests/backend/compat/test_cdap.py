"""CDAP's lineage API, against a graph that is made of events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4, uuid5

import httpx
import jsonschema
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.api.access import RULES
from headwater.backend.app import create_app
from headwater.backend.home.settings import load_settings
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind, node_id
from tests.backend.events import facet
from tests.backend.service import ServiceProcess

LAKE = "s3://lake"
_NAMES = UUID("0f7f6d8c-30d7-4a53-8a2f-6f0a5d0b6c9e")
FIRST, SECOND = 1_769_904_000, 1_769_990_400  # 2026-02-01 and 2026-02-02, at midnight
ALL = {"start": "0", "end": "now"}
SOURCE = {"namespace": LAKE, "dataset": "raw", "entity": "DATASET"}


def run_id(name: str) -> str:
    return str(uuid5(_NAMES, name))


def lineage(**fields: tuple[str, str, str]) -> dict[str, Any]:
    return facet(
        fields={
            field: {
                "inputFields": [
                    {"namespace": LAKE, "name": dataset, "field": source, "transformations": [{"type": "DIRECT", "subtype": how}]}
                ]
            }
            for field, (dataset, source, how) in fields.items()
        }
    )


def event(run: str, job: str, day: int, reads: str, writes: str, **fields: tuple[str, str, str]) -> dict[str, Any]:
    schema = facet(fields=[{"name": name, "type": "string"} for name in (*fields, "note")])
    return {
        "eventType": "COMPLETE",
        "eventTime": f"2026-02-0{day}T00:00:00Z",
        "producer": "https://example.org/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": run_id(run),
            "facets": {"parent": facet(run={"runId": run_id(f"nightly-{day}")}, job={"namespace": "jobs", "name": "nightly"})},
        },
        "job": {"namespace": "jobs", "name": job},
        "inputs": [{"namespace": LAKE, "name": reads}],
        "outputs": [{"namespace": LAKE, "name": writes, "facets": {"schema": schema, "columnLineage": lineage(**fields)}}],
    }


EVENTS = [
    event("clean-1", "clean", 1, "raw", "people/all", name=("raw", "first", "IDENTITY"), age=("raw", "born", "TRANSFORMATION")),
    event("clean-2", "clean", 2, "raw", "people/all", name=("raw", "first", "IDENTITY"), age=("raw", "born", "TRANSFORMATION")),
    event("report-2", "report", 2, "people/all", "report", oldest=("people/all", "age", "AGGREGATION")),
]


@pytest.fixture(scope="module")
def told(service: ServiceProcess) -> ServiceProcess:
    with _client(service, "cdap", Scope.INTAKE) as client:
        assert client.post("/api/v1/lineage", json=EVENTS).status_code == 201
    service.settled()
    return service


@pytest.fixture
def reader(told: ServiceProcess) -> Iterator[httpx.Client]:
    with _client(told, "cdap", Scope.READ) as client:
        yield client


def _client(service: ServiceProcess, tenant: str, *scopes: Scope) -> httpx.Client:
    ring = KeyRing(service.home.named_keys)
    _, key = ring.create(f"c-{uuid4().hex}", frozenset(scopes), tenant=tenant)
    ring.close()
    return service.client(key=False, headers={"Authorization": f"Bearer {key}"})


def ask(reader: httpx.Client, dataset: str, rest: str = "", **parameters: Any) -> Any:
    path = f"/v3/namespaces/{quote(LAKE, safe='')}/datasets/{quote(dataset, safe='')}/lineage{rest}"
    answer = reader.get(path, params=ALL | parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_fields_are_those_that_a_program_made(reader: httpx.Client) -> None:
    assert ask(reader, "people/all", "/fields") == ["age", "name"]
    assert ask(reader, "people/all", "/fields", prefix="na") == ["name"]
    assert ask(reader, "people/all", "/fields", includeCurrent="true") == [
        {"name": "age", "lineage": True}, {"name": "name", "lineage": True}, {"name": "note", "lineage": False},
    ]  # fmt: skip
    assert ask(reader, "raw", "/fields") == []


def test_the_end_of_a_time_is_not_within_it(reader: httpx.Client) -> None:
    assert ask(reader, "report", "/fields", start=FIRST, end=SECOND) == []
    assert ask(reader, "report", "/fields", start=SECOND, end=SECOND + 1) == ["oldest"]
    assert ask(reader, "people/all", "/fields", start=FIRST, end=FIRST + 1) == ["age", "name"]
    assert ask(reader, "people/all", "/fields", start=SECOND + 1, end="now") == []
    assert ask(reader, "people/all", "/fields", start=f"now-{10_000}d+1h", end="NOW-1s") == ["age", "name"]


def test_a_field_comes_from_fields_one_program_away_and_goes_into_others(reader: httpx.Client) -> None:
    incoming, outgoing = [{"dataset": SOURCE, "fields": ["born"]}], [{"dataset": SOURCE | {"dataset": "report"}, "fields": ["oldest"]}]
    assert ask(reader, "people/all", "/fields/age", direction="both") == {"incoming": incoming, "outgoing": outgoing}
    assert ask(reader, "people/all", "/fields/age", direction="incoming") == {"incoming": incoming}
    assert ask(reader, "people/all", "/fields/age", direction="outgoing") == {"outgoing": outgoing}
    assert ask(reader, "report", "/fields/oldest", direction="incoming", end=SECOND) == {"incoming": []}


def test_operations_lead_from_reading_to_writing(reader: httpx.Client) -> None:
    (made,) = ask(reader, "people/all", "/fields/age/operations", direction="incoming")["incoming"]
    program = {
        "namespace": "jobs",
        "application": "nightly",
        "version": "-SNAPSHOT",
        "type": "SPARK",
        "program": "clean",
        "entity": "PROGRAM",
    }
    assert made["programs"] == [{"program": program, "lastExecutedTimeInSeconds": SECOND}]
    read, write = f"Read {LAKE}:raw", f"Write {LAKE}:people/all"
    assert made["operations"] == [
        {"name": read, "description": "", "inputs": {"endPoint": {"namespace": LAKE, "name": "raw"}}, "outputs": {"fields": ["born"]}},
        {
            "name": "TRANSFORMATION 1", "description": "",
            "inputs": {"fields": [{"origin": read, "name": "born"}]}, "outputs": {"fields": ["age"]},
        },
        {
            "name": write, "description": "",
            "inputs": {"fields": [{"origin": "TRANSFORMATION 1", "name": "age"}]},
            "outputs": {"endPoint": {"namespace": LAKE, "name": "people/all"}},
        },
    ]  # fmt: skip
    both = ask(reader, "people/all", "/fields/age/operations")
    assert both["incoming"] == [made]
    assert [operation["name"] for operation in both["outgoing"][0]["operations"]][1] == "AGGREGATION 1"


def relations(told: dict[str, Any]) -> list[tuple[str, str, list[str], list[str]]]:
    return [(one["data"], one["program"], one["accesses"], one["runs"]) for one in told["relations"]]


def test_datasets_are_told_with_the_runs_that_read_and_wrote_them(reader: httpx.Client) -> None:
    cleaning, reporting = "spark.jobs.nightly.clean", "spark.jobs.nightly.report"
    raw, people, report = f"dataset.{LAKE}.raw", f"dataset.{LAKE}.people/all", f"dataset.{LAKE}.report"
    told = ask(reader, "report", start=FIRST, end=SECOND + 1)
    assert (told["start"], told["end"], set(told["data"]), set(told["programs"])) == (
        FIRST, SECOND + 1, {raw, people, report}, {cleaning, reporting},
    )  # fmt: skip
    assert told["data"][people] == {"entityId": SOURCE | {"dataset": "people/all"}}
    both = sorted([run_id("clean-1"), run_id("clean-2")])
    assert relations(told) == [
        *((people, cleaning, ["write"], [run]) for run in both),
        (people, reporting, ["read"], [run_id("report-2")]),
        *((raw, cleaning, ["read"], [run]) for run in both),
        (report, reporting, ["write"], [run_id("report-2")]),
    ]
    told = ask(reader, "people/all", start=FIRST, end=SECOND, collapse=["run", "access"])
    assert relations(told) == [(people, cleaning, ["write"], [run_id("clean-1")]), (raw, cleaning, ["read"], [run_id("clean-1")])]
    assert set(ask(reader, "report", levels=1)["data"]) == {people, report}
    assert relations(ask(reader, "report", end=FIRST)) == []


def test_pipelines_stand_for_their_jobs(reader: httpx.Client) -> None:
    told = ask(reader, "people/all", rollup="workflow", collapse="access", start=FIRST, end=SECOND)
    (program,) = told["programs"]
    assert program == "workflows.jobs.nightly.nightly"
    assert told["programs"][program]["entityId"]["type"] == "WORKFLOW"
    assert {tuple(one["runs"]) for one in told["relations"]} == {(run_id("nightly-1"),)}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("raw/lineage?start=0", 400),
        ("raw/lineage?start=now&end=0", 400),
        ("raw/lineage?start=yesterday&end=now", 400),
        ("raw/lineage?start=0&end=99999999999999", 400),
        ("raw/lineage?start=0&end=now%2B999999999d", 400),
        ("raw/lineage?start=0&end=now&levels=0", 400),
        ("raw/lineage?start=0&end=now&collapse=x", 400),
        ("raw/lineage?start=0&end=now&rollup=x", 400),
        ("raw/lineage/fields/first?start=0&end=now", 400),
        ("raw/lineage/fields/first?start=0&end=now&direction=up", 400),
        ("raw/lineage/fields/nothing?start=0&end=now&direction=both", 404),
        ("nothing/lineage?start=0&end=now", 404),
    ],
)
def test_what_cannot_be_answered_is_refused(reader: httpx.Client, path: str, status: int) -> None:
    assert reader.get(f"/v3/namespaces/{quote(LAKE, safe='')}/datasets/{path}").status_code == status


def test_it_needs_the_scope_to_read_and_tells_each_tenant_of_its_own(told: ServiceProcess, stranger: httpx.Client) -> None:
    values = {"namespace": quote(LAKE, safe=""), "dataset": "raw", "field": "first"}
    with _client(told, "cdap", Scope.EXPORT) as exporter, _client(told, "cdap-other", Scope.READ) as other:
        for path in (path.format(**values) for (_, path), rule in RULES.items() if rule.operation == "cdap"):
            asked = ALL | {"direction": "both", "query": "oldest"}
            if path.endswith("/search"):
                assert [who.get(path, params=asked).status_code for who in (stranger, exporter, other)] == [401, 403, 200], path
                assert other.get(path, params=asked).json()["results"] == []
                continue
            assert [who.get(path, params=asked).status_code for who in (stranger, exporter, other)] == [401, 403, 404], path
    assert stranger.get("/v3/anything").status_code == 401


PROGRAM = "/v3/namespaces/jobs/apps/nightly/spark/parse/runs"
PASSENGERS = {"namespace": LAKE, "name": "passengers"}


def operation(name: str, inputs: dict[str, Any] | list[tuple[str, str]], outputs: dict[str, Any] | list[str]) -> dict[str, Any]:
    taken = {"endPoint": inputs} if isinstance(inputs, dict) else {"fields": [{"origin": of, "name": field} for of, field in inputs]}
    return {
        "name": name,
        "description": f"{name}!",
        "inputs": taken,
        "outputs": {"endPoint" if isinstance(outputs, dict) else "fields": outputs},
    }


RECORDED = [
    operation("write", [("join", "fullName"), ("parse", "city")], PASSENGERS),  # in any order
    operation("read", {"namespace": LAKE, "name": "lines"}, ["offset", "body"]),
    operation("parse", [("read", "body")], ["first", "last", "city"]),
    operation("join", [("parse", "first"), ("parse", "last")], ["fullName"]),
    operation("number", [], ["id"]),
]
BY_NAME = {one["name"]: one for one in RECORDED}


def record(client: httpx.Client, run: str, operations: Any = RECORDED, **more: Any) -> httpx.Response:
    return client.post(f"{PROGRAM}/{run}/lineage/operations", json={"operations": operations, **more})


@pytest.fixture(scope="module")
def recorded(told: ServiceProcess) -> ServiceProcess:
    with _client(told, "recorder", Scope.DECLARE) as client:
        assert record(client, run_id("parse"), time="2026-02-01T00:00:00Z").json() == {"run": run_id("parse"), "duplicate": False}
        assert record(client, run_id("parse"), time="2026-02-01T00:00:00Z").json()["duplicate"]
    with _client(told, "recorder", Scope.READ) as reader:
        _wait_for(reader, "passengers")
    return told


def _wait_for(reader: httpx.Client, dataset: str) -> None:
    """Wait until the graph of a tenant has a dataset."""
    deadline = time.monotonic() + 60
    path = f"/v3/namespaces/{quote(LAKE, safe='')}/datasets/{dataset}/lineage/fields"
    while reader.get(path, params=ALL).status_code == 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_recorded_operations_are_told_as_recorded_and_as_declared(recorded: ServiceProcess) -> None:
    with _client(recorded, "recorder", Scope.READ) as reader:
        assert ask(reader, "passengers", "/fields") == ["city", "fullName"]
        lines = [{"dataset": SOURCE | {"dataset": "lines"}, "fields": ["body"]}]
        assert ask(reader, "passengers", "/fields/fullName", direction="incoming") == {"incoming": lines}
        (made,) = ask(reader, "passengers", "/fields/fullName/operations", direction="incoming")["incoming"]
        assert made["declared"] is True
        assert made["programs"][0]["program"]["application"] == "nightly"
        assert made["programs"][0]["program"]["program"] == "parse"
        assert made["programs"][0]["lastExecutedTimeInSeconds"] == FIRST
        of_name = BY_NAME["write"] | {"inputs": {"fields": [{"origin": "join", "name": "fullName"}]}}
        assert made["operations"] == [BY_NAME["read"], BY_NAME["parse"], BY_NAME["join"], of_name]
        (used,) = ask(reader, "lines", "/fields/body/operations", direction="outgoing")["outgoing"]
        assert [one["name"] for one in used["operations"]] == ["read", "parse", "join", "write"]
        assert used["operations"][0]["outputs"] == {"fields": ["body"]}
        assert ask(reader, "lines", "/fields/offset/operations") == {"incoming": [], "outgoing": []}
        assert ask(reader, "passengers", "/fields/city/operations", direction="incoming", end=FIRST) == {"incoming": []}


def paths(reader: httpx.Client, dataset: str, field: str, **parameters: Any) -> Any:
    path = f"/v3/namespaces/{quote(LAKE, safe='')}/datasets/{quote(dataset, safe='')}/fields/{field}/lineage"
    answer = reader.get(path, params=ALL | parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_first_endpoint_has_paths_with_the_runs_that_went_them(reader: httpx.Client, recorded: ServiceProcess) -> None:
    found = paths(reader, "people/all", "age", start=FIRST, end=SECOND + 1)
    (made,) = ask(reader, "people/all", "/fields/age/operations", direction="incoming")["incoming"]
    assert (found["startTimeInSeconds"], found["endTimeInSeconds"]) == (FIRST, SECOND + 1)
    (path,) = found["paths"]
    assert path == {
        "programs": [made["programs"][0]["program"]], "runs": sorted([run_id("clean-1"), run_id("clean-2")]), "path": made["operations"],
    }  # fmt: skip
    assert paths(reader, "people/all", "age", start=FIRST, end=SECOND)["paths"][0]["runs"] == [run_id("clean-1")]
    assert paths(reader, "people/all", "note")["paths"] == []
    assert paths(reader, "raw", "born")["paths"] == []
    with _client(recorded, "recorder", Scope.READ) as declared:
        (path,) = paths(declared, "passengers", "fullName")["paths"]
        assert (path["declared"], path["runs"]) == (True, [run_id("parse")])
        assert [operation["name"] for operation in path["path"]] == ["read", "parse", "join", "write"]


def test_captured_operations_are_not_marked_as_declared(reader: httpx.Client) -> None:
    (made,) = ask(reader, "people/all", "/fields/age/operations", direction="incoming")["incoming"]
    assert "declared" not in made


def test_a_run_that_says_when_it_was_needs_no_time_and_is_recorded_once(told: ServiceProcess) -> None:
    ticks = (FIRST + 3600) * 10**7 + 0x01B21DD213814000  # since 1582, as version 1 counts
    run = str(UUID(fields=(ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 | 0x1000, 0x80, 0, 0x0242AC120002)))
    with _client(told, "timed", Scope.DECLARE, Scope.READ) as client:
        assert not record(client, run).json()["duplicate"]
        assert record(client, run).json()["duplicate"]
        _wait_for(client, "passengers")
        (made,) = ask(client, "passengers", "/fields/city/operations", direction="incoming", start=FIRST, end=SECOND)["incoming"]
        assert FIRST <= made["programs"][0]["lastExecutedTimeInSeconds"] < SECOND


@pytest.mark.parametrize(
    ("case", "operations", "field"),
    [
        ("no list", None, "$.operations"),
        ("nothing", [], "$.operations"),
        ("a read alone", [BY_NAME["read"]], "$.operations"),
        ("two of one name", [*RECORDED, BY_NAME["read"]], "$.operations"),
        ("an unknown origin", [*RECORDED, operation("x", [("nobody", "body")], ["y"])], "$.operations[5].inputs.fields[0]"),
        (
            "a field that its origin does not give",
            [*RECORDED, operation("x", [("read", "city")], ["y"])],
            "$.operations[5].inputs.fields[0]",
        ),
        ("a field of what was written", [*RECORDED, operation("x", [("write", "city")], ["y"])], "$.operations[5].inputs.fields[0]"),
        ("a circle", [*RECORDED, operation("x", [("z", "z")], ["y"]), operation("z", [("x", "y")], ["z"])], "$.operations"),
        ("from dataset to dataset", [*RECORDED, operation("x", PASSENGERS, PASSENGERS)], "$.operations[5]"),
        ("an unknown member", [{**BY_NAME["read"], "type": "READ"}], "$.operations[0].type"),
        ("a number for a name", [{**BY_NAME["read"], "name": 5}], "$.operations[0].name"),
    ],
)
def test_operations_that_say_nothing_are_refused_by_their_path(told: ServiceProcess, case: str, operations: Any, field: str) -> None:
    with _client(told, "recorder", Scope.DECLARE) as client:
        refused = record(client, run_id("refused"), operations)
        assert (refused.status_code, refused.json()["field"]) == (400, field), case
        assert record(client, "no-uuid").status_code == 400


def test_many_fields_of_many_fields_are_refused(told: ServiceProcess) -> None:
    names = [f"f{number}" for number in range(300)]
    mixed = [
        operation("read", {"namespace": LAKE, "name": "wide"}, names), operation("mix", [("read", name) for name in names], names),
        operation("write", [("mix", name) for name in names], PASSENGERS),
    ]  # fmt: skip
    with _client(told, "recorder", Scope.DECLARE) as client:
        refused = record(client, run_id("wide"), mixed)
        assert refused.status_code == 400
        assert "20,000" in refused.json()["message"]


def test_who_may_not_declare_records_nothing(told: ServiceProcess) -> None:
    with _client(told, "cdap", Scope.READ, Scope.INTAKE) as client:
        assert record(client, run_id("parse")).status_code == 403


def test_the_documented_example_is_recorded_and_fits_the_schema(told: ServiceProcess, root: Path) -> None:
    section = (root / "docs" / "reference" / "other-clients.md").read_text(encoding="utf-8").partition("### Recording operations")[2]
    path = section.partition("POST ")[2].partition("\n")[0]
    example = json.loads(section.partition("```json\n")[2].partition("```")[0])
    named = "/v3/namespaces/{namespace}/apps/{application}/{type}/{program}/runs/{run}/lineage/operations"
    specified = create_app(load_settings(home=told.home.path)).openapi()["paths"][named]["post"]
    schema = specified["requestBody"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(example, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"operations": [{"name": "read"}]}, schema)
    with _client(told, "example", Scope.DECLARE, Scope.READ) as client:
        assert client.post(path, json=example).json() == {"run": path.split("/")[9], "duplicate": False}
        _wait_for(client, "passengers")
        (made,) = ask(client, "passengers", "/fields/fullName/operations", direction="incoming")["incoming"]
        assert made["declared"]
        assert [one["name"] for one in made["operations"]] == ["read", "parse", "join", "write"]
        asked = "{ fieldLineage(column: %s, detailed: true) { edges { operations { subtype description declared } } } }"
        column = node_id(NodeKind.COLUMN, LAKE, "passengers", "fullName")
        (edge,) = client.post("/graphql", json={"query": asked % json.dumps(column)}).json()["data"]["fieldLineage"]["edges"]
        assert edge["operations"] == [{"subtype": "TRANSFORMATION", "description": "parse, join", "declared": True}]


def _searched(client: httpx.Client, query: str, namespace: str | None = LAKE, **more: Any) -> list[tuple[str, dict[str, str]]]:
    path = f"/v3/namespaces/{quote(namespace, safe='')}/metadata/search" if namespace else "/v3/metadata/search"
    answer = client.get(path, params={"query": query, "target": "dataset", **more})
    assert answer.status_code == 200, answer.text
    found = []
    for result in answer.json()["results"]:
        properties = result["metadata"]["SYSTEM"]["properties"]
        assert result["metadataEntity"]["details"] == {"namespace": result["entityId"]["namespace"], "dataset": properties["entity-name"]}
        found.append((result["entityId"]["dataset"], {name: value for name, value in properties.items() if name != "entity-name"}))
    return found


def test_datasets_are_found_by_their_fields(told: ServiceProcess) -> None:
    with _client(told, "cdap", Scope.READ) as client:
        assert _searched(client, "OLDEST") == [("report", {"schema:oldest": "oldest:string"})]
        assert _searched(client, "old") == [], "a field is called so, or begins so where the term ends in *"
        assert _searched(client, "na* oldest") == [
            ("people/all", {"schema:name": "name:string"}), ("report", {"schema:oldest": "oldest:string"}),
        ]  # fmt: skip
        assert [name for name, _ in _searched(client, "note:string")] == ["people/all", "report"]
        assert _searched(client, "note:int") == []
        assert _searched(client, "first:string") == [], "no schema says what type it has"
        assert _searched(client, "people*") == [("people/all", {})], "datasets are found by their names, too"
        assert _searched(client, "note", limit=1, offset=1) == [("report", {"schema:note": "note:string"})]
        assert _searched(client, "note", "s3://elsewhere") == []
        assert _searched(client, "oldest", None) == _searched(client, "oldest")
        answer = client.get("/v3/metadata/search", params={"query": "note", "limit": 1}).json()
        assert (answer["total"], answer["limit"], len(answer["results"])) == (2, 1, 1)
        for asked in ({"query": "*"}, {"query": " "}, {"query": "a " * 11}, {"query": "a", "target": "app"}, {}):
            assert client.get("/v3/metadata/search", params=asked).status_code == 400, asked
