"""Every call of Marquez's own page (0.51, the functions below `web/src/store/requests`), in the page's words, and the form that it expects.

A form names what the page reads (`web/src/types`), and what it takes without a look at whether it is there.
"""

from __future__ import annotations

from types import NoneType
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from headwater.graph.access.scopes import Scope
from tests.backend.compat.marquez.conftest import CLEAN, JOBS, LAKE, REPORT, _client, run_id
from tests.backend.service import ServiceProcess

_TEXT, _MAYBE = (str,), (str, NoneType)
_ID = {"namespace": _TEXT, "name": _TEXT}
_RUN = {
    "id": _TEXT, "createdAt": _TEXT, "updatedAt": _TEXT, "nominalStartTime": _MAYBE, "nominalEndTime": _MAYBE, "state": _TEXT,
    "jobVersion": _ID | {"version": _TEXT}, "startedAt": _MAYBE, "endedAt": _MAYBE, "durationMs": (int, NoneType), "args": {}, "facets": {},
}  # fmt: skip
_JOB = {
    "id": _ID, "type": _TEXT, "name": _TEXT, "simpleName": _TEXT, "createdAt": _TEXT, "updatedAt": _TEXT, "inputs": [_ID], "outputs": [_ID],
    "namespace": _TEXT, "location": _MAYBE, "description": _MAYBE, "latestRun": _RUN, "tags": [_TEXT], "parentJobName": _MAYBE,
    "parentJobUuid": _MAYBE,
}  # fmt: skip
_LISTED_JOB = _JOB | {"latestRuns": [_RUN]}  # its first page draws these as bars
_FIELD = {"name": _TEXT, "type": _MAYBE, "tags": [_TEXT], "description": _MAYBE}
_TABLE = {
    "type": _TEXT, "name": _TEXT, "physicalName": _TEXT, "createdAt": _TEXT, "namespace": _TEXT, "sourceName": _TEXT, "fields": [_FIELD],
    "tags": [_TEXT], "description": _MAYBE, "facets": {},
}  # fmt: skip
_DATASET = _TABLE | {"id": _ID, "updatedAt": _TEXT, "lastModifiedAt": _MAYBE, "deleted": (bool,), "columnLineage": (list, NoneType)}
_VERSION = _TABLE | {"id": _ID | {"version": _TEXT}, "createdByRun": _RUN, "version": _TEXT, "lifecycleState": _MAYBE}
_EDGE = {"origin": _TEXT, "destination": _TEXT}
_NODE = {"id": _TEXT, "type": _TEXT, "inEdges": [_EDGE], "outEdges": [_EDGE]}
_SOURCE = {
    "namespace": _TEXT, "dataset": _TEXT, "datasetVersion": _MAYBE, "field": _TEXT, "transformationDescription": _MAYBE,
    "transformationType": _MAYBE,
}  # fmt: skip
_COLUMN = _NODE | {"data": _SOURCE | {"fieldType": _TEXT, "inputFields": [_SOURCE]}}
_PART = _ID | {"facets": {}}
_EVENT = {
    "eventType": _TEXT, "eventTime": _TEXT, "producer": _TEXT, "schemaURL": _TEXT, "run": {"runId": _TEXT, "facets": {}}, "job": _PART,
    "inputs": [_PART], "outputs": [_PART],
}  # fmt: skip
_INTERVAL = {"startInterval": _TEXT, "endInterval": _TEXT}
_FACETS = {"runId": _TEXT, "facets": {}}
_HIT = _ID | {"run_id": _TEXT, "eventType": _TEXT, "facets": {}}
_HITS = {"hits": [_HIT], "highlights": [{}]}


def _in_path(name: str) -> str:
    return quote(name, safe="")


