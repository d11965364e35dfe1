"""Connections of the service, limited in time and in number.

uvicorn limits only the pause between two requests, and not the duration of a request. A client that opens connections
and sends nothing, or a byte now and then, or does not read its answer, must cost no more than a socket for a short while. It must never
keep another client out: beyond the limit, the connection that has waited longest is closed.

Small requests may come by the thousand, and ASGI takes longer than their work. A complete request is therefore offered to `Direct`
first.

llhttp, in C, parses requests, and is strict about heads. This module checks the rest: the size of a head, the number of
requests behind an unanswered one, that a request states its host and its end once and in one way, and that text behind a body is never
parsed as a header.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from http import HTTPStatus
from typing import Any, cast

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from headwater.backend.http.buffered_transport import Gathering

HEAD_BYTES = 16 * 1024
_WAITING = 8  # limit of requests behind an unanswered one; the connection ends with the last of them
_VERSIONS = frozenset({"1.0", "1.1"})

Answered = Callable[[bytes, bytes], None]
"""Takes an answer: its status line and headers, each line with its end, and its body. Called on the loop, at once or later."""
Direct = Callable[[MutableMapping[str, Any], bytes, Answered], bool]
"""Takes a whole request (its scope as ASGI has it, and its body) and answers it; False, and nothing done, where ASGI must."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one connection. `rate` is the minimum of bytes per second, for a body and for the reading of an answer."""

    connections: int = 512
    head_seconds: float = 10.0
    window_seconds: float = 10.0  # window for the rate of a body
    read_seconds: float = 60.0  # window for the rate of an answer
    linger_seconds: float = 5.0  # time for the rest of a body after the answer
    rate: int = 1024


@dataclass(slots=True, eq=False)
class Waiting:
    """The connections of one service that wait for their client, longest first."""

    limits: Limits
    waiting: dict[BoundedProtocol, None] = field(default_factory=dict)


class _Place(Enum):
    """The received part of a request."""

    BEFORE = auto()
    HEAD = auto()
    BODY = auto()


