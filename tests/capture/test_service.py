"""A program that sends its records to a service: with a key that permits it, into the tenant of that key, within bounds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.capture import Session
from headwater.graph.access.scopes import Scope
from tests.backend.service import ServiceProcess
from tests.capture.captured import spooled

_TRACE = "query ($d: String!, $r: [RowRef!]) { trace(dataset: $d, rows: $r) { exact records { file row } } }"
_OUT = [{"file": "stream:out", "row": 1}]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with ServiceProcess(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def key(service: ServiceProcess) -> Callable[..., str]:
    """Makes a key of a tenant that may do some things."""
    ring = KeyRing(service.home.named_keys)

    def make(*scopes: Scope, tenant: str) -> str:
        _, text = ring.create(uuid4().hex[:8], scopes, tenant=tenant)
        return text

    return make


def _recorded(home: Path, url: str, api_key: str) -> Session:
    """A session of its own that was sent, as far as it was."""
    with Session("etl", home=home, url=url, api_key=api_key, exit_wait=60) as session:
        actor = session.register("map", "mapper", [session.register("all", "pipe")])
        actor.capture(session.stream("in")[7], session.stream("out")[1])
        actor.commit()
    return session


def _asked(service: ServiceProcess, api_key: str) -> dict[str, Any]:
    with service.client(key=False, headers={"Authorization": f"Bearer {api_key}"}) as client:
        found: dict[str, Any] = client.post("/graphql", json={"query": _TRACE, "variables": {"d": "out", "r": _OUT}}).json()
    return found


@pytest.mark.slow
def test_what_a_key_of_a_tenant_sends_is_traced_in_that_tenant_alone(tmp_path: Path, service: ServiceProcess, key: Callable[..., str]):
    session = _recorded(tmp_path, service.url, key(Scope.INTAKE, tenant="sales"))
    assert session.report is not None
    assert (session.report.left, session.report.refused) == (None, ())
    service.settled()
    reader, deadline = key(Scope.READ, tenant="sales"), time.monotonic() + 60
    while "errors" in (found := _asked(service, reader)):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    assert found["data"]["trace"] == {"exact": True, "records": [{"file": "stream:in", "row": 7}]}
    for tenant in ("default", "other"):
        assert "errors" in _asked(service, key(Scope.READ, tenant=tenant))


def test_a_key_that_may_only_read_sends_nothing_and_the_program_goes_on(tmp_path: Path, service: ServiceProcess, key: Callable[..., str]):
    session = _recorded(tmp_path, service.url, key(Scope.READ, tenant="quiet"))
    assert session.report is not None
    assert session.report.left or session.report.refused
    assert "errors" in _asked(service, key(Scope.READ, tenant="quiet"))


@pytest.mark.slow
def test_a_capture_of_more_associations_than_one_may_have_is_refused(tmp_path: Path, service: ServiceProcess):
    """A few bytes may stand for any number of rows; so what a manifest says that it has is bounded before they are looked at."""
    manifest = json.loads(json.dumps(spooled(_unsent(tmp_path)).manifests[0]))
    manifest["capture"], manifest["segments"][0]["rows"] = str(uuid4()), 1 << 40
    with service.client() as client:
        answer = client.post("/api/v1/captures", json=manifest)
    assert (answer.status_code, answer.json()["field"]) == (400, "$.segments")
    assert "rows" in answer.text


@pytest.mark.parametrize(
    "facet", [{"type": "m", "links": [["job:a:b", "job:c:d"]]}, {"type": 3}, {"type": "m", "types": [{"name": "job"}]}]
)
def test_an_event_with_a_facet_that_is_wrong_is_refused_at_the_door(tmp_path: Path, service: ServiceProcess, facet: dict[str, Any]):
    event = next(event for event in spooled(_unsent(tmp_path)).events if "headwater_actor" in event["job"]["facets"])
    event["job"]["facets"]["headwater_actor"] = {**event["job"]["facets"]["headwater_actor"], **facet}
    with service.client() as client:
        answer: httpx.Response = client.post("/api/v1/lineage", json=event)
    assert answer.status_code == 422
    assert "$.job.facets.headwater_actor" in answer.text


def _unsent(home: Path) -> Path:
    """A home in whose spool a session is that went nowhere."""
    with Session("etl", home=home) as session:
        actor = session.register("map", "mapper")
        actor.capture(session.stream("in")[7], session.stream("out")[1])
        actor.commit()
    return home
