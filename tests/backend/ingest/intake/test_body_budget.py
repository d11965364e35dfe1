"""All bodies together are bounded: one without room must come again, and room returns once others have their answer."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.intake.body_budget import BodiesInFlightError, BodyBudget
from headwater.backend.serving import LocalService
from tests.backend.events import run_event

_MOST, _PATIENCE = 100_000, 20.0


def test_a_budget_counts_what_all_shares_take_and_gets_back_what_they_release() -> None:
    budget = BodyBudget(100)
    first, second, third = (budget.share(tenant, "ann", 50) for tenant in ("a", "b", "c"))
    first.take(50)
    second.take(10)
    with pytest.raises(BodiesInFlightError, match="other requests take 60 bytes, and 100 are the most") as refused:
        third.take(41)
    assert refused.value.transient
    third.take(40)
    with pytest.raises(BodiesInFlightError):
        budget.share("d", "dan", 1)
    first.release()
    first.release()
    assert budget.taken == 50
    for share in (second, third):
        share.release()
    assert budget.taken == 0


def test_no_caller_and_no_tenant_takes_all_of_a_budget() -> None:
    budget = BodyBudget(100)
    anns, also_anns, bobs = budget.share("a", "ann"), budget.share("a", "ann"), budget.share("a", "bob")
    anns.take(30)
    with pytest.raises(BodiesInFlightError, match="your other requests take 30 bytes, and 50 are the most"):
        also_anns.take(21)
    also_anns.take(20)
    with pytest.raises(BodiesInFlightError, match="your tenant take 50 bytes, and 75 are the most"):
        bobs.take(26)
    bobs.take(25)
    budget.share("b", "ann").take(25)  # another tenant's caller of that name, who is independent of them
    for share in (anns, also_anns, bobs):
        share.release()
    budget.share("a", "ann", 50)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def service(home: Path) -> Iterator[LocalService]:
    service = LocalService(load_settings(home=home, port=0, max_body_bytes=_MOST, bodies_bytes=1))  # room for two of the largest
    service.start()
    yield service
    service.stop()


@pytest.fixture
def client(home: Path, service: LocalService) -> Iterator[httpx.Client]:
    key = Home.at(home).key()
    with httpx.Client(base_url=service.url, headers={"X-Api-Key": key}, trust_env=False, timeout=_PATIENCE) as client:
        yield client


def _begin(client: httpx.Client, size: int) -> socket.socket:
    """A request whose body is on its way: `size` bytes of it have come."""
    parts = urlsplit(str(client.base_url))
    connection = socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=_PATIENCE)
    lines = ("POST /api/v1/lineage HTTP/1.1", f"Host: {parts.netloc}", f"X-Api-Key: {client.headers['X-Api-Key']}")
    head = [*lines, "Content-Type: application/json", f"Content-Length: {_MOST}", "", ""]
    connection.sendall("\r\n".join(head).encode() + b" " * size)
    return connection


def _post(client: httpx.Client, body: bytes, **headers: str) -> httpx.Response:
    return client.post("/api/v1/lineage", content=body, headers={"Content-Type": "application/json", **headers})


def _hold(client: httpx.Client, held: ExitStack) -> None:
    """Two large bodies that are in memory, and not whole."""
    for count in (1, 2):
        held.enter_context(_begin(client, 80_000))
        deadline = time.monotonic() + _PATIENCE
        while f"headwater_body_bytes {count * 80_000}.0" not in client.get("/metrics").text:
            assert time.monotonic() < deadline


def test_bodies_of_many_connections_are_bounded(client: httpx.Client) -> None:
    event = json.dumps(run_event(1)).encode()
    large = event + b" " * (60_000 - len(event))
    with ExitStack() as held:
        _hold(client, held)
        refused = _post(client, large)
        assert refused.status_code == 503
        assert refused.headers["Retry-After"] == "1"
        assert refused.json()["error"] == "BodiesInFlight"
        assert refused.json()["transient"] is True
        # So is what is small as it comes, and large when it is unpacked.
        assert _post(client, gzip.compress(large), **{"Content-Encoding": "gzip"}).json()["error"] == "BodiesInFlight"
        # Small bodies have room, and so have health checks.
        assert _post(client, event).status_code == 201
        assert client.get("/healthz").status_code == 200
    deadline = time.monotonic() + _PATIENCE
    while _post(client, large).status_code != 201:  # until the service has seen that the others are gone
        assert time.monotonic() < deadline


def test_a_body_without_a_length_is_counted_as_it_comes(client: httpx.Client) -> None:
    with ExitStack() as held:
        _hold(client, held)
        answer = client.post("/api/v1/lineage", content=iter([b" " * 30_000, b" " * 30_000]), headers={"Content-Type": "application/json"})
        assert answer.status_code == 503
