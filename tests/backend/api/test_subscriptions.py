"""Subscriptions over graphql-transport-ws, with a real client of WebSockets at a real service."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import ROLES, Scope
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_RUNS = "subscription ($j: ID, $s: [String!]) { runs(job: $j, states: $s) { id kind properties containers { id } } }"
_WAIT = 60


@contextmanager
def _socket(service: ServiceProcess, shown: dict[str, str], **options: Any) -> Iterator[ClientConnection]:
    """A connection that the service has acknowledged."""
    url = service.url.replace("http", "ws", 1) + "/graphql"
    given: dict[str, Any] = {"additional_headers": shown, "subprotocols": ["graphql-transport-ws"], "proxy": None, "open_timeout": _WAIT}
    with connect(url, **given | options) as ws:
        ws.send(json.dumps({"type": "connection_init"}))
        assert json.loads(ws.recv(_WAIT)) == {"type": "connection_ack"}
        yield ws


def _subscribe(ws: ClientConnection, query: str, name: str = "1", **variables: Any) -> None:
    ws.send(json.dumps({"id": name, "type": "subscribe", "payload": {"query": query, "variables": variables}}))


def _told(ws: ClientConnection, field: str, patience: float = _WAIT) -> Any:
    message = json.loads(ws.recv(patience))
    assert message["type"] == "next", message
    assert "errors" not in message["payload"], message
    return message["payload"]["data"][field]


def _rest(ws: ClientConnection) -> tuple[list[Any], int]:
    """Return all messages until the connection is closed, and the code of its end."""
    messages, code = [], 0
    try:
        while True:
            messages.append(json.loads(ws.recv(_WAIT)))
    except ConnectionClosed as closed:
        code = closed.rcvd.code if closed.rcvd else 0
    return messages, code


def _key(service: ServiceProcess) -> dict[str, str]:
    return {"Authorization": f"Bearer {service.home.key()}"}


@contextmanager
def _named(service: ServiceProcess, *scopes: Scope, tenant: str) -> Iterator[tuple[dict[str, str], Any]]:
    ring = KeyRing(service.home.named_keys)
    key, text = ring.create(f"{tenant}-follower", scopes, tenant=tenant)

    def revoke() -> None:
        if ring.valid(key.id):
            ring.revoke(key.id)

    try:
        yield {"X-Api-Key": text}, revoke
    finally:
        revoke()
        ring.close()


def _run(number: int, state: str = "COMPLETE", job: str = "followed") -> dict[str, Any]:
    event = run_event(number)
    event["run"]["runId"] = str(UUID(int=0xF0110 + number))
    event["eventType"] = state
    event["job"] = {"namespace": "live", "name": job}
    return event


def test_runs_are_told_as_they_come_and_once_for_each_thing_they_say(service: ServiceProcess, client: httpx.Client) -> None:
    with _socket(service, _key(service)) as ws:
        _subscribe(ws, _RUNS, j="job:live:followed", s=["complete", "FAIL"])
        assert _told(ws, "runs") == []
        client.post("/api/v1/lineage", json=_run(1, job="another")).raise_for_status()
        client.post("/api/v1/lineage", json=_run(2, "START")).raise_for_status()
        client.post("/api/v1/lineage", json=_run(2)).raise_for_status()
        (run,) = _told(ws, "runs")
        assert run["id"] == f"run:{UUID(int=0xF0110 + 2)}"
        assert "job:live:followed" in [container["id"] for container in run["containers"]]
        client.post("/api/v1/lineage", json=_run(2)).raise_for_status()
        client.post("/api/v1/lineage", json=_run(3, "FAIL")).raise_for_status()
        assert [run["id"] for run in _told(ws, "runs")] == [f"run:{UUID(int=0xF0110 + 3)}"], "not the same once more"
        ws.send(json.dumps({"id": "1", "type": "complete"}))
        _subscribe(ws, "subscription { progress { pending captures } }", "2")
        assert _told(ws, "progress")["captures"] >= 0
        _subscribe(ws, "subscription { replays { id state } }", "3")
        listed = client.post("/graphql", json={"query": "{ replays { id state } }"}).json()["data"]["replays"]
        assert _told(ws, "replays") == listed


def test_a_tenant_is_told_of_its_own_runs_alone(service: ServiceProcess, client: httpx.Client) -> None:
    with _named(service, Scope.READ, Scope.INTAKE, tenant="sales") as (shown, _), _socket(service, shown) as ws:
        _subscribe(ws, _RUNS)
        assert _told(ws, "runs") == []
        with service.client(key=False, headers=shown) as theirs:
            theirs.post("/api/v1/lineage", json=_run(10)).raise_for_status()
            assert len(_told(ws, "runs")) == 1
            client.post("/api/v1/lineage", json=_run(10)).raise_for_status()  # the same run, of another tenant
            client.post("/api/v1/lineage", json=_run(11)).raise_for_status()
            service.settled()
            with pytest.raises(TimeoutError):
                ws.recv(3)
            theirs.post("/api/v1/lineage", json=_run(12)).raise_for_status()
            assert [run["id"] for run in _told(ws, "runs")] == [f"run:{UUID(int=0xF0110 + 12)}"]


def test_a_connection_ends_when_its_key_is_revoked(service: ServiceProcess, client: httpx.Client) -> None:
    with _named(service, *ROLES["viewer"], tenant="default") as (shown, revoke), _socket(service, shown) as ws:
        _subscribe(ws, _RUNS)
        assert _told(ws, "runs") == []
        revoke()
        client.post("/api/v1/lineage", json=_run(20)).raise_for_status()
        messages, code = _rest(ws)
        assert code == 4401
        assert all(message["type"] != "next" or message["payload"].get("errors") for message in messages), "nothing is told any more"


def test_a_session_follows_from_its_own_page_and_until_it_is_ended(
    service: ServiceProcess, client: httpx.Client, stranger: httpx.Client
) -> None:
    stranger.get(client.post("/api/v1/tickets").json()["url"])
    cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in stranger.cookies.items())}
    for origin in (None, "https://evil.example", "null"):
        with pytest.raises(InvalidStatus) as refused, _socket(service, cookie, origin=origin):
            pass
        assert refused.value.response.status_code == 403
    with _socket(service, cookie, origin=service.url) as ws:
        _subscribe(ws, "subscription { progress { pending } }")
        _told(ws, "progress")
        assert stranger.delete("/api/v1/session").status_code == 200
        assert _rest(ws)[1] == 4401


@pytest.mark.parametrize(
    ("shown", "path", "status"),
    [
        ({}, "/graphql", 401), ({"X-Api-Key": "wrong"}, "/graphql", 401), ({"Host": "evil.example"}, "/graphql", 403), (None, "/", 404),
        (None, "/api/v1/lineage", 404), ({"Sec-Fetch-Site": "cross-site"}, "/graphql", 403),
    ],
)  # fmt: skip
def test_strangers_and_other_paths_get_no_socket(service: ServiceProcess, shown: dict[str, str] | None, path: str, status: int) -> None:
    headers = shown if shown is not None else _key(service)
    host = headers.pop("Host", None)
    address = service.url.replace("http", "ws", 1) + path
    options: dict[str, Any] = {"proxy": None, "open_timeout": _WAIT}
    if host:
        port = int(service.url.rpartition(":")[2])
        address, options["sock"] = f"ws://{host}:{port}{path}", socket.create_connection(("127.0.0.1", port))
    with pytest.raises(InvalidStatus) as refused, connect(address, additional_headers=headers, **options):
        pass
    assert refused.value.response.status_code == status


def test_a_key_without_reading_gets_no_socket(service: ServiceProcess) -> None:
    with _named(service, Scope.INTAKE, tenant="default") as (shown, _), pytest.raises(InvalidStatus) as refused, _socket(service, shown):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "query",
    [
        "{ service { version } }", "mutation { declare(declaration: {}) }", "subscription { nothing }",
        "subscription { " + " ".join(f"a{number}: progress {{ pending }}" for number in range(200)) + " }",
    ],
    ids=["query", "mutation", "unknown", "many"],
)  # fmt: skip
def test_all_but_subscriptions_is_refused_on_a_socket(service: ServiceProcess, query: str) -> None:
    with _socket(service, _key(service)) as ws:
        _subscribe(ws, query)
        ws.send(json.dumps({"type": "unknown"}))  # which ends the connection, if it is not ended yet
        messages, code = _rest(ws)
        assert code == 4400
        assert [message["type"] for message in messages] in ([], ["error"])


def test_subscriptions_come_by_no_other_way(client: httpx.Client) -> None:
    body = {"query": "subscription { runs { id } }"}
    for accepted in ("application/json", 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0,application/json', "text/event-stream"):
        answer = client.post("/graphql", json=body, headers={"Accept": accepted})
        assert '"data":{"runs"' not in answer.text, answer.text
        assert "errors" in answer.text or answer.status_code >= 400


def test_connections_and_subscriptions_are_bounded(service: ServiceProcess) -> None:
    with _named(service, Scope.READ, tenant="default") as (shown, _):
        opened = []
        try:
            for _ in range(8):
                made = _socket(service, shown)
                opened.append((made, made.__enter__()))
            with pytest.raises(InvalidStatus) as refused, _socket(service, shown):
                pass
            assert refused.value.response.status_code == 429
            ws = opened[0][1]
            for number in range(17):
                _subscribe(ws, "subscription { progress { pending } }", str(number))
            kinds = [json.loads(ws.recv(_WAIT)) for _ in range(17)]
            assert [message["id"] for message in kinds if message["type"] == "error"] == ["16"]
            ws.send("x" * 300_000)
            assert _rest(ws)[1] == 1009
        finally:
            for made, _ in opened:
                made.__exit__(None, None, None)
        deadline = time.monotonic() + _WAIT
        while True:  # what was closed makes room
            try:
                with _socket(service, shown):
                    return
            except InvalidStatus:
                assert time.monotonic() < deadline


def _frame(opcode: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    """A frame of a client, whose mask is zero."""
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0xFE]) + len(payload).to_bytes(2, "big")
    return bytes([opcode | (0x80 if final else 0)]) + size + bytes(4) + payload


_BEGIN = _frame(1, b"{", final=False)
_BAD = {
    "no UTF-8": (_frame(1, b"\xff\xfe"), 1007),
    "binary": (_frame(2, b"{}"), 1003),
    "no JSON": (_frame(1, b"{"), 4400),
    "no object": (_frame(1, b"[]"), 4400),
    "no type": (_frame(1, b"{}"), 4400),
    "a payload that is a text": (_frame(1, b'{"type":"subscribe","id":"1","payload":"x"}'), 4400),
    "an id that is a list": (_frame(1, b'{"type":"subscribe","id":[],"payload":{"query":"{a}"}}'), 4400),
    "nested too deeply": (_frame(1, b"[" * 5_000), 4400),
    "too large": (_frame(1, b"a" * 60_000, final=False) + _frame(0, b"a" * 60_000, final=False) * 5, 1009),
    "a frame that goes on with nothing": (_frame(0, b"a"), 1002),
    "an unknown opcode": (_frame(3), 1002),
    "very many frames": (_BEGIN + _frame(0, final=False) * 2_000, 1008),
    "very many frames, for long": (_BEGIN + _frame(0, final=False) * 600_000, 1008),
}


@pytest.mark.parametrize("name", _BAD)
def test_a_bad_message_ends_its_connection_with_a_code_and_a_line(service: ServiceProcess, client: httpx.Client, name: str) -> None:
    data, expected = _BAD[name]
    before = service.log.read_text()
    with _socket(service, _key(service)) as ws:
        with suppress(OSError):  # it may be closed before all is sent
            ws.socket.sendall(data)
        _, code = _rest(ws)
    assert code == expected or (code == 0 and len(data) > 1_000_000), "what comes behind may end the connection before the code is read"
    began = time.monotonic()
    assert client.get("/healthz").status_code == 200
    assert time.monotonic() - began < 20, "others are answered"
    assert "Traceback" not in service.log.read_text().removeprefix(before)
