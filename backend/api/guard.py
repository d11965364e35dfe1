"""The guard in front of every request checks host names, origins, credentials and sizes.

A service on a user's machine can be reached by any page in the same browser. The guard must refuse calls under a foreign host name (DNS
rebinding) and from a foreign page (CSRF), must refuse everything that the table of endpoints (`access`) does not open to the caller, and
must never read more of a body than its limit. There is no CORS, because no other site may call the service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache, partial
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.backend.api.access import Rule, methods_of, named_path, rule_of
from headwater.backend.api.audit import note_refusal, notes_written
from headwater.backend.api.credentials import Credentials, Principal
from headwater.backend.api.errors import (
    AmbiguousLengthError,
    ForbiddenError,
    HeadTooLargeError,
    MethodNotAllowedError,
    UnsupportedMediaTypeError,
    error_response,
)
from headwater.backend.api.headers import head_of
from headwater.backend.api.sockets import PATH, Sockets
from headwater.backend.audit.log import AuditLog
from headwater.backend.http.application_loop import ServiceEndingError
from headwater.backend.http.connections import HEAD_BYTES
from headwater.backend.ingest.intake.bodies import BodyTooLargeError
from headwater.backend.ingest.intake.body_budget import BodiesInFlightError, BodyBudget, BodyShare
from headwater.errors import HeadwaterError, InvalidInputError, KeyRequiredError, NotFoundError
from headwater.graph.access.scopes import Answering

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
RESPONSE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),  # the default; files of the page override it
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    # Inline styles are allowed, because the graph sets positions with them. Scripts come from this service only.
    (
        b"content-security-policy",
        (
            b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:;"
            b" object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        ),
    ),
]


class Guard:
    """ASGI middleware.

    `hosts` are further host names besides loopback. `limit` returns the largest body for a path. `budget` is the limit for all bodies
    together. `opened` are paths that need no key.
    """

    def __init__(
        self, app: ASGIApp, *, credentials: Credentials, hosts: Collection[str], limit: Callable[[str], int], budget: BodyBudget,
        opened: Collection[str], audit: AuditLog,
    ) -> None:  # fmt: skip
        self._app = app
        self._credentials = credentials
        self._hosts = frozenset(name.lower() for name in (*_LOOPBACK, *hosts))
        self._limit = limit
        self._budget = budget
        self._opened = frozenset(opened)
        self._audit = audit
        self._sockets = Sockets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            elif scope["type"] == "websocket":
                await self._connect(scope, receive, send)
            return
        headers = head_of(scope)
        principal: Principal | None = None
        try:
            _check_head(scope, headers)
            principal = await self._credentials.identify(headers)
            limit = self._check_request(scope, headers, principal)
            rule = rule_of(scope["method"], scope["path"])
            share = None if rule is not None and rule.streamed else self._share(principal, int(headers.get("content-length", "0")))
        except HeadwaterError as error:
            response = error_response(error)
            if not isinstance(error, NotFoundError | MethodNotAllowedError):
                note_refusal(self._audit, scope, principal, error.message)
            if isinstance(error, AmbiguousLengthError | HeadTooLargeError):
                response.headers["Connection"] = "close"
            await response(scope, receive, _with_headers(send, scope))
            return
        scope.setdefault("state", {}).update(principal=principal, body=share)
        answer = _with_headers(send, scope)
        try:
            await self._app(scope, _bounded(receive, limit, share), answer)
        except (BodiesInFlightError, ServiceEndingError) as error:  # raised before the application answered
            await error_response(error)(scope, receive, answer)
        finally:
            if share is not None:
                share.release()

    def admitted(self, scope: Scope, size: int) -> tuple[Principal, BodyShare] | None:
        """Return the caller of a request with a body of `size` bytes, and the body's share of memory.

        None means that `__call__` must handle the request, for example because the issuer of a token must be asked. The code that takes the
        body releases its share.
        """
        headers = head_of(scope)
        try:
            _check_head(scope, headers)
            principal = self._credentials.known(headers)
            if principal is None or size > self._check_request(scope, headers, principal):
                return None
            share = self._share(principal, size)
            share.take(size)
        except HeadwaterError:
            return None
        return principal, share

    def _check_request(self, scope: Scope, headers: Headers, principal: Principal | None) -> int:
        """Check everything except the caller. Returns the size limit of the body."""
        self._check_host(headers)
        self._check_origin(headers, str(scope["method"]), scope["path"])
        limit = self._check_length(headers, scope["path"])
        self._check_rule(scope["method"], scope["path"], principal)
        _check_type(headers, rule_of(scope["method"], scope["path"]))
        return limit

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a WebSocket for subscriptions, for callers who may query. Pages of other sites are refused."""
        headers = head_of(scope)
        principal: Principal | None = None
        try:
            _check_head(scope, headers)
            principal = await self._credentials.identify(headers)
            self._check_host(headers)
            self._check_origin(headers, "GET", scope["path"])
            if scope["path"] != PATH:
                raise NotFoundError(f"There is no WebSocket at {scope['path'][:200]}.", hint=f"Subscribe at {PATH}.")
            self._check_rule("POST", PATH, principal)
            if principal is None or (principal.method == "session" and "origin" not in headers):
                raise ForbiddenError("A session of the page is the page's alone.", hint="Send a key.")
            scope.setdefault("state", {}).update(principal=principal, body=None)
            identify = partial(self._credentials.identify, headers)
            await self._sockets.serve(self._app, scope, receive, send, who=principal, identify=identify)
        except HeadwaterError as error:
            if not isinstance(error, NotFoundError):
                note_refusal(self._audit, {**scope, "method": "POST"}, principal, error.message)
            await error_response(error)(scope, receive, _with_headers(send, scope))

    def _share(self, principal: Principal | None, stated: int) -> BodyShare:
        tenant, caller = (principal.tenant, principal.holder) if principal is not None else ("", "")  # all unknown callers share one place
        return self._budget.share(tenant, caller, stated)

    def _check_rule(self, method: str, path: str, principal: Principal | None) -> None:
        rule = rule_of(method, path)
        if rule is not None and (rule.scope is None or path in self._opened):
            return
        if principal is None:
            raise KeyRequiredError(
                "This needs the service's key.",
                hint="Programs send `Authorization: Bearer KEY` (file `key` of the home); the page opens by the link of `serve`.",
            )
        if rule is None or rule.scope is None:
            raise _unnamed(method, path)
        principal.require(rule.scope)
        if rule.within is Answering.REFUSED:
            principal.require_whole(rule.scope)

    def _check_host(self, headers: Headers) -> None:
        name = _host_name(headers.get("host", ""))
        if name.rstrip(".") not in self._hosts:
            raise ForbiddenError(
                f"This service is not called {name!r}; it is called {', '.join(sorted(self._hosts))}.",
                hint="Add the name to HEADWATER_ALLOWED_HOSTS.",
            )

    @staticmethod
    def _check_origin(headers: Headers, method: str, path: str) -> None:
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != headers["host"].lower():
            raise ForbiddenError(f"Pages of {origin} may not call this service.", hint="Open the page that this service serves.")
        # Links on other sites may lead to the page and to sign-in only.
        rule = rule_of(method, path)
        if not (rule is not None and rule.linked) and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise ForbiddenError("A page of another site may not call this service.", hint="Open the page that this service serves.")

    def _check_length(self, headers: Headers, path: str) -> int:
        limit = self._limit(path)
        stated = headers.get("content-length", "0")
        if not (stated.isascii() and stated.isdecimal()) or len(stated) > 18 or int(stated) > limit:
            raise _too_large(limit)
        return limit


