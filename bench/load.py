"""Requests that many clients send at once: each connection sends its next as soon as it has its answer.

For the suites that ask how much a service takes in. The client shares the machine with the service, so it does as little as it can: bodies
are made before, and of an answer it looks at the status and the length alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

_PATIENCE = 120.0  # seconds for one answer


@dataclass(frozen=True)
class Load:
    """What came of it: seconds from the first request to the last answer, and the milliseconds of each request, sorted."""

    seconds: float
    waits: Sequence[float]

    def quantile(self, share: float) -> float:
        """The wait that a share of the requests did not exceed."""
        return self.waits[min(len(self.waits) - 1, int(share * len(self.waits)))]


def send(url: str, path: str, headers: Mapping[str, str], bodies: Sequence[bytes], *, connections: int) -> Load:
    """Post bodies over some connections.

    Raises:
        RuntimeError: one was refused.
    """
    parts = urlsplit(url)
    lines = [f"POST {path} HTTP/1.1", f"Host: {parts.netloc}", *(f"{name}: {value}" for name, value in headers.items())]
    head = "\r\n".join([*lines, "Content-Type: application/json", "Content-Length: "]).encode()
    requests = iter([head + str(len(body)).encode() + b"\r\n\r\n" + body for body in bodies])
    return asyncio.run(_sent(str(parts.hostname), int(parts.port or 80), requests, connections))


async def _sent(host: str, port: int, requests: Iterator[bytes], connections: int) -> Load:
    streams = [await asyncio.open_connection(host, port) for _ in range(connections)]
    waits: list[float] = []
    began = time.perf_counter()
    try:
        async with asyncio.timeout(_PATIENCE + len(streams)), asyncio.TaskGroup() as group:
            for reader, writer in streams:
                group.create_task(_one_connection(reader, writer, requests, waits))
        return Load(time.perf_counter() - began, sorted(waits))
    finally:
        for _, writer in streams:
            writer.close()


async def _one_connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: Iterator[bytes], waits: list[float]
) -> None:
    for request in requests:
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        lower = head.lower()
        length = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        waits.append(1000 * (time.perf_counter() - began))
        if not head.startswith(b"HTTP/1.1 201"):
            raise RuntimeError(f"the service refused an event: {head[:40]!r} {body[:300]!r}")
