"""`GET /api/v1/export/…`: rights, tenants, the audit log, and refusals before the first byte."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import Scope
from tests.backend.exports.lake import DECLARED, EVENTS, dataset, event
from tests.backend.service import ServiceProcess

DATAHUB, OPENMETADATA = "/api/v1/export/datahub", "/api/v1/export/openmetadata"
TENANT = "catalogs"
EVERYTHING = set(Scope) - {Scope.OPERATE}


def caller(service: ServiceProcess, name: str, tenant: str, *scopes: Scope) -> httpx.Client:
    ring = KeyRing(service.home.named_keys)
    _, key = ring.create(name, frozenset(scopes), tenant=tenant)
    ring.close()
    return service.client(key=False, headers={"Authorization": f"Bearer {key}"})


@pytest.fixture(scope="module")
def company(service: ServiceProcess) -> Iterator[httpx.Client]:
    """A caller of a tenant that has the company's events."""
    with caller(service, "company", TENANT, *EVERYTHING) as client:
        assert client.post("/api/v1/lineage", json=EVENTS).status_code == 201
        service.settled()
        told = {"by": DECLARED["by"], "descriptions": DECLARED["descriptions"]}
        assert client.post("/api/v1/declarations", json=told).status_code == 201
        service.settled()
        yield client


def test_each_export_is_a_document_of_its_own_type(company: httpx.Client) -> None:
    proposals = company.get(DATAHUB, params={"namespace": ["s3://*", "nightly"], "environment": "DEV"})
    assert proposals.headers["content-type"] == "application/json"
    assert {each["entityType"] for each in proposals.json()} == {"dataset", "dataFlow", "dataJob"}
    assert all(each["entityUrn"].endswith(",DEV)") for each in proposals.json() if each["entityType"] == "dataset")
    requests = company.get(OPENMETADATA, params={"known_as": "postgres://db:5432=shop"})
    assert requests.headers["content-type"].partition(";")[0] == "application/x-ndjson"
    assert "/api/v1/lineage/table/name/shop.shop.public.orders" in requests.text


def test_it_needs_the_scope_to_export_and_is_in_the_audit_log(
    service: ServiceProcess, company: httpx.Client, stranger: httpx.Client
) -> None:
    with (
        caller(service, "reader", TENANT, Scope.READ, Scope.RECORDS) as reader,
        caller(service, "export", TENANT, Scope.EXPORT) as exporter,
    ):
        for path in (DATAHUB, OPENMETADATA):
            assert stranger.get(path).status_code == 401
            assert reader.get(path).status_code == 403
            assert exporter.get(path, params={"namespace": "nightly"}).status_code == 200
    written = [json.loads(line) for line in company.get("/api/v1/audit", params={"first": 100}).text.splitlines()]
    done = [(entry["what"], entry["decision"], entry["on"]) for entry in written if entry["who"].startswith("key:export")]
    assert {("export.datahub", "allowed"), ("export.datahub.end", "allowed"), ("export.openmetadata.end", "allowed")} <= {
        (what, decision) for what, decision, _ in done
    }
    assert all(on == ["nightly"] for *_, on in done)


def test_another_tenant_has_an_empty_export(service: ServiceProcess, company: httpx.Client) -> None:
    with caller(service, "elsewhere", "catalogs-other", Scope.EXPORT) as other:
        assert other.get(DATAHUB).json() == []
        assert other.get(OPENMETADATA).text == ""


def test_what_is_refused_is_refused_before_the_document_begins(service: ServiceProcess, company: httpx.Client) -> None:
    with caller(service, "two", "catalogs-two", *EVERYTHING) as two:
        tables = [dataset(f"postgres://{host}", "a.b.c") for host in ("one", "two")]
        assert two.post("/api/v1/lineage", json=event(3, "both", tables, [])).status_code == 201
        service.settled()
        refused = two.get(DATAHUB)
        assert (refused.status_code, refused.json()["error"], refused.json()["field"]) == (400, "InvalidQuery", "known_as")
        named = two.get(DATAHUB, params={"known_as": ["postgres://one=one", "postgres://two=two"]})
        assert named.status_code == 200
    for odd in ({"known_as": "nothing"}, {"environment": "MOON"}):
        assert company.get(DATAHUB, params=odd).status_code == 400
