"""Cancels queries at their deadline or when their client disconnects, and lets queries start in turns.

Starlette lets a handler continue after its client has disconnected. Queries (GraphQL, and every GET below `/api` and `/v3`) are cancelled
instead. An answer must begin before the deadline, and the client has ten times as long to take each piece of it. Requests that send data
are never cancelled, because the sender needs their acknowledgement.

One event loop answers all. A caller has a limited number of running queries; the others wait. Tenants and callers take turns,
and a query whose client is gone is never started.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import error_response
from headwater.backend.process.child_errors import QuestionEndedError
from headwater.backend.process.turns import Caller, Turns
from headwater.errors import HeadwaterError

_AT_WORK, _OF_ONE = 48, 16  # limits of running queries: of all callers, and of one
_WAITING = 512  # limit of waiting queries of one caller
_AFTER = 0.5  # seconds after the deadline, because a query that ends itself gives a better reason
_TAKEN = 10  # times the deadline for each piece of an answer, because people read an export page by page


class Attended:
    """ASGI middleware that ends a request if its answer begins too late, or if the client does not take a piece in time."""

    def __init__(self, app: ASGIApp, *, seconds: float) -> None:
        self._app = app
        self._seconds = seconds
        self._turns = Turns(_AT_WORK, each=_OF_ONE, waiting=_WAITING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _asks(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        client = _Client(receive, send, self._seconds * _TAKEN)
        await client.begin()
        work = asyncio.ensure_future(self._in_turn(scope, client))
        gone = asyncio.ensure_future(client.gone())
        try:
            done, _ = await asyncio.wait({work, gone}, timeout=self._seconds + _AFTER, return_when=asyncio.FIRST_COMPLETED)
            if not done and client.has_begun:
                done, _ = await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if work in done:
                with suppress(ClientDisconnect):
                    work.result()
            elif not done:
                await _ended(work)
                await error_response(_too_long(self._seconds))(scope, receive, send)
        finally:
            gone.cancel()
            await _ended(work)

    async def _in_turn(self, scope: Scope, client: _Client) -> None:
        who: Principal | None = scope.get("state", {}).get("principal")
        caller = Caller(who.tenant, who.holder) if who is not None else Caller("", "")
        try:
            place = await self._turns.take(caller, self._seconds)
        except HeadwaterError as error:
            await error_response(error)(scope, client.receive, client.send)
            return
        client.on_begin = partial(self._turns.give_back, caller, place)
        try:
            await self._app(scope, client.receive, client.send)
        finally:
            client.begin_answer()


class _Client:
    """The client's side of a request. After the whole body has arrived, it detects that the client disconnects."""

    def __init__(self, receive: Receive, send: Send, seconds: float) -> None:
        self._receive = receive
        self._send = send
        self._seconds = seconds
        self._all_here = asyncio.Event()
        self._left = asyncio.Event()
        self._first: Message | None = None
        self.has_begun = False
        self.on_begin: Callable[[], None] | None = None

    async def begin(self) -> None:
        """Read the first part of the body, usually all of it. Without this, a disconnect is not detected for an endpoint without a body."""
        self._first = await self._taken()

    async def receive(self) -> Message:
        if self._first is not None:
            message, self._first = self._first, None
            return message
        if self._all_here.is_set():
            await self._left.wait()
            return {"type": "http.disconnect"}
        return await self._taken()

    async def _taken(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._left.set()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._all_here.set()
        return message

    def begin_answer(self) -> None:
        """Note that the answer begins, or that there will be none."""
        begun, self.on_begin = self.on_begin, None
        if begun is not None:
            begun()

    async def send(self, message: Message) -> None:
        self.has_begun = True
        self.begin_answer()
        try:
            async with asyncio.timeout(self._seconds):
                await self._send(message)
        except TimeoutError:  # a client that does not read would occupy its place for ever
            raise ClientDisconnect from None

    async def gone(self) -> None:
        """Wait until the client has gone."""
        await self._all_here.wait()
        while not self._left.is_set():
            if (await self._receive())["type"] == "http.disconnect":
                self._left.set()


def _asks(method: str, path: str) -> bool:
    return path == "/graphql" or (method == "GET" and path.startswith(("/api/", "/v3/")))


async def _ended(work: asyncio.Future[None]) -> None:
    """Cancel a task, and wait for its end. Exceptions are ignored, because they were reported already."""
    work.cancel()
    await asyncio.wait({work})
    if not work.cancelled():
        work.exception()


def _too_long(seconds: float) -> QuestionEndedError:
    return QuestionEndedError(
        f"The request took more than {seconds:g} s and was ended.", hint="Ask for less at once, or raise HEADWATER_QUESTION_SECONDS."
    )
