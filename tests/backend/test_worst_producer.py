"""A producer at its worst: others are answered meanwhile, the service can be stopped, and no acknowledged entry is lost."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from headwater.backend.access.keys import ring_of
from headwater.backend.home.settings import load_settings
from headwater.graph.access.scopes import Scope
from tests.backend.ingest.intake.families import PROV
from tests.backend.ingest.intake.growth import sized
from tests.backend.service import ServiceProcess

_PROVN = {"Content-Type": "text/provenance-notation"}
_ENDS = 10.0  # seconds
_SIZE, _WAITING = 4_000_000, 3
_LARGE = {
    "eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:00Z", "producer": "p", "schemaURL": "s",
    "run": {"runId": "0196e6a0-0000-7000-8000-000000000000"}, "job": {"namespace": "n", "name": "j"},
    "outputs": [{"namespace": "n", "name": "d", "facets": {"schema": {"fields": [{"name": f"c{n}"} for n in range(3_000)]}}}],
}  # fmt: skip


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    with ServiceProcess(tmp_path / "home") as started:
        yield started


def _client(service: ServiceProcess, tenant: str, **options: float) -> httpx.Client:
    scopes = {Scope.READ, Scope.INTAKE, Scope.DECLARE}
    _, key = ring_of(load_settings(home=service.home.path)).create("any", scopes, tenant=tenant)
    return service.client(key=False, headers={"Authorization": f"Bearer {key}"}, **options)


@contextmanager
def _worst(client: httpx.Client, *, senders: int) -> Iterator[None]:
    """Large documents sent by many at once, whose clients hang up, from the first that is on its way until the block ends."""
    body, is_over = sized(PROV["a chain of specialized entities"], _SIZE), False

    def send() -> None:
        while not is_over:
            with suppress(httpx.HTTPError):
                client.post("/api/v1/prov", content=body, headers=_PROVN)

    with ThreadPoolExecutor(senders) as threads:
        sending = [threads.submit(send) for _ in range(senders)]
        try:
            yield
        finally:
            is_over = True
    assert all(future.exception() is None for future in sending)


@pytest.mark.slow
def test_another_tenant_is_answered_and_the_service_ends_in_time(service: ServiceProcess) -> None:
    with _client(service, "worst", timeout=3) as worst, _client(service, "other") as other:
        other.post("/api/v1/lineage", json=_LARGE).raise_for_status()  # its process is warm
        with _worst(worst, senders=8):
            _until_they_wait(service)
            for number in range(5):
                document = _LARGE | {"job": {"namespace": "n", "name": f"j{number}"}}
                assert other.post("/api/v1/lineage", json=document).status_code == 201
                assert other.post("/api/v1/prov", content=sized(PROV["many entities"], 5_000 + number), headers=_PROVN).status_code == 201
                assert other.post("/api/v1/declarations", json={"types": [{"name": f"t{number}", "axis": "data"}]}).status_code == 201
                assert other.get("/readyz").json()["checks"]["bodies"] == "ok"
            began = time.monotonic()
            service.process.terminate()
            service.process.wait(60)
            assert time.monotonic() - began <= _ENDS
    assert service.process.returncode == 0
    service.start()
    with service.client() as client, _client_again(service) as other:
        assert client.get("/readyz").status_code == 200
        answers = [other.post("/api/v1/lineage", json=_LARGE | {"job": {"namespace": "n", "name": f"j{n}"}}).json() for n in range(5)]
        assert [answer["duplicates"] for answer in answers] == [1] * 5, "what was acknowledged is there"


def _until_they_wait(service: ServiceProcess) -> None:
    """Wait until there are more large bodies than one tenant has places."""
    until = time.monotonic() + 120
    with service.client() as client:
        while float(re.findall(r"^headwater_body_bytes (\S+)", client.get("/metrics").text, re.MULTILINE)[0]) < _WAITING * _SIZE:
            assert time.monotonic() < until
            time.sleep(0.02)


def _client_again(service: ServiceProcess) -> httpx.Client:
    _, key = ring_of(load_settings(home=service.home.path)).create("again", {Scope.INTAKE}, tenant="other")
    return service.client(key=False, headers={"Authorization": f"Bearer {key}"})
