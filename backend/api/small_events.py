"""Small bodies of OpenLineage events, taken where they arrive.

What a producer sends is mostly one event of a few kilobytes. To hand it to the application's own loop (`own_loop`) and back, and to find
its endpoint there, takes longer than to check it. So the guard's loop takes it: behind the guard, with the check, the log and the answers
of `lineage`. Every other body goes on to the application.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.backend.api.errors import error_response
from headwater.backend.api.heads import head_of
from headwater.backend.api.lineage import ARRAY_INLINE, answer_to
from headwater.errors import HeadwaterError
from headwater.graphql.access import Scope as Right

_SMALL = 8 * 1024  # bytes: whatever is in them, they are checked in a few milliseconds, in which nothing else arrives
_PATHS = frozenset({"/api/v1/lineage", "/api/v1/lineage/batch"})


class _Named:
    """What the request log calls the endpoint."""

    def __init__(self, path: str) -> None:
        self.path = path


_ROUTES = {path: _Named(path) for path in _PATHS}


class SmallEvents:
    """ASGI middleware, right behind the guard."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in _PATHS or scope["method"] != "POST" or not _is_small(scope):
            await self._app(scope, receive, send)
            return
        pieces, more = [], True
        try:
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    return  # the client is gone
                pieces.append(message.get("body", b""))
                more = message.get("more_body", False)
            body = b"".join(pieces)
            if len(body) >= ARRAY_INLINE and body.lstrip()[:1] == b"[":
                await self._app(scope, _once(body, receive), send)
                return
            scope["route"] = _ROUTES[scope["path"]]
            parts = scope["app"].state.service
            events = parts.workspace.events
            response = await answer_to(parts, events.submit(scope["state"]["principal"].tenant, body))
        except HeadwaterError as error:
            response = error_response(error)
        await response(scope, receive, send)


def _is_small(scope: Scope) -> bool:
    """Whether a body can be taken here: what a sender may send for some namespaces alone, the graph is asked about."""
    headers = head_of(scope)
    if Right.INTAKE in scope["state"]["principal"].within:
        return False
    size = headers.get("content-length", "")
    return size.isdecimal() and int(size) <= _SMALL and "content-encoding" not in headers


def _once(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, and what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
