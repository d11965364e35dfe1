"""Small events are answered without ASGI, and nobody can tell by the answer, the log or the measures."""

from __future__ import annotations

import gzip
import json
import re
import socket
from urllib.parse import urlsplit

import httpx
import pytest

from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_OF_ONE_ANSWER = ("date", "x-request-id", "content-length")


def _headers(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in _OF_ONE_ANSWER}


def _exchange(service: ServiceProcess, sent: bytes, *pieces: bytes) -> bytes:
    """Return everything that the service sends until it closes."""
    parts, answer = urlsplit(service.url), b""
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in (sent, *pieces):
            connection.sendall(piece)
        while piece := connection.recv(1 << 16):
            answer += piece
    return answer


def _request(service: ServiceProcess, number: int, *lines: str) -> bytes:
    body = json.dumps(run_event(number)).encode()
    head = ["POST /api/v1/lineage HTTP/1.1", f"Host: {urlsplit(service.url).netloc}", f"X-Api-Key: {service.home.key()}", *lines]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def test_the_answer_is_that_of_the_application(client: httpx.Client, service: ServiceProcess) -> None:
    packed = client.post(
        "/api/v1/lineage", content=gzip.compress(json.dumps(run_event(71_000)).encode()), headers={"Content-Encoding": "gzip"}
    )  # by ASGI
    for path in ("/api/v1/lineage", "/api/v1/lineage/batch"):
        answer = client.post(path, json=[run_event(71_000), run_event(71_001)], headers={"X-Request-Id": "mine-1"})
        assert (answer.status_code, answer.json()["accepted"], answer.json()["rejected"]) == (201, 2, [])
        assert answer.headers["x-request-id"] == "mine-1"
        assert _headers(answer) == _headers(packed)
    assert client.post("/api/v1/lineage", json=[run_event(71_000), run_event(71_001)]).json()["duplicates"] == 2
    logged = service.logged(" path=/api/v1/lineage request_id=mine-1")
    assert re.search(r"method=POST ms=[\d.]+ path=/api/v1/lineage request_id=mine-1 status=201$", logged, re.MULTILINE)


def test_it_is_counted_as_any_other(client: httpx.Client) -> None:
    def counted() -> tuple[float, float]:
        text = client.get("/metrics").text
        route = r'headwater_request_seconds_count\{method="POST",route="/api/v1/lineage",status="201"\} (\S+)'
        found = re.search(route, text), re.search(r'headwater_events_total\{outcome="accepted"\} (\S+)', text)
        return tuple(float(each[1]) if each else 0.0 for each in found)  # type: ignore[return-value]

    client.post("/api/v1/lineage", json=run_event(72_000))
    requests, events = counted()
    client.post("/api/v1/lineage", json=run_event(72_001))
    assert counted() == (requests + 1, events + 1)


@pytest.mark.parametrize(
    ("number", "headers", "status"),
    [
        (73_000, {"Authorization": "Bearer wrong"}, 401),
        (73_001, {"Host": "elsewhere.example.org"}, 403),
        (73_002, {"Origin": "https://elsewhere.example.org"}, 403),
        (73_003, {"Sec-Fetch-Site": "cross-site"}, 403),
        (73_004, {"Content-Type": "text/plain"}, 415),
    ],
)
def test_what_the_guard_refuses_is_refused(client: httpx.Client, number: int, headers: dict[str, str], status: int) -> None:
    assert client.post("/api/v1/lineage", content=json.dumps(run_event(number)), headers=headers).status_code == status
    assert client.post("/api/v1/lineage", json=run_event(number)).json()["duplicates"] == 0


def test_an_invalid_event_is_refused_as_ever_and_its_neighbour_taken(client: httpx.Client) -> None:
    answer = client.post("/api/v1/lineage", json=[run_event(74_000), run_event(74_001, run={"runId": "none"})])
    assert (answer.status_code, answer.json()["accepted"]) == (422, 1)
    assert answer.json()["rejected"][0]["field"] == "$[1].run.runId"


def test_requests_that_come_together_or_in_pieces_are_answered_in_order(service: ServiceProcess) -> None:
    first, second = _request(service, 75_000), _request(service, 75_000)
    last = _request(service, 75_001, "Connection: close")
    answer = _exchange(service, first + second + last)
    assert re.findall(rb'"duplicates":(\d)', answer) == [b"0", b"1", b"0"]
    assert answer.lower().count(b"connection: close") == 1
    whole = _request(service, 75_002, "Connection: close")
    assert _exchange(service, whole[:30], whole[30:-20], whole[-20:]).startswith(b"HTTP/1.1 201 ")
    old = _request(service, 75_003).replace(b"HTTP/1.1", b"HTTP/1.0")
    assert b'"accepted":1' in _exchange(service, old)
    waiting = _request(service, 75_004, "Expect: 100-continue", "Connection: close")
    assert re.findall(rb"HTTP/1\.1 (\d+)", _exchange(service, waiting))[-1] == b"201"
