"""`/login`: a person signs in at the OpenID Connect issuer and returns with a session of the page.

The authorization code flow with PKCE (OpenID Connect Core 1.0, 3.1; RFC 7636; RFC 9700). A signed cookie stores the state between the two
requests. Any replica can therefore continue the flow, and only the browser that began can finish it.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from html import escape
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from headwater.backend.access.people.grants import Rules
from headwater.backend.api.audit import RequestAuditor
from headwater.backend.api.context import Service, service
from headwater.backend.api.credentials import Principal, granted
from headwater.backend.api.errors import status_of
from headwater.backend.api.page import by_tls, notice
from headwater.errors import HeadwaterError, InvalidInputError, UnavailableError
from headwater.graphql.audit import Act, Decision

router = APIRouter(include_in_schema=False)
Answer = TypeVar("Answer")

_AT_ONCE = 32  # limit of concurrent sign-ins
_OF_ONE = 4  # limit of concurrent sign-ins from one address
_asking: Counter[str] = Counter()  # running sign-ins by client address
_threads = ThreadPoolExecutor(_AT_ONCE, "headwater-sign-in")
_LONGEST = 2_000  # limit of characters in the address of the next page
_ONCE_MORE = '<a href="/login">Sign in once more.</a>'


@router.get("/login")
async def login(request: Request, parts: Annotated[Service, Depends(service)]) -> Response:
    """Send the browser to the issuer. `next` is the page of this service to show afterwards."""
    try:
        issuer = parts.credentials.issuer()
        address = await _asked(request, partial(issuer.address, "authorization_endpoint"))
    except HeadwaterError as error:
        return _refused(request, parts, error)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    query = {
        "response_type": "code",
        "client_id": issuer.rules.client,
        "redirect_uri": _back(request, issuer.rules),
        "scope": " ".join(issuer.rules.scopes),
        "state": state,
        "nonce": nonce,
        "code_challenge": _b64(sha256(verifier.encode("ascii")).digest()),
        "code_challenge_method": "S256",
    }
    response = RedirectResponse(f"{address}{'&' if '?' in address else '?'}{urlencode(query)}", 303, headers={"Cache-Control": "no-store"})
    wanted = _b64(_local(request.query_params.get("next", "/")).encode("utf-8"))
    response.headers["Set-Cookie"] = _secured(parts.credentials.sealed(state, nonce, verifier, wanted), request)
    return response


@router.get("/login/callback")
async def callback(request: Request, parts: Annotated[Service, Depends(service)]) -> Response:
    """Receive the browser from the issuer: exchange the code, look up the rights, open a session."""
    try:
        began = parts.credentials.opened(request.headers.get("cookie", ""))
        given = request.query_params
        if began is None or len(began) != 4 or not hmac.compare_digest(given.get("state", "").encode(), began[0].encode()):
            raise InvalidInputError("This sign-in was not begun in this browser, or too long ago.", field="state")
        if "error" in given:
            raise InvalidInputError(f"The issuer refused: {given['error'][:100]}.", field="error")
        _, nonce, verifier, wanted = began
        issuer = parts.credentials.issuer()
        exchange = partial(issuer.exchange, given.get("code", ""), verifier=verifier, nonce=nonce, redirect=_back(request, issuer.rules))
        claims = await _asked(request, exchange)
        person = granted(issuer.rules, claims)
        cookie = parts.credentials.sign_in(issuer.rules, person, secure=by_tls(request))
        opened = parts.credentials.principal({"cookie": cookie.partition(";")[0]})
        await RequestAuditor(parts.audit, request.scope, opened).write(Act("session.open"))
    except HeadwaterError as error:
        return _refused(request, parts, error)
    # After a redirect, the other site would still be the origin, and the browser would not send the new cookie.
    target = escape(_local(urlsafe_b64decode(wanted + "==").decode("utf-8")))
    response = notice(
        f'You are signed in as {escape(person.name)}. <a href="{target}">Go on.</a>', 200,
        head=f'<meta http-equiv="refresh" content="0;url={target}">',
    )  # fmt: skip
    response.headers.append("Set-Cookie", cookie)
    response.headers.append("Set-Cookie", f"{parts.credentials.cookie}_login=; Path=/login; Max-Age=0; HttpOnly; SameSite=Lax")
    return response


async def sign_out_address(request: Request, parts: Service, who: Principal) -> str | None:
    """Return the issuer's address that signs a person out there, or None if there is no issuer or it does not answer."""
    if not who.is_person:
        return None
    try:
        return await _asked(request, parts.credentials.issuer().sign_out_address)
    except HeadwaterError:
        return None  # the person is signed out of this service in any case


async def _asked(request: Request, ask: Callable[[], Answer]) -> Answer:
    """Return the issuer's answer, fetched on a separate thread. Each client address has a limited share of these threads."""
    client = request.client.host if request.client else ""
    if _asking[client] >= _OF_ONE or _asking.total() >= _AT_ONCE:
        raise UnavailableError("Too many people sign in at once.", hint="Try again in a moment.")
    _asking[client] += 1
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, ask)
    finally:
        _asking[client] -= 1
        if not _asking[client]:
            del _asking[client]


def _refused(request: Request, parts: Service, error: HeadwaterError) -> Response:
    RequestAuditor(parts.audit, request.scope, None).note(Act("session.login"), Decision.REFUSED, error.message)
    hint = f" {escape(error.hint)}" if error.hint else ""
    return notice(f"{escape(error.message)}{hint} {_ONCE_MORE}", status_of(error))


def _back(request: Request, rules: Rules) -> str:
    """Return the address to which the issuer redirects the browser. The operator registers it at the issuer."""
    return f"{rules.url or str(request.base_url).rstrip('/')}/login/callback"


def _local(wanted: str) -> str:
    """Return the wanted path if it is on this service, else `/`. Browsers treat two leading slashes as the name of a host."""
    is_local = wanted.startswith("/") and len(wanted) <= _LONGEST and wanted.isprintable() and "\\" not in wanted
    return wanted if is_local and not wanted.startswith("//") else "/"


def _secured(cookie: str, request: Request) -> str:
    return f"{cookie}; Secure" if by_tls(request) else cookie


def _b64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode("ascii").rstrip("=")
