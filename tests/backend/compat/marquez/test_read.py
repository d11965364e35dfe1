"""Every reading call of marquez-python against the running service: what it answers, and that the answer is of Marquez's schemas."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest
from marquez_client import MarquezClient
from marquez_client.errors import APIError

from headwater.graph.access.scopes import Scope
from tests.backend.compat.marquez.conftest import CLEAN, ELSEWHERE, FILES, JOBS, LAKE, RAW, REPORT, _client, events, run_id
from tests.backend.compat.marquez.published import check
from tests.backend.service import ServiceProcess


def names(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def test_namespaces_are_those_of_jobs_and_of_datasets(marquez: MarquezClient) -> None:
    told = check(marquez.list_namespaces(), "/namespaces")
    assert sorted(names(told["namespaces"])) == sorted([JOBS, LAKE, FILES])
    every = names(told["namespaces"])
    assert names(marquez.list_namespaces(limit=1, offset=1)["namespaces"]) == every[1:2]
    assert check(marquez.get_namespace(LAKE), "/namespaces/{namespace}")["name"] == LAKE


def test_sources_are_the_namespaces_of_datasets(marquez: MarquezClient) -> None:
    told = check(marquez.list_sources(), "/sources")
    assert sorted((source["name"], source["type"]) for source in told["sources"]) == [(FILES, "FILE"), (LAKE, "S3")]
    assert check(marquez.get_source(LAKE), "/sources/{source}")["connectionUrl"] == LAKE


def test_jobs_are_told_with_what_they_read_and_write_and_their_last_run(marquez: MarquezClient) -> None:
    told = check(marquez.list_jobs(JOBS), "/namespaces/{namespace}/jobs")
    assert (names(told["jobs"]), told["totalCount"]) == (["clean", "lost", "report.daily"], 3)
    page = marquez.list_jobs(JOBS, limit=1, offset=2)
    assert (names(page["jobs"]), page["totalCount"]) == (["report.daily"], 3)

    job = check(marquez.get_job(JOBS, "report.daily"), "/namespaces/{namespace}/jobs/{job}")
    assert job["inputs"] == [{"namespace": LAKE, "name": CLEAN}]
    assert job["outputs"] == [{"namespace": LAKE, "name": REPORT}]
    assert (job["type"], job["description"], job["location"]) == ("BATCH", "makes report.daily", "https://example.org/jobs.git")
    assert (job["parentJobName"], job["createdAt"], job["updatedAt"]) == (
        "daily",
        "2026-02-01T01:00:00.000000Z",
        "2026-02-02T01:05:00.000000Z",
    )
    assert (job["latestRun"]["id"], job["latestRun"]["state"]) == (run_id("report.daily-2"), "COMPLETED")
    assert [run["id"] for run in job["latestRuns"]] == [run_id("report.daily-2"), run_id("report.daily-1")]
    assert set(job["facets"]) == {"documentation", "sourceCodeLocation", "jobType"}


def test_runs_come_latest_first_with_the_versions_that_they_read_and_wrote(marquez: MarquezClient) -> None:
    told = check(marquez.list_job_runs(JOBS, "report.daily"), "/namespaces/{namespace}/jobs/{job}/runs")
    assert [run["id"] for run in told["runs"]] == [run_id("report.daily-2"), run_id("report.daily-1")]
    page = marquez.list_job_runs(JOBS, "report.daily", limit=1, offset=1)
    assert ([run["id"] for run in page["runs"]], page["totalCount"]) == ([run_id("report.daily-1")], 2)

    run = check(marquez.get_job_run(run_id("report.daily-1")), "/jobs/runs/{id}")
    assert (run["state"], run["durationMs"], run["startedAt"]) == ("COMPLETED", 300_000, "2026-02-01T01:00:00.000000Z")
    assert run["nominalStartTime"] == "2026-01-31T00:00:00Z"
    assert (run["jobVersion"]["namespace"], run["jobVersion"]["name"]) == (JOBS, "report.daily")
    read = {"namespace": LAKE, "name": CLEAN, "version": run_id("clean-1")}  # not that of the second day
    assert [version["datasetVersionId"] for version in run["inputDatasetVersions"]] == [read]
    assert [version["datasetVersionId"]["version"] for version in run["outputDatasetVersions"]] == [run_id("report.daily-1")]
    assert set(run["facets"]) == {"nominalTime", "parent"}

    lost = marquez.get_job_run(run_id("lost-1"))
    assert (lost["state"], lost["durationMs"], lost["outputDatasetVersions"]) == ("FAILED", 30_500, [])
    assert [version["datasetVersionId"]["version"] for version in lost["inputDatasetVersions"]] == [run_id("clean-2")]


def test_facets_are_told_of_a_run_and_of_its_job(reader: httpx.Client) -> None:
    path = f"/api/v1/jobs/runs/{run_id('clean-1')}/facets"
    of_run = check(reader.get(path, params={"type": "run"}).json(), "/jobs/runs/{id}/facets")
    assert (of_run["runId"], set(of_run["facets"])) == (run_id("clean-1"), {"nominalTime", "parent"})
    assert set(check(reader.get(path, params={"type": "job"}).json(), "/jobs/runs/{id}/facets")["facets"]) == {
        "documentation", "sourceCodeLocation", "jobType",
    }  # fmt: skip
    assert reader.get(path).status_code == 400


def test_a_job_has_one_version(reader: httpx.Client, marquez: MarquezClient) -> None:
    path = f"/api/v1/namespaces/{quote(JOBS, safe='')}/jobs/clean/versions"
    told = check(reader.get(path).json(), "/namespaces/{namespace}/jobs/{job}/versions")
    (version,) = told["versions"]
    assert (
        version["version"]
        == marquez.get_job(JOBS, "clean")["currentVersion"]
        == marquez.get_job_run(run_id("clean-1"))["jobVersion"]["version"]
    )
    one = check(reader.get(f"{path}/{version['version']}").json(), "/namespaces/{namespace}/jobs/{job}/versions/{version}")
    assert one == version
    assert reader.get(f"{path}/{run_id('nothing')}").status_code == 404


def test_datasets_are_told_with_fields_tags_and_what_their_columns_are_made_of(marquez: MarquezClient) -> None:
    told = check(marquez.list_datasets(LAKE), "/namespaces/{namespace}/datasets")
    assert (names(told["datasets"]), told["totalCount"]) == ([CLEAN, REPORT], 2)
    assert names(marquez.list_datasets(LAKE, limit=1, offset=1)["datasets"]) == [REPORT]

    clean = check(marquez.get_dataset(LAKE, CLEAN), "/namespaces/{namespace}/datasets/{dataset}")
    assert [(field["name"], field["type"], field["tags"], field["description"]) for field in clean["fields"]] == [
        ("station", "string", ["pii"], "the station"),
        ("wind", "string", [], "the wind"),
    ]
    assert clean["tags"] == ["gold"]
    assert (clean["currentVersion"], clean["lastModifiedAt"]) == (run_id("clean-2"), "2026-02-02T00:05:00.000000Z")
    source = {"namespace": FILES, "dataset": RAW, "transformationDescription": "as it is", "transformationType": "IDENTITY"}
    assert clean["columnLineage"] == [
        {"name": "station", "inputFields": [source | {"field": "station"}]},
        {"name": "wind", "inputFields": [source | {"field": "wind"}]},
    ]
    assert clean == told["datasets"][0]

    report = marquez.get_dataset(LAKE, REPORT)  # nobody states its schema: its columns are known from what they are made of
    assert names(report["fields"]) == ["strongest"]
    elsewhere = marquez.get_dataset(FILES, ELSEWHERE)
    assert (elsewhere["currentVersion"], elsewhere["lastModifiedAt"], elsewhere["columnLineage"]) == (None, None, None)


def test_versions_of_a_dataset_are_what_runs_wrote(marquez: MarquezClient) -> None:
    told = check(marquez.list_dataset_versions(LAKE, CLEAN), "/namespaces/{namespace}/datasets/{dataset}/versions")
    assert ([version["version"] for version in told["versions"]], told["totalCount"]) == ([run_id("clean-2"), run_id("clean-1")], 2)
    one = check(
        marquez.get_dataset_version(LAKE, CLEAN, run_id("clean-1")), "/namespaces/{namespace}/datasets/{dataset}/versions/{version}"
    )
    assert one == told["versions"][1]
    assert (one["createdAt"], one["createdByRun"]["id"]) == ("2026-02-01T00:05:00.000000Z", run_id("clean-1"))
    assert set(one["facets"]) == {"outputStatistics"}


def lineage(reader: httpx.Client, node: str, **parameters: Any) -> dict[str, dict[str, Any]]:
    answer = reader.get("/api/v1/lineage", params={"nodeId": node, **parameters})
    assert answer.status_code == 200, answer.text
    graph = check(answer.json(), "/lineage")["graph"]
    assert [node["id"] for node in graph] == sorted(node["id"] for node in graph)
    return {node["id"]: node for node in graph}


def test_lineage_is_what_a_dataset_came_from_and_what_was_made_of_it(reader: httpx.Client) -> None:
    graph = lineage(reader, f"dataset:{LAKE}:{REPORT}")
    raw, clean, report = f"dataset:{FILES}:{RAW}", f"dataset:{LAKE}:{CLEAN}", f"dataset:{LAKE}:{REPORT}"
    cleaning, reporting = f"job:{JOBS}:clean", f"job:{JOBS}:report.daily"
    assert set(graph) == {raw, clean, report, cleaning, reporting}  # what else reads `clean` is no lineage of the report
    assert graph[clean]["inEdges"] == [{"origin": cleaning, "destination": clean}]
    assert graph[clean]["outEdges"] == [{"origin": clean, "destination": reporting}]
    assert (graph[raw]["inEdges"], graph[report]["outEdges"]) == ([], [])
    assert graph[reporting]["data"]["latestRun"]["id"] == run_id("report.daily-2")
    assert [node["type"] for node in graph.values()] == ["DATASET", "DATASET", "DATASET", "JOB", "JOB"]

    assert set(lineage(reader, f"dataset:{LAKE}:{REPORT}", depth=0)) == {report, reporting, clean}
    assert set(lineage(reader, reporting, depth=0)) == {report, reporting, clean}
    assert f"job:{JOBS}:lost" in lineage(reader, clean)
    assert f"dataset:{FILES}:{ELSEWHERE}" not in lineage(reader, clean)


def of_columns(graph: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in check(graph, "/column-lineage")["graph"]}


def test_column_lineage_is_that_of_a_field_a_dataset_or_a_job(marquez: MarquezClient) -> None:
    raw, clean, strongest = (
        f"datasetField:{FILES}:{RAW}:wind",
        f"datasetField:{LAKE}:{CLEAN}:wind",
        f"datasetField:{LAKE}:{REPORT}:strongest",
    )
    graph = of_columns(marquez.get_column_lineage_by_dataset_field(LAKE, REPORT, "strongest"))
    assert set(graph) == {raw, clean, strongest}
    assert graph[clean]["inEdges"] == [{"origin": clean, "destination": raw}]
    assert graph[clean]["outEdges"] == [{"origin": clean, "destination": strongest}]
    assert (graph[clean]["data"]["fieldType"], graph[clean]["data"]["transformationType"]) == ("string", "IDENTITY")
    source = {"namespace": FILES, "dataset": RAW, "field": "wind", "transformationDescription": "as it is"}
    assert graph[clean]["data"]["inputFields"] == [source | {"transformationType": "IDENTITY", "datasetVersion": None}]
    assert graph[raw]["data"]["inputFields"] == []
    assert set(of_columns(marquez.get_column_lineage_by_dataset_field(LAKE, REPORT, "strongest", depth=1))) == {clean, strongest}

    upstream = {clean, raw, clean.replace("wind", "station"), raw.replace("wind", "station")}
    assert set(of_columns(marquez.get_column_lineage_by_dataset(LAKE, CLEAN))) == upstream
    assert set(of_columns(marquez.get_column_lineage_by_dataset(LAKE, CLEAN, with_downstream=True))) == {*upstream, strongest}
    assert set(of_columns(marquez.get_column_lineage_by_job(JOBS, "report.daily"))) == {raw, clean, strongest}
    assert of_columns(marquez.get_column_lineage_by_job(JOBS, "lost")) == {}


def test_the_runs_behind_a_run_are_those_that_wrote_what_it_read(reader: httpx.Client) -> None:
    asked = {"runId": run_id("report.daily-2")}
    told = check(reader.get("/api/v1/runlineage/upstream", params=asked).json(), "/runlineage/upstream")
    assert [run["run"]["id"] for run in told["runs"]] == [run_id("report.daily-2"), run_id("clean-2")]
    (read,) = told["runs"][0]["inputs"]
    assert read == {"namespace": LAKE, "name": CLEAN, "version": run_id("clean-2"), "producedByRunId": run_id("clean-2")}
    assert told["runs"][1]["job"]["name"] == "clean"
    assert len(reader.get("/api/v1/runlineage/upstream", params=asked | {"depth": 0}).json()["runs"]) == 1
    assert reader.get("/api/v1/runlineage/upstream", params={"runId": "x"}).status_code == 404


def test_tags_are_told_by_name(marquez: MarquezClient) -> None:
    assert names(check(marquez.list_tags(), "/tags")["tags"]) == ["gold", "pii"]


def search(reader: httpx.Client, q: str, **parameters: Any) -> list[str]:
    answer = reader.get("/api/v1/search", params={"q": q, **parameters})
    assert answer.status_code == 200, answer.text
    told = check(answer.json(), "/search")
    assert told["totalCount"] == len(told["results"])
    return [result["nodeId"] for result in told["results"]]


def test_search_finds_jobs_and_datasets_by_a_part_of_their_name(reader: httpx.Client) -> None:
    cleaning, clean = f"job:{JOBS}:clean", f"dataset:{LAKE}:{CLEAN}"
    assert search(reader, "CLEA") == [clean, cleaning]
    assert search(reader, "clea", filter="JOB") == search(reader, "clea", filter="job") == [cleaning]
    assert search(reader, "clea", limit=1) == [clean]
    assert search(reader, "clea", namespace=JOBS) == [cleaning]
    assert search(reader, "cl_an") == [*search(reader, "C%n", namespace=LAKE), cleaning] == [clean, cleaning]
    assert search(reader, "cl__an") == []
    assert search(reader, "e", sort="UPDATED_AT", filter="job") == [f"job:{JOBS}:report.daily", cleaning]
    assert search(reader, "clea", before="2026-02-02") == []
    assert search(reader, "o", filter="job", after="2026-02-03") == [f"job:{JOBS}:lost"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("namespaces/nowhere", "Namespace 'nowhere' not found."),
        ("namespaces/nowhere/jobs", "Namespace 'nowhere' not found."),
        ("namespaces/file/datasets/nothing", "Dataset 'nothing' not found."),
        ("namespaces/tests%2Fjobs/jobs/nothing", "Job 'nothing' not found."),
        ("namespaces/tests%2Fjobs/jobs/nothing/runs", "Job 'nothing' not found."),
        ("jobs/runs/00000000-0000-0000-0000-000000000000", "Run '00000000-0000-0000-0000-000000000000' not found."),
        ("sources/tests%2Fjobs", "Source 'tests/jobs' not found."),
        ("lineage?nodeId=dataset:file:nothing", "Node 'dataset:file:nothing' not found."),
    ],
)
def test_what_is_not_there_is_told_as_marquez_tells_it(reader: httpx.Client, path: str, message: str) -> None:
    answer = reader.get(f"/api/v1/{path}")
    told = answer.json()
    assert (answer.status_code, told["code"], told["message"]) == (404, 404, message)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("namespaces/file/datasets?limit=-1", 400),
        ("namespaces/file/datasets?limit=1001", 400),
        ("namespaces/file/datasets?offset=-1", 400),
        ("namespaces/%ff/datasets", 400),
        ("jobs?lastRunStates=LOST", 400),
        ("lineage?nodeId=nothing", 400),
        ("lineage?nodeId=run:file:x", 400),
        ("lineage", 400),
        (f"lineage?nodeId=dataset:{LAKE}:{CLEAN}%23{run_id('clean-1')}", 422),
        (f"lineage?nodeId=dataset:{':' * 50}", 400),
        ("column-lineage?nodeId=dataset:file:nothing", 404),
        ("column-lineage?nodeId=run:file:x", 400),
        (f"column-lineage?nodeId=dataset:{LAKE}:{CLEAN}&depth=-1", 400),
        ("search?q=", 400),
        (f"search?q={'x' * 201}", 400),
        ("search?q=x&sort=size", 400),
        ("search?q=x&before=soon", 400),
        ("jobs/runs/x/facets?type=dataset", 400),
    ],
)
def test_what_cannot_be_answered_is_refused(reader: httpx.Client, path: str, status: int) -> None:
    assert reader.get(f"/api/v1/{path}").status_code == status


def test_the_client_is_told_of_errors_as_errors(marquez: MarquezClient) -> None:
    with pytest.raises(APIError):
        marquez.get_job(JOBS, "nothing")


def test_events_come_as_they_were_sent_the_last_first(marquez: MarquezClient, reader: httpx.Client) -> None:
    sent = events()
    told = check(reader.get("/api/v1/events/lineage", params={"limit": 3}).json(), "/events/lineage")
    assert (told["events"], told["totalCount"]) == (sent[:-4:-1], len(sent))
    assert [event["eventTime"] for event in marquez.list_events(limit=2, offset=1)["events"]] == [
        event["eventTime"] for event in sent[-2:-4:-1]
    ]
    first = reader.get("/api/v1/events/lineage", params={"limit": 1, "sortDirection": "asc"}).json()["events"]
    assert [(event["eventTime"], event["run"]["runId"]) for event in first] == [(sent[0]["eventTime"], sent[0]["run"]["runId"])]


def test_events_may_be_asked_for_by_the_time_that_they_state(reader: httpx.Client) -> None:
    asked = {"after": "2026-02-02T01:00:00Z", "before": "2026-02-03T00:00:30.5Z", "sortDirection": "asc"}
    told = check(reader.get("/api/v1/events/lineage", params=asked).json(), "/events/lineage")
    assert [event["eventTime"] for event in told["events"]] == [
        "2026-02-02T01:00:00.000Z", "2026-02-02T01:05:00.000Z", "2026-02-03T00:00:00.000Z"
    ]  # fmt: skip
    assert told["totalCount"] == 3
    refused = reader.get("/api/v1/events/lineage", params={"after": "yesterday"})
    assert (refused.status_code, refused.json()["field"]) == (400, "after")


def test_events_tell_values_of_columns_to_those_alone_who_may_see_them(told: ServiceProcess, reader: httpx.Client) -> None:
    with _client(told, Scope.READ, Scope.RECORDS) as analyst:
        assert "4711" in analyst.get("/api/v1/events/lineage").text
    assert "4711" not in reader.get("/api/v1/events/lineage").text
    assert [dataset["name"] for event in reader.get("/api/v1/events/lineage").json()["events"] for dataset in event["inputs"]]
