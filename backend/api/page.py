"""Serves the built page, and opens its session from a link with a one-time ticket.

The page's files contain no data and are open. The page itself needs the link, so that strangers see a sentence and not a
broken application. Unknown paths lead to the page.
"""

from __future__ import annotations

import asyncio
from html import escape
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from headwater.backend.api.audit import RequestAuditor
from headwater.backend.api.compression import accepts
from headwater.backend.api.context import Service
from headwater.graphql.audit import Act

PAGE = Path(__file__).resolve().parent.parent / "page"

_ENCODINGS = {"br": ".br", "gzip": ".gz"}  # the ending of a file's packed form

_NOTICE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Headwater</title>{head}
<body style="font:16px system-ui;max-width:40em;margin:15vh auto;padding:0 1em"><h1>Headwater</h1><p>{text}</p></body></html>"""
_NO_SESSION = (
    "This page opens by the link that <code>headwater serve</code> prints, once; then this browser is known. Run it for a new link."
)
_SIGN_IN = '<a href="/login?{}">Sign in</a> to see this page.'
_NOT_BUILT = "The service runs, and its page has not been built (or not yet). Run <code>make page</code>, or use the command line."


def build_router(page: Path = PAGE) -> APIRouter:
    """Return the routes of the page. They are mounted last, because they match every remaining path."""
    router = APIRouter(include_in_schema=False)
    root = page.resolve()

    @router.api_route("/{path:path}", methods=["GET", "HEAD"])
    async def show(path: str, request: Request) -> Response:
        if path.split("/", maxsplit=1)[0] in ("api", "graphql") or "\0" in path:
            raise HTTPException(404, f"There is no /{path}.")
        asset = (root / path).resolve()
        if path and asset.is_file() and asset.is_relative_to(root) and asset != root / "index.html":
            return _asset(asset, request, lasts=path.startswith("assets/"))
        if "." in path.rsplit("/", 1)[-1] and path.startswith("assets/"):
            raise HTTPException(404, f"There is no /{path}.")
        return await _index(root, request)

    return router


def _asset(asset: Path, request: Request, *, lasts: bool) -> Response:
    """Answer with a file of the page, in the smallest form that the build has made of it and the browser accepts."""
    headers = {"Cache-Control": "public, max-age=31536000, immutable" if lasts else "no-cache", "Vary": "Accept-Encoding"}
    for encoding, ending in _ENCODINGS.items():
        packed = asset.with_name(asset.name + ending)
        if accepts(request.headers, encoding) and packed.is_file():
            media_type = guess_type(asset.name)[0] or "application/octet-stream"
            return FileResponse(packed, media_type=media_type, headers={**headers, "Content-Encoding": encoding})
    return FileResponse(asset, headers=headers)


async def _index(root: Path, request: Request) -> Response:
    service: Service = request.app.state.service
    ticket = request.query_params.get("ticket")
    if ticket is not None and request.method == "GET":
        cookie = await asyncio.to_thread(service.credentials.redeem, ticket, secure=by_tls(request))
        if cookie is not None:
            opened = service.credentials.principal({"cookie": cookie.partition(";")[0]})
            scopes = sorted(opened.scopes) if opened else []
            await RequestAuditor(service.audit, request.scope, opened).write(Act("session.open"), f"it may {', '.join(scopes)}")
        if cookie is not None or request.state.principal is not None:
            return _without_ticket(request, cookie)
    if request.state.principal is None:
        if service.credentials.people_sign_in():
            wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return notice(_SIGN_IN.format(escape(urlencode({"next": wanted}))), 401)
        return notice(_NO_SESSION, 401)
    path = request.url.path.removeprefix("/")
    if path not in {"", "index.html"}:  # other files of the page are requested relative to it
        home = "../" * path.count("/") or "./"
        return RedirectResponse(f"{home}?{request.url.query}" if request.url.query else home, 303, headers={"Cache-Control": "no-store"})
    index = root / "index.html"
    if not index.is_file():
        return notice(_NOT_BUILT, 200)
    return FileResponse(index, headers={"Cache-Control": "no-store"})


def notice(html: str, status: int, *, head: str = "") -> HTMLResponse:
    """Return a page of one sentence. `html` and `head` are not escaped, so outside text in them must already be escaped."""
    return HTMLResponse(_NOTICE.format(text=html, head=head), status, headers={"Cache-Control": "no-store"})


def by_tls(request: Request) -> bool:
    """Whether the browser used TLS, to the service or to a proxy. A forged header only makes the forger's own cookie stricter."""
    stated = request.headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
    return request.url.scheme == "https" or stated == "https"


def _without_ticket(request: Request, cookie: str | None) -> Response:
    """Redirect to the same page, so that the ticket disappears from the address bar and the history."""
    rest = [(name, value) for name, value in request.query_params.multi_items() if name != "ticket"]
    # Two leading slashes would name another host.
    target = "/" + request.url.path.lstrip("/") + (f"?{urlencode(rest)}" if rest else "")
    response = RedirectResponse(target, 303, headers={"Cache-Control": "no-store"})
    if cookie is not None:
        response.headers["Set-Cookie"] = cookie
    return response
