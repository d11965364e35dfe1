"""A service over Neo4j, while the server is away and when it is back: a real service, a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess
from tests.neo4j_server import Neo4jServer, start, stop
from tests.ports import free_port

pytestmark = pytest.mark.neo4j
_PATIENCE = 300.0


class _Server:
    """A Neo4j server that goes and comes back, always at one address."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.settings = {
            "HEADWATER_STORE": f"bolt://127.0.0.1:{self.port}",
            "HEADWATER_STORE_USER": "neo4j",
            "HEADWATER_STORE_PASSWORD": Neo4jServer("", "neo4j", "headwater-tests").password,
        }

    def come(self) -> None:
        _, self._process = start(self._home, port=self.port)

    def go(self, *, kill: bool = False) -> None:
        if self._process is not None:
            if kill:
                self._process.kill()
            stop(self._process)
            self._process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """While the server neither answers nor ends: its connections stay open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    server = _Server(tmp_path / "neo4j")
    yield server
    server.go(kill=True)


def send(client: httpx.Client, numbers: range) -> None:
    answer = client.post("/api/v1/lineage", content=body(*(run_event(number) for number in numbers)), timeout=60)
    assert (answer.status_code, answer.json()["accepted"]) == (201, len(numbers))


def runs(client: httpx.Client) -> int | dict[str, object]:
    """The number of runs in the graph, or the error that stands for it."""
    answer = client.post("/graphql", json={"query": "{ service { runs pending } }"}, timeout=60).json()
    if answer.get("errors"):
        error: dict[str, object] = answer["errors"][0]
        return error
    return int(answer["data"]["service"]["runs"])


def await_runs(client: httpx.Client, number: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while (found := runs(client)) != number:
        assert time.monotonic() < deadline, found
        time.sleep(0.5)


def await_ready(client: httpx.Client) -> None:
    """The projector reports that it runs at the end of the batch, and the batch is visible before that."""
    deadline = time.monotonic() + _PATIENCE
    while (answer := client.get("/readyz", timeout=60)).status_code != 200:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_service_starts_without_its_graph_and_loses_nothing_while_it_is_away(server: _Server, tmp_path: Path) -> None:
    with ServiceProcess(tmp_path / "home", **server.settings) as service, service.client() as client:
        send(client, range(20))
        refused = runs(client)
        assert isinstance(refused, dict)
        assert "does not answer" in str(refused["message"])
        assert refused["extensions"]["transient"] is True  # type: ignore[index]
        ready = client.get("/readyz", timeout=60)
        assert (ready.status_code, ready.json()["checks"]["log"]) == (503, "ok")
        assert "does not answer" in ready.json()["checks"]["graph"]
        assert client.get("/metrics", timeout=60).status_code == 200

        server.come()
        await_runs(client, 20)
        await_ready(client)

        server.go(kill=True)
        send(client, range(20, 50))
        assert isinstance(runs(client), dict)

        server.come()
        await_runs(client, 50)
        send(client, range(50, 60))
        await_runs(client, 60)
    _is_sound(server, tmp_path / "home")


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_a_graph_that_is_away_for_long_loses_nothing(server: _Server, tmp_path: Path) -> None:
    """HEADWATER_ROUNDS minutes, with events all the while."""
    seconds = 60.0 * float(os.environ.get("HEADWATER_ROUNDS", "0.25"))
    server.come()
    with ServiceProcess(tmp_path / "home", **server.settings) as service, service.client() as client:
        send(client, range(20))
        await_runs(client, 20)
        server.go(kill=True)
        until, sent = time.monotonic() + seconds, 20
        while time.monotonic() < until:
            send(client, range(sent, sent + 10))
            sent += 10
            time.sleep(0.5)
        assert isinstance(runs(client), dict)
        server.come()
        await_runs(client, sent)
        await_ready(client)
        assert client.get("/readyz").json()["checks"]["quarantine"] == "ok"
    _is_sound(server, tmp_path / "home")


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_a_graph_that_is_stopped_for_long_and_a_rebuild_that_is_killed_lose_nothing(server: _Server, tmp_path: Path) -> None:
    """HEADWATER_ROUNDS minutes in which the server does not answer, with events all the while; then rebuilds that are killed half-way."""
    seconds = 60.0 * float(os.environ.get("HEADWATER_ROUNDS", "0.25"))
    server.come()
    home, sent = tmp_path / "home", 20
    with ServiceProcess(home, **server.settings) as service, service.client() as client:
        send(client, range(20))
        await_runs(client, 20)
        with server.stopped():
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                send(client, range(sent, sent + 10))
                sent += 10
                assert client.get("/healthz", timeout=10).status_code == 200
        await_runs(client, sent)
        await_ready(client)
    command = [sys.executable, "-m", "headwater", "store", "rebuild", "--home", str(home)]
    for seconds_until in (2.0, 3.0, 4.0):
        rebuild = subprocess.Popen(command, env={**os.environ, **server.settings}, stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            rebuild.wait(seconds_until)
        rebuild.kill()
        rebuild.wait()
    with ServiceProcess(home, **server.settings) as service, service.client() as client:
        await_runs(client, sent)
    _is_sound(server, home)


def _is_sound(server: _Server, home: Path) -> None:
    """The log is sound, and the graph what it says."""
    checked = subprocess.run(
        [sys.executable, "-m", "headwater", "store", "check", "--home", str(home)],
        env={**os.environ, **server.settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