_JOB_AT = f"/api/v1/namespaces/{_in_path(JOBS)}/jobs/clean"
_DATASET_AT = f"/api/v1/namespaces/{_in_path(LAKE)}/datasets/{_in_path(CLEAN)}"
_SEARCHED = {"type": _TEXT, "name": _TEXT, "namespace": _TEXT, "nodeId": _TEXT, "updatedAt": _TEXT}
_FOUND = {"totalCount": (int,), "results": [_SEARCHED]}
_JOB_LIST = {"jobs": [_LISTED_JOB], "totalCount": (int,)}
CALLS: dict[str, tuple[str, Any]] = {
    "getColumnLineage": (
        f"/api/v1/column-lineage?nodeId=dataset:{_in_path(LAKE)}:{_in_path(CLEAN)}&depth=2&withDownstream=true",
        {"graph": [_COLUMN]},
    ),
    "getDatasets": (
        f"/api/v1/namespaces/{_in_path(LAKE)}/datasets?limit=20&offset=0",
        {"datasets": [_DATASET], "totalCount": (int,)},
    ),
    "getDatasetVersions": (f"{_DATASET_AT}/versions?limit=10&offset=0", {"versions": [_VERSION], "totalCount": (int,)}),
    "getDataset": (_DATASET_AT, _DATASET),
    "getEvents": (
        "/api/v1/events/lineage?limit=20&before=2026-02-04T00:00:00.000Z&after=2026-02-01T00:00:00.000Z&offset=0&sortDirection=desc",
        {"events": [_EVENT], "totalCount": (int,)},
    ),
    "getEvents, of any day": ("/api/v1/events/lineage?limit=100&before=&after=&offset=0&sortDirection=desc", {"events": [_EVENT]}),
    "getRunFacets": (f"/api/v1/jobs/runs/{run_id('clean-1')}/facets?type=run", _FACETS),
    "getJobFacets": (f"/api/v1/jobs/runs/{run_id('clean-1')}/facets?type=job", _FACETS),
    "getIntervalMetrics, jobs": ("/api/v1/stats/jobs?period=DAY&timezone=Europe/Berlin", [_INTERVAL | {"count": (int,)}]),
    "getIntervalMetrics, datasets": ("/api/v1/stats/datasets?period=WEEK&timezone=UTC", [_INTERVAL | {"count": (int,)}]),
    "getIntervalMetrics, sources": ("/api/v1/stats/sources?period=WEEK&timezone=Asia/Kolkata", [_INTERVAL | {"count": (int,)}]),
    "getLineageMetrics": (
        "/api/v1/stats/lineage-events?period=DAY&timezone=UTC",
        [_INTERVAL | dict.fromkeys(("fail", "start", "complete", "abort"), (int,))],
    ),
    "getJobs": ("/api/v1/jobs?limit=25&offset=0", _JOB_LIST),
    "getJobs, of a namespace": (f"/api/v1/namespaces/{_in_path(JOBS)}/jobs?limit=25&offset=0", _JOB_LIST),
    "getJobs, by their last run": ("/api/v1/jobs?limit=10&offset=0&lastRunStates=COMPLETED", _JOB_LIST),
    "getRuns": (f"{_JOB_AT}/runs?limit=14&offset=0", {"runs": [_RUN], "totalCount": (int,)}),
    "getJob": (_JOB_AT, _LISTED_JOB),
    "getLineage": (
        f"/api/v1/lineage?nodeId=job:{_in_path(JOBS)}:clean&depth=2",
        {"graph": [_NODE | {"data": {"id": _ID, "type": _TEXT, "name": _TEXT, "namespace": _TEXT}}]},
    ),
    "getNamespaces": (
        "/api/v1/namespaces",
        {"namespaces": [{"name": _TEXT, "ownerName": _TEXT, "description": _MAYBE, "isHidden": (bool,)}]},
    ),
    "getSearch": ("/api/v1/search?q=clea&sort=NAME&limit=100", _FOUND),
    "getSearch, the latest first": ("/api/v1/search?q=clea&sort=UPDATE_AT&limit=100", _FOUND),
    "getSearch, jobs": ("/api/v1/search?q=clea&sort=UPDATE_AT&limit=100&filter=JOB", _FOUND),
    "getOpenSearchJobs": ("/api/v2beta/search/jobs?q=clea", {**_HITS, "hits": [_HIT | {"type": _TEXT, "runFacets": {}}]}),
    "getOpenSearchDatasets": ("/api/v2beta/search/datasets?q=clea", _HITS),
    "getTags": ("/api/v1/tags", {"tags": [{"name": _TEXT, "description": _MAYBE}]}),
}


