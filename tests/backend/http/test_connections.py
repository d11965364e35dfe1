"""Connections of clients that mean harm, or stall: over real sockets, with the limits that a service has, their times cut short."""

from __future__ import annotations

import re
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
from headwater.backend.http.connections import HEAD_BYTES, Limits
from headwater.backend.serving import LocalService

_LIMITS = Limits(connections=64, head_seconds=0.4, window_seconds=0.4, read_seconds=0.4, linger_seconds=0.4)
_PATIENCE = 60.0  # on a machine with other work; without the limits, a connection stays open


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def service(home: Path) -> Iterator[LocalService]:
    service = LocalService(load_settings(home=home, port=0), limits=_LIMITS)
    service.start()
    yield service
    service.stop()


@pytest.fixture
def address(service: LocalService) -> tuple[str, int]:
    parts = urlsplit(service.url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


@pytest.fixture(scope="module")
def key(home: Path, service: LocalService) -> str:
    return Home.at(home).key()


def _connect(address: tuple[str, int]) -> socket.socket:
    connection = socket.create_connection(address, timeout=_PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _rest(connection: socket.socket) -> bytes:
    """All that still comes until the service closes; fails where it does not."""
    read = b""
    try:
        while chunk := connection.recv(1 << 16):
            read += chunk
    except ConnectionResetError:
        pass
    return read


def _answer(address: tuple[str, int], request: bytes) -> bytes:
    with _connect(address) as connection:
        connection.sendall(request)
        return _rest(connection)


def _head(address: tuple[str, int], *lines: str, method: str = "POST", path: str = "/api/v1/lineage") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {address[0]}:{address[1]}", *lines, "", ""]).encode()


def test_a_connection_that_says_nothing_is_closed(address: tuple[str, int]) -> None:
    began = time.monotonic()
    with _connect(address) as connection:
        assert _rest(connection) == b""
    assert 0.3 < time.monotonic() - began < _PATIENCE


@pytest.mark.parametrize("sent", [b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_a_head_that_never_ends_is_answered_and_closed(address: tuple[str, int], sent: bytes) -> None:
    assert _answer(address, sent).startswith(b"HTTP/1.1 408 ")


def test_bytes_now_and_then_do_not_hold_a_head_open(address: tuple[str, int]) -> None:
    began = time.monotonic()
    with _connect(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        connection.settimeout(0.1)
        while time.monotonic() - began < _PATIENCE:
            try:
                connection.sendall(b"x")
                if connection.recv(1 << 16):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    assert time.monotonic() - began < _PATIENCE


def test_a_second_request_that_never_ends_is_closed_too(address: tuple[str, int]) -> None:
    with _connect(address) as connection:
        connection.sendall(_head(address, method="GET", path="/healthz"))
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert b"HTTP/1.1 408 " in _rest(connection)


def test_a_slow_body_does_not_hold_a_connection(address: tuple[str, int], key: str) -> None:
    """A byte now and then resets no timer: what counts is how much came."""
    began = time.monotonic()
    with _connect(address) as connection:
        connection.sendall(_head(address, f"X-Api-Key: {key}", "Content-Type: application/json", "Content-Length: 100000"))
        connection.settimeout(0.1)
        while time.monotonic() - began < _PATIENCE:
            try:
                connection.sendall(b" ")
                if not connection.recv(1 << 16):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    assert time.monotonic() - began < _PATIENCE


def test_a_body_that_comes_steadily_is_taken_however_long_it_is_on_its_way(address: tuple[str, int], key: str) -> None:
    with _connect(address) as connection:
        connection.sendall(
            _head(address, f"X-Api-Key: {key}", "Content-Type: application/json", "Content-Length: 4000", "Connection: close")
        )
        for _ in range(10):  # 1 s in all, at four times the least rate
            connection.sendall(b" " * 400)
            time.sleep(0.1)  # the pace is what this test is about
        assert b"InvalidEvent" in _rest(connection)


def test_a_body_whose_request_was_refused_is_not_waited_for(address: tuple[str, int]) -> None:
    began = time.monotonic()
    with _connect(address) as connection:
        connection.sendall(_head(address, "Content-Length: 100000"))
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 401 ")
        connection.settimeout(0.05)
        while time.monotonic() - began < _PATIENCE:
            try:
                connection.sendall(b"x" * 500)
                if not connection.recv(1 << 16):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    assert time.monotonic() - began < _PATIENCE


def test_an_answer_that_nobody_reads_does_not_hold_a_connection(service: LocalService, address: tuple[str, int], key: str) -> None:
    """Many answers are asked for on one connection, and none is read."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(_PATIENCE)
        connection.connect(address)
        request = _head(address, f"X-Api-Key: {key}", method="GET", path="/openapi.json")
        began = time.monotonic()
        connection.settimeout(0.2)
        while time.monotonic() - began < _PATIENCE:
            try:
                connection.sendall(request * 50)
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - began < _PATIENCE


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 4", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 0"),
        ("transfer-encoding: Chunked", "content-length: 11"),
    ],
)
def test_two_lengths_are_refused_and_the_connection_closed(address: tuple[str, int], key: str, lines: tuple[str, ...]) -> None:
    request = _head(address, f"X-Api-Key: {key}", "Content-Type: application/json", *lines) + b"0\r\n\r\n"
    answer = _answer(address, request + _head(address, method="GET", path="/healthz"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"can't be present with" in answer
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 4", "Content-Length: 5"),
        ("Content-Length: -1",),
        ("Content-Length: 4, 5",),
        ("Content-Length: +4",),
        ("Content-Length : 4",),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: identity",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: \x0bchunked",),
        ("X-Folded: a\r\n b", "Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Host: other",),
    ],
)
def test_a_length_or_name_that_can_be_read_in_two_ways_is_refused(address: tuple[str, int], key: str, lines: tuple[str, ...]) -> None:
    request = _head(address, f"X-Api-Key: {key}", "Content-Type: application/json", *lines) + b"0\r\n\r\n"
    answer = _answer(address, request + _head(address, method="GET", path="/healthz"))
    assert answer.split()[1] in (b"400", b"501"), answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_length_in_a_request_of_http_1_0_by_encoding_is_refused(address: tuple[str, int]) -> None:
    request = f"POST /api/v1/lineage HTTP/1.0\r\nHost: {address[0]}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert _answer(address, request.encode()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "lines",
    [
        (f"X-Long: {'x' * HEAD_BYTES}",),
        tuple(f"X-{number}: {'x' * 100}" for number in range(200)),
        tuple("A:" for _ in range(8000)),
        (f"Cookie: {'a=b; ' * 40_000}",),
    ],
)
@pytest.mark.parametrize("pieces", [1, 40])
def test_a_head_beyond_16_kb_is_refused(address: tuple[str, int], lines: tuple[str, ...], pieces: int) -> None:
    """In one piece, or in many."""
    request = _head(address, *lines, method="GET", path="/healthz")
    with _connect(address) as connection:
        size = -(-len(request) // pieces)
        try:
            for start in range(0, len(request), size):
                connection.sendall(request[start : start + size])
        except OSError:
            pass  # refused before the end
        answer = _rest(connection)
    assert answer.startswith(b"HTTP/1.1 431 ") or not answer, answer[:200]


def test_a_head_just_below_16_kb_is_taken(address: tuple[str, int]) -> None:
    request = _head(address, f"X-Long: {'x' * (HEAD_BYTES - 200)}", "Connection: close", method="GET", path="/healthz")
    assert _answer(address, request).startswith(b"HTTP/1.1 200 ")


def test_a_long_target_is_refused(address: tuple[str, int]) -> None:
    request = _head(address, method="GET", path=f"/healthz?{'x' * HEAD_BYTES}")
    assert _answer(address, request).startswith(b"HTTP/1.1 431 ")


def test_what_is_no_request_is_refused(address: tuple[str, int]) -> None:
    for sent in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        assert _answer(address, sent).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ")), sent


def test_held_connections_keep_nobody_out(service: LocalService, address: tuple[str, int]) -> None:
    """Eight times as many as the limit: the oldest make room, and the service reports its health throughout."""
    slowest = 0.0
    with ExitStack() as held, httpx.Client(trust_env=False) as client:
        for number in range(8 * _LIMITS.connections):
            connection = held.enter_context(_connect(address))
            connection.sendall(b"GET /healthz HTTP/1.1\r\n"[: number % 24])
            if number % 16 == 0:
                began = time.monotonic()
                assert client.get(f"{service.url}/healthz", headers={"Connection": "close"}).status_code == 200
                slowest = max(slowest, time.monotonic() - began)
    assert slowest < 4


def test_where_all_connections_are_at_work_one_more_is_told_so(tmp_path: Path) -> None:
    service = LocalService(load_settings(home=tmp_path, port=0), limits=Limits(connections=4, window_seconds=60))
    service.start()
    parts = urlsplit(service.url)
    address = str(parts.hostname), int(parts.port or 0)
    lines = (f"X-Api-Key: {Home.at(tmp_path).key()}", "Content-Type: application/json", "Content-Length: 100000")
    deadline = time.monotonic() + _PATIENCE
    try:
        with ExitStack() as held:
            for _ in range(4):
                held.enter_context(_connect(address)).sendall(_head(address, *lines) + b" " * 1000)
            # Until the service has read all four heads, one of them makes room.
            while not (answer := _answer(address, _head(address, "Connection: close", method="GET", path="/healthz"))).startswith(
                b"HTTP/1.1 503 "
            ):
                assert time.monotonic() < deadline, answer
                held.enter_context(_connect(address)).sendall(_head(address, *lines) + b" " * 1000)
    finally:
        service.stop()


def _body_of(key: str, *lines: str) -> tuple[str, ...]:
    return (f"X-Api-Key: {key}", "Content-Type: application/json", *lines)


def test_what_stands_behind_a_body_is_no_header(address: tuple[str, int]) -> None:
    """A proxy looks at the head alone: a key, a name or an address behind the body must not count."""
    body = b"2\r\n[]\r\n0\r\nX-Api-Key: %b\r\nHost: other\r\n\r\n"
    lines = ("Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close")
    answer = _answer(address, _head(address, *lines) + body % b"x")
    assert answer.startswith(b"HTTP/1.1 401 "), answer


def test_a_key_behind_a_body_opens_nothing(address: tuple[str, int], key: str) -> None:
    lines = ("Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close")
    body = b"2\r\n[]\r\n0\r\nX-Api-Key: %b\r\n\r\n" % key.encode()
    assert _answer(address, _head(address, *lines) + body).startswith(b"HTTP/1.1 401 ")
    assert _answer(address, _head(address, f"X-Api-Key: {key}", *lines) + body).startswith(b"HTTP/1.1 201 ")


def test_requests_that_come_together_are_answered_in_order_and_a_few_at_a_time(address: tuple[str, int], key: str) -> None:
    """Few of many requests are read before the first is answered. The senders of the others must send them again."""
    good = _head(address, f"X-Api-Key: {key}", method="GET", path="/api/v1/session")
    odd = _head(address, method="GET", path="/healthz")
    answer = _answer(address, good + odd + good + _head(address, "Connection: close", method="GET", path="/healthz"))
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"200"] * 4
    assert answer.count(b'{"status":"ok"') == 2
    many = _answer(address, odd * 2_000)
    assert 2 <= many.count(b"HTTP/1.1 200 ") <= 100
    assert many.count(b"HTTP/1.1 ") == many.count(b"HTTP/1.1 200 ")
    assert b"connection: close" in many.rpartition(b"HTTP/1.1 ")[2].lower()


def test_what_is_no_request_behind_one_that_is_does_not_take_its_answer(address: tuple[str, int]) -> None:
    answer = _answer(address, _head(address, method="GET", path="/healthz") + b"\x00\x01 no request\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("upgrade", ["h2c", "TLS/1.0", "websocket2"])
def test_a_wish_for_another_protocol_is_left_unheard(address: tuple[str, int], key: str, upgrade: str) -> None:
    """As RFC 9110 has it. Java's own client sends such a wish with each of its requests, body and all."""
    lines = _body_of(key, "Connection: keep-alive, Upgrade, HTTP2-Settings, close", f"Upgrade: {upgrade}", "HTTP2-Settings: AAMAAABk")
    answer = _answer(address, _head(address, *lines, "Content-Length: 2") + b"[]")
    assert answer.startswith(b"HTTP/1.1 201 "), answer
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET http://127.0.0.1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"CONNECT /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/3.0\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/0.9\r\nHost: 127.0.0.1\r\n\r\n", b"505"),
        (b"GET /heal\x00thz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"GET /heal\xffthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX : a\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\rb\r\n\r\n", b"400"),
    ],
    ids=[
        "whole address", "tunnel", "tunnel to a path", "no path", "no host", "two hosts", "unknown version", "old version", "NUL in target",
        "no ASCII in target", "bare LF", "NUL in value", "blank before colon", "bare CR",
    ],
)  # fmt: skip
def test_a_head_that_others_may_read_otherwise_is_refused(address: tuple[str, int], head: bytes, status: bytes) -> None:
    answer = _answer(address, head)
    assert answer.split()[1] == status, answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_body_in_pieces_that_is_none_ends_the_connection(address: tuple[str, int], key: str) -> None:
    for body in (b"zz\r\n", b"2\r\n[]x\r\n0\r\n\r\n", b"-2\r\n[]\r\n0\r\n\r\n", b"ffffffffffffffffff\r\n"):
        answer = _answer(address, _head(address, *_body_of(key, "Transfer-Encoding: chunked")) + body)
        assert answer.split()[1] == b"400", (body, answer)
        assert answer.count(b"HTTP/1.1 ") == 1
