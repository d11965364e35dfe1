"""WebSockets of the service. No message delays other connections, and a bad message costs only a log line.

uvicorn's protocol would read all received frames at once, and log a traceback for a text that is not UTF-8.
"""

from __future__ import annotations

import logging

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

_PIECE = 4 * 1024  # bytes to parse before other connections are served; at most seven hundred frames
_MOST_FRAMES = 1_024  # limit of frames in a message
_log = logging.getLogger("headwater.api")


class BoundedSocket(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol with these limits."""

    _unread: bytes = b""
    _is_reading = False
    _frames = 0

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes in pieces, so that other connections are served in between."""
        self._unread += data
        if not self._is_reading:
            self._read_piece()

    def handle_text(self, event: Frame) -> None:
        self._frames = 1
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        self._frames = 1
        super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        """Continue a message. The number of its frames is limited."""
        self._frames += 1
        if self._frames > _MOST_FRAMES:
            self._refuse(CloseCode.POLICY_VIOLATION, f"a message has more than {_MOST_FRAMES} frames")
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Pass on a complete message if it is valid."""
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self._refuse(CloseCode.INVALID_DATA, "a text is not UTF-8")
                return
        super().send_receive_event_to_app()

    def _read_piece(self) -> None:
        piece, self._unread = self._unread[:_PIECE], self._unread[_PIECE:]
        if self.close_sent and self.conn.parser_exc is not None:
            self._unread = b""
        else:
            super().data_received(piece)
        self._is_reading = bool(self._unread) and not self.transport.is_closing()
        if self._is_reading:
            self.transport.pause_reading()
            self.loop.call_soon(self._read_piece)
        elif not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _refuse(self, code: CloseCode, reason: str) -> None:
        self.frames = []
        if self.close_sent:
            return
        _log.warning("a WebSocket is closed (%d): %s", code, reason)
        self.conn.fail(code, reason)
        self.handle_parser_exception()
        self._unread = b""
