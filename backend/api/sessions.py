"""`POST /api/v1/tickets`: a fresh link to the page, for who holds the key. `GET /api/v1/session`: what the page may do, and its token."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.graphql.access import Scope

router = APIRouter(prefix="/api/v1", tags=["session"])


class TicketRequest(BaseModel):
    """What the page that a ticket opens may do besides reading."""

    model_config = ConfigDict(extra="forbid")
    scopes: list[Literal["read", "records", "unmasked", "export", "declare", "replay"]] = ["read"]


@router.post("/tickets", status_code=201)
async def post_ticket(
    request: Request, parts: Annotated[Service, Depends(service)], who: Annotated[Principal, Depends(principal)],
    asked: TicketRequest | None = None,
) -> dict[str, str]:  # fmt: skip
    """A ticket that opens the page once: add it as `?ticket=` to any address of the page. With a key alone.

    Its session may do what `scopes` says, of what the key may.
    """
    if who.is_person:
        raise ForbiddenError("A link to the page is made with a key; people sign in.", hint="Open /login.")
    if who.method != "key":
        raise ForbiddenError("A link to the page is made with a key; a session of the page will not do.", hint="Send your key.")
    ticket = parts.credentials.ticket([Scope(scope) for scope in (asked or TicketRequest()).scopes], of=who)
    return {"ticket": ticket, "url": f"{str(request.base_url).rstrip('/')}/?ticket={ticket}"}


@router.get("/session", response_model=dict[str, Any])
async def get_session(who: Annotated[Principal, Depends(principal)]) -> Response:
    """What the caller may do: `{scopes, token}`. A session sends the token as `X-Headwater-Token` to change anything."""
    return JSONResponse({"scopes": sorted(who.scopes), "token": who.token}, headers={"Cache-Control": "no-store"})
