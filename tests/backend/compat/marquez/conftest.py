"""A tenant of its own, with a graph made of events, and marquez-python as its client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4, uuid5

import httpx
import pytest
from marquez_client import MarquezClient
from marquez_client import client as marquez_client

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import Scope
from tests.backend.events import facet
from tests.backend.service import ServiceProcess

TENANT = "marquez"
JOBS, LAKE, FILES = "tests/jobs", "s3://lake:9000", "file"
RAW, CLEAN, REPORT, ELSEWHERE = "/data/raw weather", "/data/clean", "report:daily", "/data/elsewhere"
_NAMES = UUID("7b1fdf2e-7f0e-4a39-9c2c-5b8f8d5f6c11")


def run_id(name: str) -> str:
    return str(uuid5(_NAMES, name))


def event(run: str, job: str, kind: str, time: str, reads: list[dict[str, Any]], writes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "eventType": kind,
        "eventTime": time,
        "producer": "https://example.org/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": run_id(run),
            "facets": {
                "nominalTime": facet(nominalStartTime="2026-01-31T00:00:00Z"),
                "parent": facet(run={"runId": run_id("daily")}, job={"namespace": JOBS, "name": "daily"}),
            },
        },
        "job": {
            "namespace": JOBS,
            "name": job,
            "facets": {
                "documentation": facet(description=f"makes {job}"),
                "sourceCodeLocation": facet(type="git", url="https://example.org/jobs.git"),
                "jobType": facet(processingType="BATCH", integration="SPARK", jobType="JOB"),
            },
        },
        "inputs": reads,
        "outputs": writes,
    }


def dataset(namespace: str, name: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": facets}


def schema(*names: str) -> dict[str, Any]:
    return facet(fields=[{"name": name, "type": "string", "description": f"the {name}"} for name in names])


def derives(**fields: tuple[str, str, str]) -> dict[str, Any]:
    """Column lineage: each field from one of another dataset, as it is."""
    how = [{"type": "DIRECT", "subtype": "IDENTITY", "description": "as it is"}]
    return facet(
        fields={
            field: {"inputFields": [{"namespace": source[0], "name": source[1], "field": source[2], "transformations": how}]}
            for field, source in fields.items()
        }
    )


def events() -> list[dict[str, Any]]:
    """raw → clean → report, twice a day. Another job, which fails, reads elsewhere and clean."""
    raw = dataset(
        FILES, RAW, schema=schema("station", "wind"), dataQualityMetrics=facet(rowCount=3, columnMetrics={"wind": {"max": 4711.0}})
    )
    raw["inputFacets"] = {"dataQualityMetrics": facet(rowCount=3, columnMetrics={"wind": {"max": 4711.0}})}
    tags = facet(tags=[{"key": "pii", "value": "true", "field": "station"}, {"key": "gold", "value": "true"}])
    clean = dataset(
        LAKE,
        CLEAN,
        schema=schema("station", "wind"),
        tags=tags,
        columnLineage=derives(station=(FILES, RAW, "station"), wind=(FILES, RAW, "wind")),
    )
    clean["outputFacets"] = {"outputStatistics": facet(rowCount=3, size=100)}
    report = dataset(LAKE, REPORT, columnLineage=derives(strongest=(LAKE, CLEAN, "wind")))
    read_clean = dataset(LAKE, CLEAN)
    stated = []
    for day in (1, 2):
        for hour, (job, reads, writes) in enumerate([("clean", [raw], [clean]), ("report.daily", [read_clean], [report])]):
            for kind, minute in (("START", 0), ("COMPLETE", 5)):
                stated.append(event(f"{job}-{day}", job, kind, f"2026-02-0{day}T0{hour}:{minute:02}:00.000Z", reads, writes))
    lost = [dataset(LAKE, CLEAN), dataset(FILES, ELSEWHERE)]
    stated.append(event("lost-1", "lost", "START", "2026-02-03T00:00:00.000Z", lost, []))
    stated.append(event("lost-1", "lost", "FAIL", "2026-02-03T00:00:30.500Z", lost, []))
    return stated


@pytest.fixture(scope="package")
def told(service: ServiceProcess) -> ServiceProcess:
    """The service, after the events of the tenant were sent and projected."""
    with _client(service, Scope.INTAKE) as client:
        assert client.post("/api/v1/lineage", json=events()).status_code == 201
    with _client(service, Scope.READ) as client:
        for _ in range(2_000):
            answer = client.get("/api/v1/jobs/runs/" + run_id("lost-1"))
            if answer.status_code == 200 and answer.json()["state"] == "FAILED":
                return service
    raise AssertionError("the graph has not all events")


@pytest.fixture
def reader(told: ServiceProcess) -> Iterator[httpx.Client]:
    """A caller who may read."""
    with _client(told, Scope.READ) as client:
        yield client


@pytest.fixture
def marquez(told: ServiceProcess, monkeypatch: pytest.MonkeyPatch) -> MarquezClient:
    """marquez-python, which keeps its headers in a module."""
    monkeypatch.setattr(marquez_client, "_HEADERS", {})
    return MarquezClient(url=told.url, api_key=_key(told, Scope.READ))


def _key(service: ServiceProcess, *scopes: Scope) -> str:
    ring = KeyRing(service.home.named_keys)
    try:
        return ring.create(f"m-{uuid4().hex}", frozenset(scopes), tenant=TENANT)[1]
    finally:
        ring.close()


def _client(service: ServiceProcess, *scopes: Scope) -> httpx.Client:
    return service.client(key=False, headers={"Authorization": f"Bearer {_key(service, *scopes)}"})
