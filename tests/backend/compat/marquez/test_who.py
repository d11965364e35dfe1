"""Rights in Marquez's API: scopes, tenants, masked columns; and no spelling of a path gets round them."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.api.access import RULES
from headwater.graph.access.scopes import Scope
from tests.backend.compat.marquez.conftest import CLEAN, FILES, JOBS, LAKE, RAW, TENANT, run_id
from tests.backend.service import ServiceProcess

PATHS = sorted(path for (_, path), rule in RULES.items() if rule.operation == "marquez")
RAW_PATH = f"/api/v1/namespaces/{FILES}/datasets/{quote(RAW, safe='')}"


def caller(service: ServiceProcess, name: str, tenant: str, *scopes: Scope) -> httpx.Client:
    ring = KeyRing(service.home.named_keys)
    _, key = ring.create(name, frozenset(scopes), tenant=tenant)
    ring.close()
    return service.client(key=False, headers={"Authorization": f"Bearer {key}"})


def concrete(path: str) -> str:
    values = {"namespace": quote(LAKE, safe=""), "dataset": quote(CLEAN, safe=""), "job": "clean", "source": quote(LAKE, safe="")}
    if "/jobs/{job}" in path:
        values["namespace"] = quote(JOBS, safe="")
    return path.format(**values, run=run_id("clean-1"), version=run_id("clean-1"))


def _tells_nothing(answer: Any) -> bool:
    """Whether an answer is empty. Statistics are a list of intervals that all count none."""
    counts = [number for interval in answer for number in interval.values() if isinstance(number, int)] if isinstance(answer, list) else []
    return not any(counts) if counts else not any(answer.values())


def test_all_of_it_needs_the_scope_to_read(told: ServiceProcess, stranger: httpx.Client) -> None:
    with caller(told, "producer", TENANT, Scope.INTAKE, Scope.EXPORT) as producer:
        for path in PATHS:
            assert stranger.get(concrete(path)).status_code == 401, path
            assert producer.get(concrete(path)).status_code == 403, path


def test_another_tenant_is_told_of_nothing(told: ServiceProcess) -> None:
    with caller(told, "other", "marquez-other", Scope.READ) as other:
        asked = {"nodeId": f"dataset:{LAKE}:{CLEAN}", "q": "clean", "type": "run", "runId": run_id("clean-1"), "period": "DAY"}
        for path in PATHS:
            answer = other.get(concrete(path), params=asked)
            assert answer.status_code == 404 or _tells_nothing(answer.json()), (path, answer.text)


@pytest.mark.parametrize(
    "path", ["/api/v1/namespaces/x%2F..%2Fy", "/api/v1/namespaces//jobs", "/api/v1/namespaces/%2e%2e", "/api/v1/%6eamespaces"]
)
def test_no_spelling_of_a_path_gets_round_the_key(stranger: httpx.Client, path: str) -> None:
    host, port = urlsplit(str(stranger.base_url)).netloc.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        assert int(connection.makefile("rb").readline().split()[1]) in (401, 404)


def test_who_may_not_see_masked_columns_is_told_no_values_of_columns(told: ServiceProcess) -> None:
    told.home.masks.write_text(f'[[mask]]\ncolumns = ["wind"]\ntenant = "{TENANT}"\n', encoding="utf-8")
    paths = [RAW_PATH, f"/api/v1/jobs/runs/{run_id('report.daily-1')}", f"/api/v1/namespaces/{quote(JOBS, safe='')}/jobs/clean/runs"]
    try:
        with (
            caller(told, "masked", TENANT, Scope.READ) as masked,
            caller(told, "unmasked", TENANT, Scope.READ, Scope.RECORDS, Scope.UNMASKED) as unmasked,
        ):
            assert "4711" in unmasked.get(RAW_PATH).text
            for path in [*paths, *(concrete(path) for path in PATHS)]:
                asked = {"nodeId": f"dataset:{FILES}:{RAW}", "q": "raw", "type": "run", "runId": run_id("clean-1"), "period": "DAY"}
                answer = masked.get(path, params=asked)
                assert answer.status_code in (200, 404), (path, answer.text)
                assert "4711" not in answer.text, path
    finally:
        told.home.masks.unlink()


def test_a_name_that_two_nodes_have_is_refused(told: ServiceProcess) -> None:
    """`dataset:a:b:c` may be `b:c` in the namespace `a`, or `c` in `a:b`."""
    stated = {"eventTime": "2026-02-01T00:00:00Z", "producer": "https://example.org", "schemaURL": "https://example.org/s"}
    events = [
        stated | {"dataset": {"namespace": namespace, "name": name}} for namespace, name in (("a", "b:c"), ("a:b", "c"), ("a:b", "d"))
    ]
    with caller(told, "ambiguous", "marquez-ambiguous", Scope.READ, Scope.INTAKE) as both:
        assert both.post("/api/v1/lineage", json=events).status_code == 201
        told.settled()
        refused = both.get("/api/v1/lineage", params={"nodeId": "dataset:a:b:c"})
        assert (refused.status_code, "2 nodes" in refused.json()["message"]) == (400, True)
        (node,) = both.get("/api/v1/lineage", params={"nodeId": "dataset:a:b:d"}).json()["graph"]
        assert node["data"]["id"] == {"namespace": "a:b", "name": "d"}
