"""Gives every request an id, a log line and its metrics.

A harmless id in `X-Request-Id` is used, and sent back in the answer. The log line never contains a query string, a header or a body,
because they may contain secrets.
"""

from __future__ import annotations

import re
import time
from contextlib import nullcontext
from random import Random

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.backend.api.headers import head_of
from headwater.backend.process.logs import REQUESTS, write_request
from headwater.backend.process.metrics import Metrics
from headwater.backend.process.tracing import request_span

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
_CLIENT_GONE = 499  # as in proxies: no answer began, because the client is gone
_ids = Random()  # noqa: S311 - they tell requests apart and open nothing; the system's own randomness takes a call of it each time
_log = structlog.get_logger(REQUESTS)


class RequestLog:
    """The outermost ASGI middleware."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        if scope["type"] == "websocket":
            with structlog.contextvars.bound_contextvars(request_id=request_id):
                _log.info("websocket", path=scope["path"])
                await self._app(scope, receive, send)
            return
        status, began = _CLIENT_GONE, time.perf_counter()

        async def with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode("ascii"))]
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else "other"
        spanned = nullcontext() if scope["path"] in _QUIET else request_span(method, head_of(scope))
        with structlog.contextvars.bound_contextvars(request_id=request_id), spanned as answered:
            try:
                await self._app(scope, receive, with_id)
            except Exception:
                status = 500 if status == _CLIENT_GONE else status
                raise
            finally:
                # The pattern of the route, because the number of paths is unlimited, and a span would reveal the path.
                route = getattr(scope.get("route"), "path", None) or ("/graphql" if scope["path"] == "/graphql" else "other")
                if answered is not None:
                    answered(route, status)
                note_request(self._metrics, scope, request_id, status, time.perf_counter() - began, route=route)


def request_id_of(scope: Scope) -> str:
    """Return the caller's request id if it is harmless, else a new id."""
    stated = head_of(scope).get("x-request-id", "")
    return stated if _ID.fullmatch(stated) else f"{_ids.getrandbits(128):032x}"


def note_request(metrics: Metrics, scope: Scope, request_id: str, status: int, seconds: float, *, route: str) -> None:
    """Count a request in the metrics, and write its log line."""
    method, path = scope["method"], scope["path"]
    metrics.answered(method if method in _METHODS else "other", route, status, seconds)
    level = "debug" if path in _QUIET else "error" if status >= 500 else "info"
    milliseconds = round(seconds * 1000, 1)
    if level != "info" or not write_request(request_id, method, path, status, milliseconds):
        getattr(_log, level)("request", method=method, path=path, status=status, ms=milliseconds, request_id=request_id)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
