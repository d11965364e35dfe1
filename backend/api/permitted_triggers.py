"""The triggers of a service with the rights of one caller, and the endpoint that fires a trigger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import JSONResponse

from headwater.backend.access.people.directory import People
from headwater.backend.api.audit import auditor
from headwater.backend.api.authorization import tells_values
from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.triggers.actions import Site
from headwater.backend.triggers.callers import CallersTriggers, StoreOnDemand
from headwater.backend.triggers.owners import HOME, key_owner, person_owner, rules_digest
from headwater.graph.access.rights import Rights
from headwater.graphql.audit import audited

router = APIRouter(prefix="/api/v1", tags=["triggers"])


def triggers_of(stores: StoreOnDemand, parts: Service, who: Principal) -> CallersTriggers:
    return CallersTriggers(
        stores, Site(parts.workspace), lambda: owner_of(parts, who), require=who.require, tells_values=tells_values(parts, who)
    )


def owner_of(parts: Service, who: Principal) -> Mapping[str, Any]:
    """Return the description of a caller as the owner of a trigger."""
    if who.is_person:
        return person_owner(who.holder, Rights(who.scopes, who.within), rules_digest(People(parts.settings.folder.people)))
    return key_owner(who.key, who.name) if who.key else HOME


@router.post("/triggers/{name}/fire")
async def fire(
    request: Request,
    name: str,
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    idempotency_key: Annotated[str | None, Header()] = None,
    headwater_execution: Annotated[str | None, Header()] = None,
) -> JSONResponse:
    """Fire a trigger: a webhook for other programs. A repeated `Idempotency-Key` changes nothing.

    `Headwater-Execution` names the execution whose webhook caused this request. The new cause then belongs to its chain.
    """
    triggers = triggers_of(request.app.state.triggers, parts, who)
    async with audited(await auditor(request), "trigger.fire_by_hand", name, changes=True):
        cause = await triggers.fire(who.tenant, name, key=idempotency_key, parent=headwater_execution)
    return JSONResponse(cause, status_code=202)
