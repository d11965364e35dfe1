"""Tags that marquez-python gives to datasets and fields, the rights for them, and that they are declarations like any other."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest
from marquez_client import MarquezClient
from marquez_client import client as marquez_client

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import Scope
from tests.backend.compat.marquez.published import check, check_as
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

TENANT = "marquez-tags"  # of its own: the others count what is tagged


def key_of(service: ServiceProcess, *scopes: Scope) -> str:
    ring = KeyRing(service.home.named_keys)
    try:
        return ring.create(f"t-{uuid4().hex}", frozenset(scopes), tenant=TENANT)[1]
    finally:
        ring.close()


def caller(service: ServiceProcess, *scopes: Scope) -> httpx.Client:
    return service.client(key=False, headers={"Authorization": f"Bearer {key_of(service, *scopes)}"})


@pytest.fixture(scope="module")
def tagged(service: ServiceProcess) -> ServiceProcess:
    with caller(service, Scope.INTAKE) as client:
        assert client.post("/api/v1/lineage", json=run_event(3)).status_code == 201
    service.settled()
    return service


@pytest.fixture
def steward(tagged: ServiceProcess, monkeypatch: pytest.MonkeyPatch) -> MarquezClient:
    monkeypatch.setattr(marquez_client, "_HEADERS", {})
    return MarquezClient(url=tagged.url, api_key=key_of(tagged, Scope.READ, Scope.DECLARE))


def test_a_dataset_and_a_field_get_a_tag_and_lose_it(tagged: ServiceProcess, steward: MarquezClient) -> None:
    told = check_as(steward.tag_dataset("file", "/out/3", "gold/v2"), "Dataset")
    assert told["tags"] == ["gold/v2"]
    told = check_as(steward.tag_dataset_field("file", "/out/3", "wind", "pii"), "Dataset")
    assert {field["name"]: field["tags"] for field in told["fields"]} == {"origin": [], "wind": ["pii"]}
    assert {tag["name"] for tag in check(steward.list_tags(), "/tags")["tags"]} >= {"gold/v2", "pii"}
    with caller(tagged, Scope.READ, Scope.DECLARE) as client:
        path = "/api/v1/namespaces/file/datasets/%2Fout%2F3"
        assert client.delete(f"{path}/tags/gold%2Fv2").json()["tags"] == []
        assert [field["tags"] for field in client.delete(f"{path}/fields/wind/tags/pii").json()["fields"]] == [[], []]


def test_a_job_gets_a_tag_and_loses_it(tagged: ServiceProcess) -> None:
    with caller(tagged, Scope.READ, Scope.DECLARE) as client:
        path = "/api/v1/namespaces/tests/jobs/job-3/tags/nightly"
        told = check_as(client.post(path).json(), "Job")
        assert (told["name"], told["tags"], told["latestRun"]["state"]) == ("job-3", ["nightly"], "COMPLETED")
        assert client.get("/api/v1/namespaces/tests/jobs/job-3").json()["tags"] == ["nightly"]
        assert client.delete(path).json()["tags"] == []
        assert client.post("/api/v1/namespaces/tests/jobs/nothing/tags/nightly").status_code == 404
    with caller(tagged, Scope.READ) as reader:
        assert reader.post(path).status_code == 403


def test_a_tag_may_be_made_and_described_before_anything_bears_it(steward: MarquezClient) -> None:
    assert check_as(steward.create_tag("silver", "may be sold"), "Tag") == {"name": "silver", "description": "may be sold"}
    assert steward.create_tag("silver") == {"name": "silver", "description": "may be sold"}
    assert steward.create_tag("bare") == {"name": "bare", "description": None}
    assert {"name": "silver", "description": "may be sold"} in steward.list_tags()["tags"]


def test_who_may_read_alone_gives_no_tag_and_nothing_unknown_gets_one(tagged: ServiceProcess) -> None:
    path = "/api/v1/namespaces/file/datasets/%2Fout%2F3"
    with caller(tagged, Scope.READ) as reader, caller(tagged, Scope.READ, Scope.DECLARE) as steward:
        for method, asked in (("PUT", "/api/v1/tags/x"), ("POST", f"{path}/tags/x"), ("DELETE", f"{path}/fields/wind/tags/x")):
            assert reader.request(method, asked).status_code == 403
        for asked in ("/api/v1/namespaces/file/datasets/%2Fnowhere/tags/x", f"{path}/fields/nothing/tags/x"):
            assert steward.post(asked).status_code == 404
        assert "x" not in {tag["name"] for tag in reader.get("/api/v1/tags").json()["tags"]}
        assert steward.put("/api/v1/tags/x", json={"description": 7}).status_code == 400


def test_a_tag_that_is_given_is_in_the_audit_log(tagged: ServiceProcess, steward: MarquezClient) -> None:
    steward.tag_dataset("file", "/out/3", "audited")
    with caller(tagged, Scope.AUDIT) as auditor:
        lines = auditor.get("/api/v1/audit").text
    assert '"what":"declare"' in lines.replace(" ", "")
    assert "dataset:file:/out/3" in lines
