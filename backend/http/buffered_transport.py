"""A transport that joins small writes into one system call."""

from __future__ import annotations

import asyncio
from typing import Any

_GATHERED_BYTES = 4096  # limit of a piece that waits for the next piece


class Gathering:
    """A transport that writes the head of an answer together with the first piece after it. `inner` is the real transport."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.inner = inner
        self._loop = loop
        self._unwritten = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, data: bytes) -> None:
        """Write the data with the next write, or after a short pause."""
        if self._unwritten or len(data) > _GATHERED_BYTES:
            self.write_at_once(data)
        else:
            self._unwritten = data
            self._loop.call_soon(self._write_rest)

    def write_at_once(self, data: bytes) -> None:
        """Write the data now, after the waiting bytes."""
        self.inner.write(self._unwritten + data)
        self._unwritten = b""

    def close(self) -> None:
        """Close the connection after everything is written."""
        self._write_rest()
        self.inner.close()

    def _write_rest(self) -> None:
        rest, self._unwritten = self._unwritten, b""
        if rest and not self.inner.is_closing():
            self.inner.write(rest)
