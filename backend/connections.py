"""Connections of the service, each bounded in time and all of them in number.

For uvicorn, which has a timer for the pause between two requests and none for a request that never ends. A client that opens
connections and sends nothing, or a byte now and then, or does not read its answer, must cost the service no more than a socket for a
short while. It must never keep another client out: beyond the largest number, the connection that has waited longest makes room.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol, RequestResponseCycle

HEAD_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection may take. `rate` is the least number of bytes a second of a body, and of an answer that the client reads."""

    connections: int = 512
    head_seconds: float = 10.0
    window_seconds: float = 10.0  # over which the rate of a body is counted
    read_seconds: float = 60.0  # over which the rate of an answer is counted
    linger_seconds: float = 5.0  # for the rest of a body whose request has been answered
    rate: int = 1024


@dataclass(slots=True, eq=False)
class Waiting:
    """The connections of one service that wait for their client, longest first."""

    limits: Limits
    waiting: dict[BoundedProtocol, None] = field(default_factory=dict)


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol with the bounds of `Limits`. `bounded_by` makes the class that uvicorn is given."""

    shared: Waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request, or refuse where all connections are at work."""
        super().connection_made(transport)  # type: ignore[arg-type]  # asyncio's own base class says less than what it hands over
        self._limits = self.shared.limits
        self._received = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        if len(self.connections) > self._limits.connections and not self._make_room():
            self._refuse(503, "Too many connections are at work.")
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.shared.waiting.pop(self, None)
        self._cancel("_head_timer", "_body_timer", "_read_timer")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, and look how far the request is."""
        if self.transport.is_closing():
            return
        self._received += len(data)
        super().data_received(data)
        if self.transport.get_protocol() is self:
            self._look()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Give the connection to uvicorn's protocol of WebSockets, which pings its client and ends what does not answer."""
        self.shared.waiting.pop(self, None)
        self._cancel("_head_timer", "_body_timer", "_read_timer")
        self._unset_keepalive_if_required()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Wait for the next request, or a little for the rest of this one."""
        super().on_response_complete()
        self._look()
        if self.conn.their_state is h11.SEND_BODY and not self.transport.is_closing():
            self.loop.call_later(self._limits.linger_seconds, self._end_body, self.cycle)

    def pause_writing(self) -> None:
        """Watch that a client which is behind goes on to read."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._cancel("_read_timer")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, with the status that says why."""
        fault = sys.exc_info()[1]  # uvicorn calls this where it catches the fault
        hint = fault.error_status_hint if isinstance(fault, h11.RemoteProtocolError) else 400
        self._refuse(hint if hint == 431 else 400, f"The request's head is larger than {HEAD_BYTES} bytes." if hint == 431 else msg)

    def _look(self) -> None:
        """Set the timers to what the connection waits for now."""
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle  # none before the first request, whatever uvicorn says of its type
        waits = self.conn.their_state is h11.IDLE and (cycle is None or cycle.response_complete)
        if not waits:
            self._cancel("_head_timer")
            self.shared.waiting.pop(self, None)
        elif self.timeout_keep_alive_task is None:  # else uvicorn's own timer ends the pause between two requests
            self._wait()
        else:
            self.shared.waiting.setdefault(self)
        if self.conn.their_state is not h11.SEND_BODY:
            self._cancel("_body_timer")
        elif self._body_timer is None:
            self._watch_body()

    def _wait(self) -> None:
        self.shared.waiting.setdefault(self)
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        if self.conn.trailing_data[0]:
            self._refuse(408, "The request's head did not come in time.")
        else:
            self.end()

    def _watch_body(self) -> None:
        before = self._received

        def look() -> None:
            self._body_timer = None
            expected = self._limits.rate * self._limits.window_seconds
            # Where the application does not ask for more, the client cannot send it.
            excused = self.flow.read_paused or self.conn.they_are_waiting_for_100_continue
            if not excused and self._received - before < expected:
                self.end()
            else:
                self._watch_body()

        self._body_timer = self.loop.call_later(self._limits.window_seconds, look)

    def _end_body(self, cycle: RequestResponseCycle) -> None:
        if self.cycle is cycle and self.conn.their_state is h11.SEND_BODY:
            self.end()

    def _watch_reader(self) -> None:
        before = self.transport.get_write_buffer_size()

        def look() -> None:
            read = before - self.transport.get_write_buffer_size()
            if read < self._limits.rate * self._limits.read_seconds:
                self.transport.abort()  # closing would wait for the client
            else:
                self._watch_reader()

        self._cancel("_read_timer")
        self._read_timer = self.loop.call_later(self._limits.read_seconds, look)

    def _make_room(self) -> bool:
        """Close the connection that has waited longest for its client; whether there was one."""
        for other in self.shared.waiting:
            other.end()
            return True
        return False

    def _refuse(self, status: int, message: str) -> None:
        """Answer outside of any request, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(message))), ("connection", "close")]
            answer = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
            for event in (answer, h11.Data(data=message.encode("ascii")), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.end()

    def end(self) -> None:
        """Close the connection."""
        self.shared.waiting.pop(self, None)
        self.transport.close()
        self.loop.call_later(self._limits.linger_seconds, self.transport.abort)  # where the client does not read the rest

    def _cancel(self, *timers: str) -> None:
        for name in timers:
            timer: asyncio.TimerHandle | None = getattr(self, name)
            if timer is not None:
                timer.cancel()
            setattr(self, name, None)


def bounded_by(limits: Limits) -> type[BoundedProtocol]:
    """The protocol class of one service."""
    members: dict[str, Any] = {"shared": Waiting(limits)}
    return type("Bounded", (BoundedProtocol,), members)
