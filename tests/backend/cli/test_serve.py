"""`headwater serve` prints a link that works; `headwater store` keeps off a home that a service projects."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import sys
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess


def _headwater(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "headwater", *arguments], capture_output=True, text=True, check=False, timeout=300)


def test_the_link_that_is_printed_opens_the_page(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service:
        link = next(line for line in service.log.read_text().splitlines() if "?ticket=" in line)
        assert link.startswith(service.url)
        assert httpx.get(link, trust_env=False, timeout=300).status_code == 303


@pytest.mark.slow
def test_a_second_serve_gives_a_new_link_to_the_first(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service:
        shown = _headwater("serve", "--home", str(tmp_path))
        assert shown.returncode == 0
        assert "runs already" in shown.stderr
        assert httpx.get(shown.stdout.strip(), trust_env=False, timeout=300).status_code == 303
        assert shown.stdout.startswith(service.url)


@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_it_ends_when_it_is_asked_to_and_takes_its_announcement_back(tmp_path: Path, how: signal.Signals) -> None:
    with ServiceProcess(tmp_path) as service, service.client() as client:
        asked = client.post("/graphql", json={"query": '{ trace(dataset: "/nowhere", where: "true") { total } }'})
        assert "errors" in asked.json()  # and DuckDB is loaded, whose module complains of all that is left at the end
        service.process.send_signal(how)
        assert service.process.wait(60) == 0
        assert not service.home.service_file.exists()
        said = service.log.read_text()
        assert "Traceback" not in said
        assert "leaked" not in said


@pytest.mark.slow
def test_an_upload_that_the_end_of_the_service_cuts_off_may_be_sent_again(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service:
        uploads = [_unfinished(service, path, size) for path, size in (("lineage", 1_000_000), ("prov", 1_000_000), ("lineage", 1_000))]
        service.process.send_signal(signal.SIGTERM)
        for upload in uploads:
            with upload:
                answer = HTTPResponse(upload)
                answer.begin()
                assert (answer.status, json.loads(answer.read())["transient"]) == (503, True)
        assert service.process.wait(60) == 0
        assert "Traceback" not in service.log.read_text()


def _unfinished(service: ServiceProcess, path: str, size: int) -> socket.socket:
    """A connection on which a request has begun, whose body does not end."""
    address = urlsplit(service.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=60)
    head = f"POST /api/v1/{path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {service.home.key()}\r\n"
    kind = "application/json" if path == "lineage" else "text/provenance-notation"
    connection.sendall(f"{head}Content-Type: {kind}\r\nContent-Length: {size}\r\nExpect: 100-continue\r\n\r\n".encode())
    assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"  # the body is being read
    return connection


def test_a_port_that_is_taken_is_said_and_the_usual_one_makes_way(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        shown = _headwater("serve", "--home", str(tmp_path), "--port", str(port))
    assert shown.returncode == 2
    assert f"127.0.0.1:{port} cannot be bound" in shown.stderr


@pytest.mark.slow
def test_the_graph_is_rebuilt_from_the_log_and_checked(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service, service.client() as client:
        assert client.post("/api/v1/lineage", content=body(*map(run_event, range(40)))).status_code == 201
        service.settled()
        refused = _headwater("store", "rebuild", "--home", str(tmp_path))
        assert refused.returncode == 4
        assert "Stop the service" in refused.stderr
        assert _headwater("store", "check", "--home", str(tmp_path)).returncode == 0
    first = _headwater("store", "rebuild", "--home", str(tmp_path))
    assert first.returncode == 0, first.stderr
    assert "40 log entries" in first.stderr
    for file in tmp_path.glob("graph.db*"):
        file.unlink()
    second = _headwater("store", "rebuild", "--home", str(tmp_path))
    assert second.stdout == first.stdout
    checked = json.loads(_headwater("store", "check", "--home", str(tmp_path), "--format", "json").stdout)
    assert {"log", "projected", "refused", "graph", "integrity"} < {item["check"] for item in checked}
    assert all(item["ok"] for item in checked)


@pytest.mark.slow
def test_a_graph_that_is_not_what_the_log_says_is_found(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service, service.client() as client:
        client.post("/api/v1/lineage", content=body(*map(run_event, range(5))))
        service.settled()
    with sqlite3.connect(tmp_path / "graph.db") as graph:
        graph.execute("DELETE FROM edge WHERE (dst, kind, src) IN (SELECT dst, kind, src FROM edge LIMIT 1)")
    graph.close()
    shown = _headwater("store", "check", "--home", str(tmp_path), "--format", "json")
    assert shown.returncode == 1
    assert "store rebuild" in next(item["detail"] for item in json.loads(shown.stdout) if item["check"] == "graph")