def _unlike(answer: Any, form: Any, place: str = "$") -> list[str]:
    """Differences between an answer and a form: a tuple of types, an object with these members at least, or a list of at least one such."""
    if isinstance(form, tuple):
        return [] if isinstance(answer, form) else [f"{place} is {answer!r}"]
    if isinstance(form, list):
        if not isinstance(answer, list) or not answer:
            return [] if isinstance(answer, list) and form[0] in (_TEXT, _ID, _EDGE, _SOURCE, _PART) else [f"{place} is {answer!r}"]
        return [fault for number, one in enumerate(answer) for fault in _unlike(one, form[0], f"{place}[{number}]")]
    if not isinstance(answer, dict):
        return [f"{place} is {answer!r}"]
    missing = [f"{place}.{name} is missing" for name in form if name not in answer]
    return missing + [fault for name, inner in form.items() if name in answer for fault in _unlike(answer[name], inner, f"{place}.{name}")]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_the_page_is_answered_in_the_form_that_it_reads(reader: httpx.Client, call: str) -> None:
    path, form = CALLS[call]
    answer = reader.get(path)
    assert answer.status_code == 200, answer.text
    assert _unlike(answer.json(), form) == []


def test_jobs_are_found_by_the_state_of_their_last_run(reader: httpx.Client) -> None:
    def named(states: str, more: str = "") -> tuple[list[str], int]:
        answer = reader.get(f"/api/v1/jobs?{states}{more}").json()
        return [job["name"] for job in answer["jobs"]], answer["totalCount"]

    assert named("lastRunStates=FAILED") == (["lost"], 1)
    assert named("lastRunStates=COMPLETED", "&limit=1&offset=1") == (["report.daily"], 2)
    assert named("lastRunStates=COMPLETED&lastRunStates=FAILED") == (["clean", "lost", "report.daily"], 3)
    assert named("lastRunStates=RUNNING") == ([], 0)
    assert reader.get("/api/v1/namespaces/file/jobs?lastRunStates=FAILED").json()["jobs"] == []


def test_jobs_of_a_short_list_are_told_with_their_last_runs(reader: httpx.Client) -> None:
    jobs = reader.get("/api/v1/jobs?limit=25").json()["jobs"]
    assert {job["name"]: [run["state"] for run in job["latestRuns"]] for job in jobs} == {
        "clean": ["COMPLETED", "COMPLETED"], "lost": ["FAILED"], "report.daily": ["COMPLETED", "COMPLETED"],
    }  # fmt: skip
    assert all(job["latestRun"] == job["latestRuns"][0] for job in jobs)


def test_the_advanced_search_tells_what_fitted_and_the_run_that_was_last(reader: httpx.Client) -> None:
    jobs = reader.get("/api/v2beta/search/jobs", params={"q": "LEA"}).json()
    (job,) = jobs["hits"]
    assert (job["name"], job["run_id"], job["eventType"]) == ("clean", run_id("clean-2"), "COMPLETE")
    assert jobs["highlights"] == [{"name": ["c<em>lea</em>n"]}]
    datasets = reader.get("/api/v2beta/search/datasets", params={"q": "strong"}).json()
    assert [(hit["namespace"], hit["name"], hit["run_id"]) for hit in datasets["hits"]] == [(LAKE, REPORT, run_id("report.daily-2"))]
    assert datasets["highlights"] == [{"facets.schema.fields.name": ["<em>strong</em>est"]}]
    assert reader.get("/api/v2beta/search/jobs", params={"q": ".*"}).json() == {"hits": [], "highlights": []}
    assert reader.get("/api/v2beta/search/jobs", params={"q": ""}).status_code == 400


def test_the_advanced_search_keeps_values_from_those_who_may_not_see_them(told: ServiceProcess, reader: httpx.Client) -> None:
    asked = {"q": "raw weather"}
    with _client(told, Scope.READ, Scope.RECORDS) as analyst:
        assert "4711" in analyst.get("/api/v2beta/search/datasets", params=asked).text
    answer = reader.get("/api/v2beta/search/datasets", params=asked)
    assert answer.json()["hits"]
    assert "4711" not in answer.text


@pytest.mark.parametrize("path", [_JOB_AT, _DATASET_AT])
def test_what_the_page_would_delete_stays(reader: httpx.Client, path: str) -> None:
    answer = reader.delete(path)
    assert answer.status_code in (403, 405), answer.text
    assert answer.json()["message"]
    assert reader.get(path).status_code == 200
