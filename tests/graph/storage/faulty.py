"""A proxy in front of a real S3 server that fails on demand. Otherwise it passes on every byte."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_BUFFER = 1 << 16


class Way:
    """The behaviour of the proxy for the next requests: `fault` is one of the names below, or none. `requests` counts the received ones.

    `meanwhile` is called once, before the first object is read: after all listings and looks.

    """

    def __init__(self, endpoint: str) -> None:
        self.target = (urlsplit(endpoint).hostname or "", urlsplit(endpoint).port or 0)
        self.fault: str | None = None
        self.refused: str | None = None  # requests whose address holds this are answered by 403
        self.times = 1_000_000  # so often, then it goes well
        self.meanwhile: Callable[[], object] | None = None
        self.requests = 0
        self.seen: list[str] = []

    def answer(self, request: bytes) -> bytes | None:
        """The answer in the server's place, or None for the server's own."""
        self.requests += 1
        self.seen.append(request.split(b"\r\n", 1)[0].decode("latin-1"))
        if self.meanwhile is not None and self.seen[-1].startswith("GET ") and "list-type=" not in self.seen[-1]:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        if self.refused and self.refused in self.seen[-1]:
            return b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        if self.fault in (None, "half") or self.times <= 0:
            return None
        self.times -= 1
        if self.fault == "silence":
            time.sleep(30)
        if self.fault == "redirect":
            return b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/stolen\r\nContent-Length: 0\r\n\r\n"
        status = {"403": "403 Forbidden", "404": "404 Not Found", "503": "503 Slow Down"}.get(str(self.fault), "500 Internal Server Error")
        again = "Retry-After: 60\r\n" if self.fault == "503" else ""
        return f"HTTP/1.1 {status}\r\n{again}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()


@contextmanager
def way_to(endpoint: str) -> Iterator[tuple[str, Way]]:
    """A way to a server: the address to ask in its place, and what it does."""
    way = Way(endpoint)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=[listening, way], daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", way


def _serve(listening: socket.socket, way: Way) -> None:
    with suppress(OSError):  # it was closed
        while True:
            client, _ = listening.accept()
            threading.Thread(target=_one, args=[client, way], daemon=True).start()


def _one(client: socket.socket, way: Way) -> None:
    """One connection: each request is a head without a body, as a reader's are."""
    with suppress(OSError), client, socket.create_connection(way.target) as server:
        while head := _head(client):
            if (instead := way.answer(head)) is not None:
                client.sendall(instead)
                return
            server.sendall(head)
            if not _back(server, client, way, is_head=head.startswith(b"HEAD")):
                return


def _head(client: socket.socket) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        part = client.recv(_BUFFER)
        if not part:
            return b""
        found += part
    return found


def _back(server: socket.socket, client: socket.socket, way: Way, *, is_head: bool) -> bool:
    """Carry an answer back; whether the connection can go on."""
    found = _head(server)
    head, _, body = found.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    length = 0 if is_head else int(fields.get(b"content-length", b"0"))
    while len(body) < length:
        body += server.recv(_BUFFER)
    if way.fault == "half" and length > 1 and way.times > 0:
        way.times -= 1
        client.sendall(head + b"\r\n\r\n" + body[: length // 2])
        return False
    client.sendall(head + b"\r\n\r\n" + body)
    return True
