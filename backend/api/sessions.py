"""`POST /api/v1/tickets`: a fresh link to the page, for who holds the key."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError

router = APIRouter(prefix="/api/v1", tags=["session"])


@router.post("/tickets", status_code=201)
async def post_ticket(
    request: Request, who: Annotated[Principal, Depends(principal)], parts: Annotated[Service, Depends(service)]
) -> dict[str, str]:
    """A ticket that opens the page once: add it as `?ticket=` to any address of the page."""
    if who.method != "key":
        raise ForbiddenError("Tickets are given for the key alone.", hint="Run `headwater serve` for a new link.")
    ticket = parts.credentials.ticket()
    return {"ticket": ticket, "url": f"{str(request.base_url).rstrip('/')}/?ticket={ticket}"}
