"""Sends requests of many clients at once. Each connection sends its next request as soon as it has its answer.

The client shares the machine with the service, so it does as little as possible. Bodies
are made before, one thread polls all connections, and reads only the status and the length of the answers.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_PATIENCE = 120.0  # seconds without any answer
_TAKEN = b"HTTP/1.1 201"
_PIECE = 1 << 16


@dataclass(frozen=True)
class Load:
    """The results: seconds from the first request to the last answer, and the milliseconds of each request, sorted.

    `cpu_seconds` is the processor time of the client itself.
    """

    seconds: float
    waits: Sequence[float]
    cpu_seconds: float = 0.0

    def quantile(self, share: float) -> float:
        """Return the time that a share of the requests did not exceed, in milliseconds."""
        return self.waits[min(len(self.waits) - 1, int(share * len(self.waits)))]


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    began: float = 0.0
    answer: bytes = field(default=b"")

    def send(self, request: bytes) -> None:
        """Send a whole request."""
        self.began = time.perf_counter()
        sent = self.socket.send(request)
        if sent < len(request):  # larger than the socket's buffer
            self.socket.setblocking(True)
            self.socket.sendall(request[sent:])
            self.socket.setblocking(False)

    def is_answered(self) -> bool:
        """Read available bytes. Returns whether the answer is complete.

        Raises:
            RuntimeError: the answer is a refusal, or the connection ended.
        """
        piece = self.socket.recv(_PIECE)
        self.answer += piece
        head, end, body = self.answer.partition(b"\r\n\r\n")
        if not piece or (end and not head.startswith(_TAKEN)):
            raise RuntimeError(f"the service refused an event: {head[:40]!r} {body[:300]!r}")
        if not end or len(body) < int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]):
            return False
        self.answer = b""
        return True


def send(url: str, path: str, headers: Mapping[str, str], bodies: Sequence[bytes], *, connections: int) -> Load:
    """Post bodies over some connections.

    Raises:
        RuntimeError: a body was refused.
    """
    parts = urlsplit(url)
    lines = [f"POST {path} HTTP/1.1", f"Host: {parts.netloc}", *(f"{name}: {value}" for name, value in headers.items())]
    head = "\r\n".join([*lines, "Content-Type: application/json", "Content-Length: "]).encode()
    requests = iter([head + str(len(body)).encode() + b"\r\n\r\n" + body for body in bodies])
    with ExitStack() as stack:
        open_ones = {}
        for _ in range(connections):
            connection = stack.enter_context(socket.create_connection((str(parts.hostname), int(parts.port or 80)), timeout=_PATIENCE))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
            open_ones[connection.fileno()] = _Connection(connection)
        used = time.process_time()
        began = time.perf_counter()
        waits = _sent(open_ones, requests)
        return Load(time.perf_counter() - began, sorted(waits), time.process_time() - used)


def _sent(connections: Mapping[int, _Connection], requests: Iterator[bytes]) -> list[float]:
    waits: list[float] = []
    at_work = 0
    with select.epoll() as ready:
        for number, connection in connections.items():
            if (request := next(requests, None)) is not None:
                ready.register(number, select.EPOLLIN)
                connection.send(request)
                at_work += 1
        while at_work:
            found = ready.poll(_PATIENCE)
            if not found:
                raise RuntimeError(f"{at_work} requests have no answer within {_PATIENCE:g} s")
            for number, _ in found:
                connection = connections[number]
                if not connection.is_answered():
                    continue
                waits.append(1000 * (time.perf_counter() - connection.began))
                if (request := next(requests, None)) is not None:
                    connection.send(request)
                else:
                    ready.unregister(number)
                    at_work -= 1
    return waits
