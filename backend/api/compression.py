"""Compresses answers with gzip, for clients that accept it.

The length of a compressed answer reveals to an eavesdropper which texts occur in it twice (BREACH). Two conditions must therefore hold:

- No other site can make a browser send a request that has a session and contains chosen texts. The guard refuses foreign origins, and
  cookies of sessions are `SameSite=Strict`.
- An answer with a new key, or that sets a cookie, is never compressed. Neither is an answer of the paths for signing in.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipResponder
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.backend.api.headers import head_of

_PATHS = ("/graphql", "/api/", "/assets/", "/v3/")
_TYPES = frozenset({
    "application/json", "application/ld+json", "application/graphql-response+json", "application/x-ndjson", "application/javascript",
    "application/xml", "application/provenance+xml", "image/svg+xml", "text/css", "text/csv", "text/html", "text/javascript",
    "text/markdown", "text/plain", "text/turtle", "text/provenance-notation",
})  # fmt: skip
_HELD_BACK = "uncompressed"  # in the state of a request
_LEAST = 1_000  # bytes: a smaller answer fits into one packet anyway
_LEVEL = 5  # a tenth larger than level 9, in a third of the time


class Compressed:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_PATHS) and accepts(head_of(scope), "gzip"):
            await _Responder(self._app, _LEAST, _LEVEL)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def mark_secret(scope: Scope) -> None:
    """Keep the answer to a request from being compressed, because it holds a secret."""
    scope.setdefault("state", {})[_HELD_BACK] = True


class _Responder(GZipResponder):
    _request: Scope

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._request = scope
        await super().__call__(scope, receive, send)

    async def send_with_compression(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message.get("headers", []))
            media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
            if media_type not in _TYPES or "set-cookie" in headers:
                self.exclude_content_types = (media_type,)
            if self._request.get("state", {}).get(_HELD_BACK):
                self.exclude_content_types = (media_type,)
        await super().send_with_compression(message)


def accepts(headers: Mapping[str, str], encoding: str) -> bool:
    """Whether a client accepts an encoding by name, with a weight above 0."""
    for stated in headers.get("accept-encoding", "").lower().split(","):
        name, *parameters = (part.strip() for part in stated.split(";"))
        if name == encoding:
            return not any(part.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for part in parameters)
    return False
