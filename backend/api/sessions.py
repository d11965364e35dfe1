"""`POST /api/v1/tickets` makes a link to the page for the holder of a key. `/api/v1/session` shows and ends a session."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from headwater.backend.api.audit import RequestAuditor, auditor
from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.api.login import sign_out_address
from headwater.errors import InvalidInputError
from headwater.graph.access.scopes import Scope
from headwater.graphql.audit import audited

router = APIRouter(prefix="/api/v1", tags=["session"])


class TicketRequest(BaseModel):
    """The rights of the page that a ticket opens, in addition to reading."""

    model_config = ConfigDict(extra="forbid")
    scopes: list[Literal["read", "records", "unmasked", "export", "declare", "replay", "audit", "admin"]] = ["read"]


@router.post("/tickets", status_code=201)
async def post_ticket(
    request: Request, parts: Annotated[Service, Depends(service)], who: Annotated[Principal, Depends(principal)],
    asked: TicketRequest | None = None,
) -> dict[str, str]:  # fmt: skip
    """Issue a ticket that opens the page once: add it as `?ticket=` to any address of the page. Only keys may do this.

    The session has the requested `scopes`, as far as the key has them.
    """
    if who.is_person:
        raise ForbiddenError("A link to the page is made with a key; people sign in.", hint="Open /login.")
    if who.method != "key":
        raise ForbiddenError("A link to the page is made with a key; a session of the page will not do.", hint="Send your key.")
    scopes = [Scope(scope) for scope in (asked or TicketRequest()).scopes]
    ticket = await asyncio.to_thread(parts.credentials.ticket, scopes, of=who)
    return {"ticket": ticket, "url": f"{str(request.base_url).rstrip('/')}/?ticket={ticket}"}


@router.get("/session", response_model=dict[str, Any])
async def get_session(who: Annotated[Principal, Depends(principal)]) -> Response:
    """The caller's name and rights: `{name, scopes, token}`. A session sends the token as `X-Headwater-Token` to change anything."""
    return JSONResponse({"name": who.name, "scopes": sorted(who.scopes), "token": who.token}, headers={"Cache-Control": "no-store"})


@router.delete("/session", response_model=dict[str, Any])
async def delete_session(
    request: Request, parts: Annotated[Service, Depends(service)], who: Annotated[Principal, Depends(principal)],
    log: Annotated[RequestAuditor, Depends(auditor)],
) -> Response:  # fmt: skip
    """Sign out. The session becomes invalid. `{next}` is the address that also signs out at the issuer, or null."""
    if who.method != "session":
        raise InvalidInputError("This ends a session of the page; a key is none.", hint="Revoke a key: headwater admin keys revoke NAME")
    async with audited(log, "session.close", changes=True):
        cookie = await asyncio.to_thread(parts.credentials.sign_out, request.headers.get("cookie", ""))
    answer = JSONResponse({"next": await sign_out_address(request, parts, who)}, headers={"Cache-Control": "no-store"})
    answer.headers["Set-Cookie"] = cookie
    return answer
