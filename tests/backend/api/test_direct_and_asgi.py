"""Answers without ASGI equal those of the application: the same requests at two ports of a service, one of which goes by ASGI."""

from __future__ import annotations

import asyncio
import json
import random
import re
import select
import socket
import sqlite3
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.api.direct_events import DirectEvents
from headwater.backend.audit.log import AuditLog
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.http.connections import Limits, bounded_by
from headwater.backend.ingest.intake.receive import EventIntake
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.serving import LocalService
from headwater.errors import UnavailableError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import Scope
from tests.backend.events import run_event

_MOST = 4_000  # bytes of a body; those of one caller take at most twice as many together
_PATIENCE = 30.0
_LAST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@dataclass
class Doors:
    """A service with two ports, and the keys that it knows."""

    home: Home
    direct: int
    by_asgi: int
    keys: dict[str, str]

    def connect(self, port: int, sent: bytes) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)
        connection.sendall(sent)
        return connection

    def answer(self, port: int, sent: bytes) -> bytes:
        """All that comes back, without what differs between any two answers."""
        answer = b""
        with self.connect(port, sent) as connection:
            while piece := connection.recv(1 << 16):
                answer += piece
        answer = re.sub(rb"(?i)date: [^\r]*\r\n|content-length: \d+\r\n", b"", answer).replace(b"localhost:%d" % port, b"localhost")
        answer = re.sub(rb"(x-request-id: )(?:[0-9a-f]{32}|a\d+|d\d+)", rb"\1of-its-own", answer)
        head, _, rest = answer.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        return b"\r\n".join([status, *sorted(lines), b"", rest])


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    home = Home.at(tmp_path_factory.mktemp("home")).create()
    settings = load_settings(home=home.path, port=0, max_body_bytes=_MOST, bodies_bytes=1, allowed_hosts=("lineage.example.org",))
    keys = {"home": home.key(), "unknown": "hwk_12345678_no", "token": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"}
    whole, within = Rights(frozenset({Scope.INTAKE})), {Scope.INTAKE: Namespaces.of(["else*"])}
    with closing(KeyRing(home.named_keys, clock=lambda: time.time() - 60)) as before:
        keys["past"] = before.create("past", whole, tenant="default", expires=time.time() - 30)[1]
    with closing(KeyRing(home.named_keys)) as ring:
        for name in ("sender", "revoked", "rotated"):
            keys[name] = ring.create(name, whole, tenant="default")[1]
        keys["elsewhere"] = ring.create("elsewhere", whole, tenant="other")[1]
        keys["reader"] = ring.create("reader", Rights(frozenset({Scope.READ})), tenant="default")[1]
        keys["within"] = ring.create("within", Rights(frozenset({Scope.INTAKE}), within), tenant="default")[1]
        ring.revoke("revoked")
        keys["renewed"] = ring.rotate("rotated", overlap=0)[1]
    service = LocalService(settings)
    service.start()
    server, protocol = service._server, bounded_by(Limits())

    async def open_second() -> int:
        state = server.lifespan.state
        second = await asyncio.get_running_loop().create_server(
            lambda: protocol(config=server.config, server_state=server.server_state, app_state=state), "127.0.0.1", 0
        )
        server.servers.append(second)
        return int(second.sockets[0].getsockname()[1])

    by_asgi = asyncio.run_coroutine_threadsafe(open_second(), server.servers[0].get_loop()).result(_PATIENCE)
    yield Doors(home, urlsplit(service.url).port or 0, by_asgi, keys)
    service.stop()


@dataclass
class Sent:
    """A request. `ODD` changes a part of it."""

    port: int
    number: int
    request_id: str
    keys: dict[str, str]
    line: str = "POST /api/v1/lineage HTTP/1.1"
    host: Sequence[str] = ("Host: localhost:PORT",)
    key: Sequence[str] = ("Authorization: Bearer sender",)
    kind: Sequence[str] = ("Content-Type: application/json",)
    further: Sequence[str] = ()
    framing: str = "length"
    changes: dict[str, Any] = field(default_factory=dict)
    body: str | None = None

    def raw(self, order: random.Random) -> bytes:
        event = json.dumps(run_event(self.number, **self.changes))
        body = (event if self.body is None else self.body.replace("EVENT", event)).encode()
        framing = {
            "length": [f"Content-Length: {len(body)}"], "twice": [f"Content-Length: {len(body)}"] * 2, "none": [],
            "chunked": ["Transfer-Encoding: chunked"], "both": ["Transfer-Encoding: chunked", f"Content-Length: {len(body)}"],
            "signed": [f"Content-Length: +{len(body)}"], "huge": ["Content-Length: 99999999999999999999"],
        }[self.framing]  # fmt: skip
        known = re.compile(rf"\b({'|'.join(self.keys)})$")
        key = [known.sub(lambda found: self.keys[found[1]], line) for line in self.key]
        host = [line.replace("PORT", str(self.port)) for line in self.host]
        lines = [*host, *key, *self.kind, *self.further, *framing, f"X-Request-Id: {self.request_id}"]
        order.shuffle(lines)
        if self.framing in ("chunked", "both"):
            body = b"%x\r\n%s\r\n0\r\nX-Api-Key: trailer\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        return "\r\n".join([self.line, *lines, "", ""]).encode("latin-1") + body + _LAST


# Nothing odd stands first: it goes the short way.
ODD: dict[str, list[Any]] = {
    "line": [
        *(f"POST {path} HTTP/1.1" for path in ("/api/v1/lineage/batch", "/api/v1/lineage?x=1", "/api/v1/line%61ge", "/api/v1/lineage/")),
        *(f"POST {path} HTTP/1.1" for path in ("//api/v1/lineage", "/api/v1/lineage%00", "/api/v1/../v1/lineage")),
        "POST /api/v1/lineage HTTP/1.0", "HEAD /api/v1/lineage HTTP/1.1", "PUT /api/v1/lineage HTTP/1.1", "post /api/v1/lineage HTTP/1.1",
    ],
    "host": [
        ("Host: lineage.example.org",), ("Host: elsewhere.example.org",), (), ("Host: localhost:PORT", "Host: localhost:PORT"), ("Host:",),
        ("hOsT:   LOCALHOST.:PORT ",), ("Host: [::1",),
    ],
    "key": [
        *((f"X-Api-Key: {key}",) for key in ("home", "unknown", "token", "past", "revoked", "rotated", "renewed", "elsewhere", "reader")),
        *((f"Authorization: {text}",) for text in ("Bearer token", "Bearer within", "bEARER   sender", "Basic sender", "", "Bearer \xff")),
        (), ("X-Api-Key: within",), ("X-Api-Key: sender", "X-Api-Key: unknown"), ("Authorization: Basic x", "X-Api-Key: sender"),
        ("Authorization: Bearer sender", "Authorization: Bearer unknown"),
        ("Authorization: Bearer unknown", "Authorization: Bearer sender"),
        ("Cookie: headwater_0=a.b.c.d", "X-Api-Key: sender"), ('Cookie: a="; b',),
    ],
    "kind": [
        (), ("Content-Type: text/plain",), ("Content-Type:",), ("content-TYPE: Application/JSON; charset=UTF-8",),
        ("Content-Type: application/json; charset=latin-1",), ("Content-Type: application/json", "Content-Type: text/plain"),
        ("Content-Type: text/plain", "Content-Type: application/json"),
    ],
    "further": [
        *((f"Origin: {origin}",) for origin in ("https://elsewhere.example.org", "null", "http://[::1", "http://localhost")),
        ("Sec-Fetch-Site: cross-site",), ("Sec-Fetch-Site: same-origin",), ("Content-Encoding: identity",), ("Content-Encoding: gzip",),
        ("Content-Encoding:",), ("Expect: 100-continue",), ("X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https"),
        ("Connection: close",), ("Connection: Upgrade", "Upgrade: h2c"),
        (f"X-Large: {'a' * 15_900}",), (f"X-Large: {'a' * 17_000}",), ("X-Request-Id: bad id",),
    ],
    "framing": ["chunked", "both", "twice", "signed", "none", "huge"],
    "changes": [
        {"run": {"runId": "none"}}, {"eventTime": "9999-12-31T23:59:59-01:00"}, {"inputs": [{"namespace": "s3://a", "name": "x" * 3000}]},
        {"inputs": [{"namespace": "a", "name": "\ud800"}]}, {"x": 1.5}, {"x": 10**400}, {"password": "hunter2"}, {"producer": "x" * _MOST},
    ],
    "body": [
        "", "  ", "[]", "{}", "null", "[EVENT]", "[EVENT, EVENT]", "[EVENT, 1]", "EVENTx", "\ufeffEVENT", "[" * 3000, '{"a":' * 700,
        '{"run":1,"run":2}', f"EVENT{' ' * _MOST}",
    ],
}  # fmt: skip


def _requests() -> list[tuple[tuple[str, Any], ...]]:
    """The odd parts of each request: none, one, or two by chance."""
    single = [((part, each),) for part, all_of in ODD.items() for each in all_of]
    chance = random.Random(7)
    pairs = [(*chance.choice(single), *chance.choice(single)) for _ in range(60)]
    return [(), *single, *pairs]


def test_status_headers_body_and_audit_are_those_of_the_application(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []
    audited: dict[str, list[dict[str, Any]]] = {"d": [], "a": []}
    direct = DirectEvents.__call__
    monkeypatch.setattr(AuditLog, "note", lambda _, entry, **__: audited[entry.pop("request")[0]].append(entry))

    def noted(*given: Any) -> bool:
        taken.append(direct(*given))
        return taken[-1]

    monkeypatch.setattr(DirectEvents, "__call__", noted)
    kinds = set()
    for place, odd in enumerate(_requests()):
        answers = {
            start: doors.answer(port, Sent(port, 7 * place + at, f"{start}{place}", doors.keys, **dict(odd)).raw(random.Random(place)))
            for at, (start, port) in enumerate((("d", doors.direct), ("a", doors.by_asgi)))
            for at in (at * 7 * 10_000,)
        }
        assert answers["d"] == answers["a"], odd
        kinds.add(answers["d"][9:12])
    assert {b"201", b"400", b"401", b"403", b"404", b"405", b"413", b"415", b"422", b"431"} <= kinds
    assert 20 < sum(taken) < len(taken)  # both ways were gone
    assert len(audited["d"]) > 20
    assert audited["d"] == audited["a"]


def test_requests_behind_one_another_are_answered_alike(doors: Doors) -> None:
    odd = [((),), *((each,) for each in _requests() if len(each) == 1 and each[0][0] in ("key", "kind", "body"))]
    for seed in range(12):
        answers = []
        for at, port in enumerate((doors.direct, doors.by_asgi)):
            chance = random.Random(seed)
            several = [dict(chance.choice(odd)[0]) for _ in range(6)]
            sent = [
                Sent(port, 700_000 * (at + 1) + 7 * (10 * seed + n), f"s{n}", doors.keys, **each).raw(chance).removesuffix(_LAST)
                for n, each in enumerate(several)
            ]
            answers.append(doors.answer(port, b"".join(sent) + _LAST))
        assert answers[0] == answers[1], seed
        assert answers[0].count(b"HTTP/1.1 ") == 7


def test_a_body_in_pieces_has_the_limit_of_any_other(doors: Doors) -> None:
    for port in (doors.direct, doors.by_asgi):
        sent = Sent(port, 5_000_000, "large", doors.keys, framing="chunked", body=f"EVENT{' ' * _MOST}")
        assert doors.answer(port, sent.raw(random.Random(1))).startswith(b"HTTP/1.1 413 ")


def test_bodies_that_wait_for_the_disk_count_for_their_caller(doors: Doors) -> None:
    for port in (doors.direct, doors.by_asgi):
        with closing(sqlite3.connect(doors.home.path / "ingest.db", isolation_level=None)) as disk, ExitStack() as held:
            disk.execute("BEGIN IMMEDIATE")
            bodies = [
                Sent(
                    port,
                    6_000_000 + port * 10 + number,
                    f"w{number}",
                    doors.keys,
                    further=("Connection: close",),
                    body=f"EVENT{' ' * 3_300}",
                )
                for number in range(4)
            ]
            waiting = [held.enter_context(doors.connect(port, each.raw(random.Random(1)).removesuffix(_LAST))) for each in bodies]
            deadline = time.monotonic() + _PATIENCE
            while len(answered := select.select(waiting, [], [], 1)[0]) < 2:
                assert time.monotonic() < deadline
            refused = [each.recv(1 << 16) for each in answered]
            disk.execute("ROLLBACK")
            taken = [each.recv(1 << 16) for each in waiting if each not in answered]
        assert all(answer.startswith(b"HTTP/1.1 503 ") and b"BodiesInFlight" in answer for answer in refused)
        assert [answer[9:12] for answer in taken] == [b"201", b"201"]


def test_a_log_that_cannot_be_written_is_told_alike(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: Future[Any] = Future()
    failed.set_exception(UnavailableError("The ingest log could not be written.", hint="Look at the disk."))
    monkeypatch.setattr(SqliteLog, "append", lambda *_: failed)
    answers = []
    for port in (doors.direct, doors.by_asgi):
        answer, until = b"BodiesInFlight", time.monotonic() + _PATIENCE
        while b"BodiesInFlight" in answer and time.monotonic() < until:  # the last request of the test before may hold its memory still
            answer = doors.answer(port, Sent(port, 8_000_000, "a1", doors.keys).raw(random.Random(1)))
        answers.append(answer)
    assert answers[0].startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"The ingest log could not be written." in answers[0]
    assert answers[0] == answers[1]


def test_a_fault_of_the_short_way_is_met_by_the_application(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(EventIntake, "take", fault)
    assert doors.answer(doors.direct, Sent(doors.direct, 9_000_000, "a1", doors.keys).raw(random.Random(1))).startswith(b"HTTP/1.1 201 ")
