"""`headwater doctor --service`: its questions to a running service, its findings, and that a key goes to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from headwater.backend.access.keys import KeyRing
from headwater.backend.cli.doctor import app
from headwater.backend.operate.service_diagnosis import diagnose_service
from headwater.graph.access.scopes import Scope
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with ServiceProcess(tmp_path_factory.mktemp("asked"), HEADWATER_OPEN_ENDPOINTS='["/metrics"]') as service:
        yield service


def states(home: Path) -> dict[str, tuple[str, str]]:
    return {finding.check: (finding.state, finding.detail) for finding in diagnose_service(home)}


def test_a_service_that_works_is_said_to_and_what_it_refused_is_counted(service: ServiceProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    with service.client() as client:
        assert client.post("/api/v1/lineage", json=[run_event(1), {}]).status_code == 422
    service.settled()
    found = states(service.home.path)
    assert {state for state, _ in found.values()} == {"ok", "note"}
    assert {name for name, (state, _) in found.items() if state == "note"} == {"measures", "dead letters"}
    assert found["dead letters"][1] == "1 documents were refused"
    assert found["measures"][1] == "anybody may read /metrics"
    assert CliRunner().invoke(app, ["--service", "--home", str(service.home.path)], catch_exceptions=False).exit_code == 0

    ring = KeyRing(service.home.named_keys)
    monkeypatch.setenv("HEADWATER_URL", service.url)
    monkeypatch.setenv("HEADWATER_API_KEY", ring.create("doctor", frozenset({Scope.READ}), tenant="default")[1])
    ring.close()
    assert states(service.home.path)["key"][0] == "ok"
    monkeypatch.setenv("HEADWATER_API_KEY", "hw_nobodys")
    assert states(service.home.path)["key"][0] == "bad"


@pytest.mark.slow
def test_measures_are_of_all_tenants(service: ServiceProcess) -> None:
    ring = KeyRing(service.home.named_keys)
    _, key = ring.create("sales", frozenset({Scope.INTAKE}), tenant="sales")
    ring.close()

    def buried(text: str) -> float:
        return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("headwater_dead_letters "))

    with service.client() as client, service.client(key=False, headers={"X-Api-Key": key}) as sales:
        before = buried(client.get("/metrics").text)
        assert sales.post("/api/v1/lineage", json={"odd": 1}).status_code == 422
        assert buried(client.get("/metrics").text) == before + 1


def test_where_nothing_answers_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(tmp_path)["service"][0] == "bad"
    monkeypatch.setenv("HEADWATER_URL", "http://127.0.0.1:9")
    (finding,) = diagnose_service(tmp_path)
    assert (finding.state, finding.advice) == ("bad", "Start it: headwater serve.")


def test_the_key_of_a_home_is_shown_to_its_own_service_alone(service: ServiceProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(str(self.headers))
            body = b'{"version": "1", "status": "ready", "checks": {"log": "ok", "disk": "full"}, "pending": 20000}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Stranger)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HEADWATER_URL", f"http://127.0.0.1:{server.server_port}")
    found = states(service.home.path)
    server.shutdown()
    server.server_close()
    thread.join()
    assert (found["disk"][0], found["lag"][0], found["service"][0], found["log"][0]) == ("bad", "bad", "note", "ok")
    assert shown
    assert service.home.key() not in "".join(shown)


def test_a_key_that_was_stated_follows_no_redirect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown: list[tuple[str, str | None]] = []

    class Redirects(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append((self.path, self.headers.get("Authorization")))
            body = b'{"version": "1", "checks": {}}'
            self.send_response(200 if self.path in ("/healthz", "/readyz") else 302)
            self.send_header("Location", f"http://localhost:{server.server_port}/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Redirects)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HEADWATER_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HEADWATER_API_KEY", "hw_secret")
    found = states(tmp_path)
    server.shutdown()
    server.server_close()
    thread.join()
    assert found["key"] == ("bad", "the service refuses the key (302)")
    assert ("/api/v1/session", "Bearer hw_secret") in shown
    assert not [path for path, _ in shown if path == "/elsewhere"]
