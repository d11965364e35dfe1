"""Runs the application on its own event loop, separate from the loop of the connections.

Answers are made in Python, and a large answer blocks its loop for seconds. On a separate loop it only delays other answers: meanwhile
connections are accepted, checked and timed, and health checks are answered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from threading import Thread

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import UnavailableError

_SMALL = 64 * 1024  # the first piece of a body up to this size is read before the change of loops, which saves one change


class ServiceEndingError(UnavailableError):
    """The service is ending, and cancelled the request before its answer began."""

    def __init__(self) -> None:
        super().__init__("The service ended before the request was answered.", hint="Send it again when the service has started.")


class OwnLoop:
    """ASGI middleware. The inner application runs on a separate loop between start-up and shut-down, except for the paths `here`.

    A server cancels requests only when it ends. A request without an answer then raises `ServiceEndingError`; a begun answer is cut off.
    """

    def __init__(self, app: ASGIApp, *, here: Collection[str]) -> None:
        self._app = app
        self._here = frozenset(here)
        self._loop = asyncio.new_event_loop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["path"] in self._here:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._there(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def send_noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        size = Headers(scope=scope).get("content-length", "")
        is_small = int(size) <= _SMALL if size.isdecimal() else scope["method"] in ("GET", "HEAD")
        try:
            await self._there(scope, receive, send_noted, [await receive()] if is_small else [])
        except asyncio.CancelledError:
            if not has_begun:
                raise ServiceEndingError from None

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        last: list[Message] = []

        async def send_but_the_last(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                last.append(message)
            else:
                await send(message)

        thread = Thread(target=self._run, name="headwater-application", daemon=True)
        thread.start()
        try:
            await self._there(scope, receive, send_but_the_last)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(thread.join)
        for message in last:  # the server ends all running requests after it has sent this message
            await send(message)

    async def _there(self, scope: Scope, receive: Receive, send: Send, received: Sequence[Message] = ()) -> None:
        loop = asyncio.get_running_loop()
        taken, begun = deque(received), list[Message]()

        async def receive_there() -> Message:
            if taken:
                return taken.popleft()
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_received(receive), loop))

        async def send_there(message: Message) -> None:
            begun.append(message)
            if message["type"] != "http.response.start":  # the head is sent together with the first piece of the body
                messages = [*begun]
                begun.clear()
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_sent(send, messages), loop))

        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_called(self._app, scope, receive_there, send_there), self._loop))

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()


async def _called(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def _received(receive: Receive) -> Message:
    return await receive()


async def _sent(send: Send, messages: Collection[Message]) -> None:
    for message in messages:
        await send(message)