def _check_head(scope: Scope, headers: Headers) -> None:
    size = sum(len(name) + len(value) + 4 for name, value in scope["headers"]) + len(scope["raw_path"]) + len(scope["query_string"])
    if size > HEAD_BYTES:
        raise HeadTooLargeError(f"The request's head has {size} bytes, {HEAD_BYTES} are the most.", hint="Send a long question by GraphQL.")
    coded = "transfer-encoding" in headers
    if coded and ("content-length" in headers or scope["http_version"] == "1.0"):
        # A proxy could find another end of the request, and treat the rest as a second request.
        raise AmbiguousLengthError(
            "The request states its length twice: by Content-Length and by Transfer-Encoding.", hint="Send one of them, by HTTP/1.1."
        )


def _check_type(headers: Headers, rule: Rule | None) -> None:
    """Check the media type of a body. A missing media type counts as the type that the endpoint expects."""
    stated = headers.get("content-type")
    if rule is None or not rule.accepts or stated is None:
        return
    media_type, _, rest = stated.partition(";")
    charset = re.search(r"""(?:^|;)\s*charset\s*=\s*["']?([^"';\s]*)""", rest, re.IGNORECASE)
    if media_type.strip().lower() not in rule.accepts or (charset and charset[1].lower() not in ("utf-8", "utf8", "us-ascii")):
        raise UnsupportedMediaTypeError(
            f"Content-Type is {stated[:200]!r}.", field="Content-Type", hint=f"Send {' or '.join(sorted(rule.accepts))}, in UTF-8."
        )


def _unnamed(method: str, path: str) -> HeadwaterError:
    if (named := named_path(path)) is None:
        return NotFoundError(f"There is no {path}.", hint="See docs/reference/service.md.")
    return MethodNotAllowedError(f"{path} takes {' and '.join(methods_of(named))}, not {method}.", hint="See docs/reference/service.md.")


@lru_cache(256)
def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "") if host else ""
    except ValueError:
        raise InvalidInputError(
            f"Host is {host[:200]!r}, which is no name.", field="Host", hint="Send the name that the service is called by."
        ) from None


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # `http://[::1` is not a name
        return ""


def _bounded(receive: Receive, limit: int, share: BodyShare | None) -> Receive:
    read = 0

    async def bounded() -> Message:
        nonlocal read
        message = await receive()
        size = len(message.get("body", b""))
        read += size
        if read > limit:
            raise _too_large(limit)
        if share is not None and size:
            share.take(size)
        return message

    return bounded


def _too_large(limit: int) -> BodyTooLargeError:
    return BodyTooLargeError(
        f"The body is larger than {limit} bytes.", field="body", hint="Send less at once, or raise HEADWATER_MAX_BODY_BYTES."
    )


def _with_headers(send: Send, scope: Scope) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            await notes_written(scope)
            headers = message["headers"] = list(message.get("headers", ()))
            named = {name.lower() for name, _ in headers}
            headers += [header for header in RESPONSE_HEADERS if header[0] not in named]
        await send(message)

    return with_headers
