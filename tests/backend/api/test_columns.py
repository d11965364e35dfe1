"""`/api/v1/columns/…`, `/api/v1/declarations` and `/api/v1/descriptions`: answers and refusals."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.stated import REPORT, event

OUT = "dataset:file:/data/out/report"
WORST, WIND = "column:file:/data/out/report:worst", "column:file:/data/out/clean:wind"


@pytest.fixture
def filled(client: Any) -> Any:
    """A service that knows a column and where it comes from."""
    stated = event(REPORT, "report", "COMPLETE", "2026-01-31T10:04:00Z", "/data/out/clean", "/data/out/report")
    source = {
        "namespace": "file",
        "name": "/data/out/clean",
        "field": "wind",
        "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
    }
    facet = {"_producer": "https://example.org/test", "_schemaURL": "https://example.org/schema"}
    stated["outputs"][0]["facets"] = {"columnLineage": {**facet, "fields": {"worst": {"inputFields": [source]}}}}
    assert client.post("/api/v1/lineage", json=stated).status_code == 201
    return until(client, lambda: client.get("/api/v1/descriptions", params={"node": OUT}).status_code == 200)


def until(client: Any, there: Any) -> Any:
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline, "the graph has it not"
        time.sleep(0.02)
    return client


def test_a_column_tells_who_touched_it_and_what_it_is_made_of(filled: Any) -> None:
    access = filled.get("/api/v1/columns/access", params={"column": WIND}).json()
    assert [(entry["kind"], entry["job"]) for entry in access] == [("read", "job:local:report")]
    lineage = filled.get("/api/v1/columns/lineage", params={"column": WORST}).json()
    assert [(edge["src"], edge["dst"], edge["way"]) for edge in lineage["edges"]] == [(WIND, WORST, "direct")]
    assert lineage["truncated"] == 0


def test_what_people_state_describes_a_node_until_they_take_it_back(filled: Any) -> None:
    stated = [{"id": WIND, "aspect": "tag", "value": "pii"}, {"id": OUT, "aspect": "retention", "value": "P7Y"}]
    assert filled.post("/api/v1/declarations", json={"descriptions": stated}).status_code == 201
    until(filled, lambda: filled.get("/api/v1/columns/tags", params={"column": WORST}).json())
    assert filled.get("/api/v1/descriptions", params={"node": OUT}).json()["retention"] == "P7Y"
    taken_back = [{**stated[0], "removed": True}]
    assert filled.post("/api/v1/declarations", json={"descriptions": taken_back}).status_code == 201
    until(filled, lambda: not filled.get("/api/v1/columns/tags", params={"column": WORST}).json())


@pytest.mark.parametrize(
    ("path", "asked", "status", "error"),
    [
        ("columns/access", {"column": "column:file:/x:y"}, 404, "NotFound"),
        ("columns/access", {"column": OUT}, 400, "InvalidQuery"),
        ("columns/access", {"column": WIND, "since": "soon"}, 400, "InvalidQuery"),
        ("columns/lineage", {"column": WIND, "direction": "both"}, 400, "InvalidQuery"),
        ("columns/lineage", {"column": WIND, "depth": 1000}, 400, "InvalidInput"),
        ("columns/tags", {}, 400, "InvalidInput"),
        ("descriptions", {"node": "dataset:file:/nowhere"}, 404, "NotFound"),
    ],
)
def test_what_cannot_be_answered_is_refused(filled: Any, path: str, asked: dict[str, str], status: int, error: str) -> None:
    answer = filled.get(f"/api/v1/{path}", params=asked)
    assert (answer.status_code, answer.json()["error"]) == (status, error)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"{", 422, "$"),
        (b"[]", 400, "$"),
        (b'{"instances": [{"id": "actor:planet:earth"}]}', 400, "$.instances[0].id"),
        (b'{"descriptions": [{"id": "dataset:file:/nowhere", "aspect": "tag", "value": "x"}]}', 404, None),
        (b'{"descriptions": [{"id": "nothing", "aspect": "tag", "value": "x"}]}', 400, "id"),
    ],
)
def test_a_declaration_that_breaks_a_rule_is_refused(filled: Any, body: bytes, status: int, field: str | None) -> None:
    answer = filled.post("/api/v1/declarations", content=body)
    assert (answer.status_code, answer.json()["field"]) == (status, field)


def test_a_stranger_states_and_learns_nothing(stranger: Any) -> None:
    assert stranger.post("/api/v1/declarations", json={}).status_code == 401
    assert stranger.get("/api/v1/columns/access", params={"column": WIND}).status_code == 401