class _RefusedError(Exception):
    """A malformed or ambiguous request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class _EnoughError(Exception):
    """Nothing more is read from a connection."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with the limits of `Limits`. `bounded_by` makes the class for uvicorn."""

    shared: Waiting
    direct: Direct | None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request. The connection is refused if the limit is reached and no other connection is idle."""
        super().connection_made(transport)  # type: ignore[arg-type]  # asyncio's base class declares less than it passes
        self.parser.set_dangerous_leniencies(lenient_data_after_close=False)
        self.flow = _OneAtATime(self)
        self._gathering = Gathering(self.transport, self.loop)
        self.transport = self._gathering  # type: ignore[assignment]  # it has all other methods of the real one
        self._limits = self.shared.limits
        self._place = _Place.BEFORE
        self._received = 0
        self._head_bytes = 0  # bytes of a head in several pieces, without the first piece
        self._is_deaf = False
        self._is_reading = False
        self._is_plain = False  # the head asks for an unsupported protocol
        self._answered: RequestResponseCycle | None = None
        self._begun: tuple[RequestResponseCycle, Any] | None = None  # a request to begin after reading all received bytes
        self._refused: _RefusedError | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        if len(self.connections) > self._limits.connections and not self._make_room():
            self._refuse(503, "Too many connections are at work.")
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self.shared.waiting.pop(self, None)
        self._cancel("_head_timer", "_body_timer", "_read_timer")
        self.pipeline.clear()
        super().connection_lost(exc)
        if self._answered is not None and not self._answered.response_complete:  # uvicorn would notify the last parsed request instead
            self._answered.disconnected = True
            self._answered.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self._is_deaf:
            return
        self._received += len(data)
        self._unset_keepalive_if_required()
        before = self._place
        self._head_bytes += len(data)
        self._is_reading = True
        try:
            while data:
                data = self._read(data)
        except httptools.HttpParserError as error:
            self._fault(error)
        else:
            if self._place is not _Place.HEAD or before is not _Place.HEAD:
                self._head_bytes = 0  # the size of a head within these bytes is checked at its end
            elif self._head_bytes > HEAD_BYTES:
                self._refuse(431, f"The request's head is larger than {HEAD_BYTES} bytes.")
        self._is_reading = False
        if self._begun is not None:
            self._begin(*self._begun)
        if self.transport.get_protocol() is self:
            self._look()

    def _read(self, data: bytes) -> bytes:
        """Parse bytes, and return the bytes that must be parsed again."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._is_plain:
                return self._without_upgrade() + data[upgrade.args[0] :]
            if self._is_idle_before_this():
                self.handle_websocket_upgrade()
            else:
                self._end_with_last()
        return b""

    def _without_upgrade(self) -> bytes:
        """Return the head without its request to upgrade, which may be ignored. Otherwise llhttp would not read the body."""
        self._is_plain = False
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode("ascii"))]
        for name, value in self.headers:
            if name == b"connection":
                value = b", ".join(token for token in value.split(b",") if token.strip().lower() != b"upgrade")  # noqa: PLW2901
            if name != b"upgrade":
                lines.append(b"%s: %s" % (name, value))
        self.parser = httptools.HttpRequestParser(self)
        return b"\r\n".join([*lines, b"", b""])

    def on_message_begin(self) -> None:
        """Begin to read a head. If too many requests wait, nothing more is read from the connection."""
        if self._is_deaf:
            raise _EnoughError
        if len(self.pipeline) >= _WAITING:
            self._end_with_last()
            raise _EnoughError
        self._place = _Place.HEAD
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Accept a header of the head. Trailers behind a chunked body are ignored, because a proxy has not checked them."""
        if self._place is _Place.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Handle the request if the head states its host and its end exactly once."""
        self._refused = _fault_of(self.parser.get_method(), self.parser.get_http_version(), self.url, self.headers)
        if self._refused is not None:
            raise self._refused
        self._is_plain = self.parser.should_upgrade() and not self._should_upgrade()
        if not self._is_plain:
            self._place = _Place.BODY
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        if not self._is_plain:
            self._place = _Place.BEFORE
            super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        if self.direct is None:
            super()._start_asgi_task(cycle, app)
        elif self._is_reading:
            self._begun = (cycle, app)  # its body may be in the same bytes
        else:
            self._begin(cycle, app)

    def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Handle a request, directly if possible, else by ASGI."""
        self._begun = None
        is_plain = not (cycle.more_body or cycle.waiting_for_100_continue or cycle.disconnected or self.flow.write_paused)
        if (
            self.direct is None
            or not is_plain
            or not self.direct(cast("MutableMapping[str, Any]", cycle.scope), bytes(cycle.body), partial(self._answer, cycle))
        ):
            super()._start_asgi_task(cycle, app)

    def _answer(self, cycle: RequestResponseCycle, head: bytes, body: bytes) -> None:
        """Write a complete answer, and continue with the next request."""
        if cycle.disconnected or self.transport.is_closing():
            return
        cycle.response_started = cycle.response_complete = True
        lines = [head, *(b"%s: %s\r\n" % header for header in self.server_state.default_headers)]
        lines += [b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n", body]
        self._gathering.write_at_once(b"".join(lines))
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """Pass the connection to uvicorn's WebSocket protocol, which pings its client and ends dead connections."""
        self.shared.waiting.pop(self, None)
        self._cancel("_head_timer", "_body_timer", "_read_timer")
        self._unset_keepalive_if_required()
        self.transport = self._gathering.inner
        super().handle_websocket_upgrade()

    def on_response_complete(self) -> None:
        """Wait for the next request. If the body of the answered request is incomplete, wait briefly for its rest."""
        super().on_response_complete()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()  # if no other request waits
        self._look()
        if self._place is _Place.BODY and self.cycle.response_complete:
            self.loop.call_later(self._limits.linger_seconds, self._end_body, self.cycle)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel("_read_timer")

    def _is_idle_before_this(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, despite uvicorn's annotation
        return cycle is None or (cycle.response_complete and not self.pipeline)

    def _fault(self, error: httptools.HttpParserError) -> None:
        """Refuse bytes that are not a request. If an earlier answer is still being sent, the connection ends with it."""
        if self._is_deaf:
            return
        refused = self._refused or _RefusedError(400, f"This is no request of HTTP/1.1: {_reason(error)}.")
        if self._place is _Place.BODY and not self.cycle.response_started and not self.pipeline:
            self._refuse(refused.status, refused.message)  # the body of the only request
        elif self._is_idle_before_this():
            self._refuse(refused.status, refused.message)
        else:
            self._end_with_last()

    def _end_with_last(self) -> None:
        """Stop reading. The connection ends with the answer to the last complete request."""
        self._is_deaf = True
        if self.cycle.response_complete:
            self.end()
        else:
            self.cycle.keep_alive = False

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        waits = self._place is not _Place.BODY and self._is_idle_before_this()
        if not waits:
            if self._head_timer is not None:
                self._cancel("_head_timer")
            self.shared.waiting.pop(self, None)
        elif self.timeout_keep_alive_task is None:  # otherwise uvicorn's timer ends the pause between two requests
            self._wait()
        else:
            self.shared.waiting.setdefault(self)
        if self._place is not _Place.BODY:
            if self._body_timer is not None:
                self._cancel("_body_timer")
        elif self._body_timer is None:
            self._watch_body()

    def _wait(self) -> None:
        self.shared.waiting.setdefault(self)
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        if self._place is _Place.HEAD:
            self._refuse(408, "The request's head did not come in time.")
        else:
            self.end()

    def _watch_body(self) -> None:
        before = self._received

        def look() -> None:
            self._body_timer = None
            expected = self._limits.rate * self._limits.window_seconds
            # The client cannot send more if the application does not read.
            excused = self.flow.read_paused or self.cycle.waiting_for_100_continue
            if not excused and self._received - before < expected:
                self.end()
            else:
                self._watch_body()

        self._body_timer = self.loop.call_later(self._limits.window_seconds, look)

    def _end_body(self, cycle: RequestResponseCycle) -> None:
        if self.cycle is cycle and self._place is _Place.BODY:
            self.end()

    def _watch_reader(self) -> None:
        before = self.transport.get_write_buffer_size()

        def look() -> None:
            read = before - self.transport.get_write_buffer_size()
            if read < self._limits.rate * self._limits.read_seconds:
                self.transport.abort()  # `close` would wait for the client
            else:
                self._watch_reader()

        self._cancel("_read_timer")
        self._read_timer = self.loop.call_later(self._limits.read_seconds, look)

    def _make_room(self) -> bool:
        """Close the connection that has waited longest for its client. Returns whether there was one."""
        for other in self.shared.waiting:
            other.end()
            return True
        return False

    def _refuse(self, status: int, message: str) -> None:
        """Send an error instead of the application's answer, and close the connection."""
        self._is_deaf = True
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # later parts of the answer are dropped
            cycle.message_event.set()
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        self.transport.write(f"{head}content-length: {len(message)}\r\nconnection: close\r\n\r\n{message}".encode("ascii"))
        self.end()

    def end(self) -> None:
        self.shared.waiting.pop(self, None)
        self.transport.close()
        self.loop.call_later(self._limits.linger_seconds, self.transport.abort)  # if the client does not read the rest

    def _cancel(self, *timers: str) -> None:
        for name in timers:
            timer: asyncio.TimerHandle | None = getattr(self, name)
            if timer is not None:
                timer.cancel()
            setattr(self, name, None)


class _OneAtATime(FlowControl):
    """Pauses reading while a request waits behind an unanswered one. Otherwise the queue would grow with each answer."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        super().__init__(protocol.transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        if not self._protocol.pipeline:
            super().resume_reading()


def _fault_of(method: bytes, version: str, target: bytes, headers: list[tuple[bytes, bytes]]) -> _RefusedError | None:
    """Return the fault of a head that llhttp accepts, because a proxy may have parsed the head differently."""
    if version not in _VERSIONS:
        return _RefusedError(505, "Only versions 1.0 and 1.1 of HTTP are spoken here.")
    if method == b"CONNECT" or not target.startswith(b"/"):
        return _RefusedError(400, "The target of a request is a path, which begins with /.")
    hosts, encodings = 0, 0
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"transfer-encoding":
            encodings += 1
            if value.lower() != b"chunked":
                return _RefusedError(501, "The only Transfer-Encoding that is understood is chunked.")
    if hosts > 1 or (hosts == 0 and version == "1.1"):
        return _RefusedError(400, "A request has one Host.")
    return _RefusedError(400, "A request has one Transfer-Encoding at most.") if encodings > 1 else None


def _reason(error: httptools.HttpParserError) -> str:
    return str(error)[:100].encode("ascii", "replace").decode("ascii").rstrip(".")


def bounded_by(limits: Limits, direct: Direct | None = None) -> type[BoundedProtocol]:
    """Return the protocol class of one service. `direct` answers some requests without ASGI."""
    members: dict[str, Any] = {"shared": Waiting(limits), "direct": staticmethod(direct) if direct is not None else None}
    return type("Bounded", (BoundedProtocol,), members)
