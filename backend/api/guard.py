"""The guard in front of every request: names, origins, credentials and sizes.

For a service on a user's own machine, which any page in the same browser can try to reach. It must refuse calls under a foreign name
(DNS rebinding) and from a foreign page (CSRF), must refuse everything but the open routes and the page's files without a credential,
and must never read more of a body than its limit. There is no CORS: no other site has business here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.backend.api.credentials import Credentials
from headwater.backend.api.errors import ForbiddenError, error_response
from headwater.backend.intake.bodies import BodyTooLargeError
from headwater.errors import HeadwaterError, KeyRequiredError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OPEN = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json"})
_DATA = ("/api", "/graphql")
_RESPONSE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Inline styles: the graph sets positions by them. Scripts come from this service alone.
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:;"
    " object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
}


class Guard:
    """ASGI middleware. `hosts` are the names besides loopback; `limit` gives the largest body for a path."""

    def __init__(self, app: ASGIApp, *, credentials: Credentials, hosts: Collection[str], limit: Callable[[str], int]) -> None:
        self._app = app
        self._credentials = credentials
        self._hosts = frozenset(name.lower() for name in (*_LOOPBACK, *hosts))
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # lifespan; there are no web sockets, and a handshake for one ends here
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self._check_origin(headers, str(scope["method"]))
            limit = self._check_length(headers, scope["path"])
            principal = self._credentials.principal(headers)
            if principal is None and _protected(scope["method"], scope["path"]):
                raise KeyRequiredError(
                    "This needs the service's key.",
                    hint="Programs send `Authorization: Bearer KEY` (file `key` of the home); the page opens by the link of `serve`.",
                )
        except HeadwaterError as error:
            await error_response(error)(scope, receive, _with_headers(send))
            return
        scope.setdefault("state", {})["principal"] = principal
        await self._app(scope, _bounded(receive, limit), _with_headers(send))

    def _check_host(self, headers: Headers) -> None:
        host = headers.get("host", "")
        name = (urlsplit(f"//{host}").hostname or "") if host else ""
        if name.rstrip(".") not in self._hosts:
            raise ForbiddenError(
                f"This service is not called {name!r}; it is called {', '.join(sorted(self._hosts))}.",
                hint="Add the name to HEADWATER_ALLOWED_HOSTS.",
            )

    @staticmethod
    def _check_origin(headers: Headers, method: str) -> None:
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != headers["host"].lower():
            raise ForbiddenError(f"Pages of {origin} may not call this service.", hint="Open the page that this service serves.")
        if method not in ("GET", "HEAD") and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise ForbiddenError("A page of another site may not call this service.", hint="Open the page that this service serves.")

    def _check_length(self, headers: Headers, path: str) -> int:
        limit = self._limit(path)
        stated = headers.get("content-length", "0")
        if not stated.isdigit() or int(stated) > limit:
            raise _too_large(limit)
        return limit


def _protected(method: str, path: str) -> bool:
    """Everything but what is open: a route that is added later is closed until it is named here."""
    if path in _OPEN:
        return False
    # What is left to anyone is the page: files that hold no data.
    return method not in ("GET", "HEAD") or any(path == start or path.startswith(f"{start}/") for start in _DATA)


def _bounded(receive: Receive, limit: int) -> Receive:
    read = 0

    async def bounded() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > limit:
            raise _too_large(limit)
        return message

    return bounded


def _too_large(limit: int) -> BodyTooLargeError:
    return BodyTooLargeError(
        f"The body is larger than {limit} bytes.", field="body", hint="Send less at once, or raise HEADWATER_MAX_BODY_BYTES."
    )


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _RESPONSE_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return with_headers
