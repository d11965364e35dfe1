"""WebSockets for subscriptions: limits their number for each caller, and closes them when the caller's rights end.

A connection outlives the request that opened it. Its caller is therefore identified again every second, with the same headers. The
connection is closed if the caller or the rights changed (a revoked key, an ended session, another role).

The total number of connections is limited. A few connections are reserved for each tenant.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.backend.api.credentials import Principal
from headwater.backend.process.child_errors import TooManyQuestionsError
from headwater.errors import HeadwaterError

PATH = "/graphql"
_log = structlog.get_logger("headwater.api")
_MOST = 128
_OF_ONE = 8  # limit for a caller, and for a tenant once the total is reached
_LOOK_SECONDS = 1.0
Identify = Callable[[], Awaitable[Principal | None]]

_UNAUTHORIZED, _INVALID = 4401, 4400  # close codes of graphql-transport-ws
_UNSUPPORTED = 1003  # close code of RFC 6455
_REASON_BYTES = 120  # a frame has room for 123


class _BinaryError(ValueError):
    """A message is not text."""


class Sockets:
    """The WebSockets of one service. For one event loop."""

    def __init__(self) -> None:
        self._of: Counter[tuple[str, str]] = Counter()  # number of connections by tenant and caller
        self._of_tenant: Counter[str] = Counter()

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, who: Principal, identify: Identify) -> None:
        """Serve a connection while `identify` still returns the caller `who`.

        Raises:
            TooManyQuestionsError: the caller has too many connections, or the total and the tenant's number are too large.
        """
        caller = (who.tenant, who.holder)
        if self._of[caller] >= _OF_ONE or (self._of.total() >= _MOST and self._of_tenant[who.tenant] >= _OF_ONE):
            raise TooManyQuestionsError("There are too many WebSockets.", hint=f"A caller may have {_OF_ONE}, of 16 subscriptions.")
        self._of[caller] += 1
        self._of_tenant[who.tenant] += 1
        try:
            await _served(app, scope, receive, send, who, identify)
        finally:
            self._of.subtract([caller])
            self._of_tenant.subtract([who.tenant])
            self._of, self._of_tenant = +self._of, +self._of_tenant  # removes entries of zero


async def _served(app: ASGIApp, scope: Scope, receive: Receive, send: Send, who: Principal, identify: Identify) -> None:
    ended = False

    async def sends(message: Message) -> None:
        if not ended:
            await send(message)

    async def receives() -> Message:
        message = await receive()
        if message["type"] == "websocket.receive" and message.get("text") is None:
            raise _BinaryError
        return message

    work = asyncio.ensure_future(app(scope, receives, sends))
    watch = asyncio.ensure_future(_until_other(who, identify))
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            ended = True
            await _close_for(work, send)
            return
        ended = True
        await send({"type": "websocket.close", "code": _UNAUTHORIZED, "reason": watch.result()})
    finally:
        for task in (watch, work):
            task.cancel()
        await asyncio.wait({watch, work})
        for task in (watch, work):
            if not task.cancelled():
                task.exception()


async def _close_for(work: asyncio.Future[None], send: Send) -> None:
    """Close a connection whose message could not be handled, and write a log line."""
    try:
        work.result()
    except Exception as error:  # noqa: BLE001 - a client may send anything, and whatever it is, the connection ends with a code
        code, reason = (_UNSUPPORTED, "a message is no text") if isinstance(error, _BinaryError) else (_INVALID, _reason(error))
        _log.warning("a WebSocket is closed", code=code, reason=reason)
        with suppress(Exception):  # the client may have gone
            await send({"type": "websocket.close", "code": code, "reason": reason})


def _reason(error: Exception) -> str:
    text = error.message if isinstance(error, HeadwaterError) else f"a message could not be handled: {type(error).__name__}"
    return text.encode()[:_REASON_BYTES].decode("utf-8", "ignore")


async def _until_other(who: Principal, identify: Identify) -> str:
    """Wait until the caller or the caller's rights change, and return the reason."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            found = await identify()
        except HeadwaterError as error:
            return error.message.encode()[:_REASON_BYTES].decode("utf-8", "ignore")
        if found != who:
            return "The key or session is not what it was."
