"""`POST /api/v1/tickets`: a fresh link to the page, for who holds the key. `GET /api/v1/session`: what the page may do, and its token."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.graphql.access import Scope

router = APIRouter(prefix="/api/v1", tags=["session"])


class TicketRequest(BaseModel):
    """What the page that a ticket opens may do besides reading."""

    model_config = ConfigDict(extra="forbid")
    scopes: list[Literal["read", "declare", "replay"]] = ["read"]


@router.post("/tickets", status_code=201)
async def post_ticket(request: Request, parts: Annotated[Service, Depends(service)], asked: TicketRequest | None = None) -> dict[str, str]:
    """A ticket that opens the page once: add it as `?ticket=` to any address of the page. Its session may do what `scopes` says."""
    ticket = parts.credentials.ticket([Scope(scope) for scope in (asked or TicketRequest()).scopes])
    return {"ticket": ticket, "url": f"{str(request.base_url).rstrip('/')}/?ticket={ticket}"}


@router.get("/session", response_model=dict[str, Any])
async def get_session(who: Annotated[Principal, Depends(principal)]) -> Response:
    """What the caller may do: `{scopes, token}`. A session sends the token as `X-Headwater-Token` to change anything."""
    return JSONResponse({"scopes": sorted(who.scopes), "token": who.token}, headers={"Cache-Control": "no-store"})
