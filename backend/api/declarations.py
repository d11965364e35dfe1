"""`/api/v1/declarations` and `/api/v1/descriptions`: statements of people about data and jobs, and the resulting description of a node."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import JSONResponse, Response

from headwater.backend.api.audit import RequestAuditor, auditor
from headwater.backend.api.authorization import author_of
from headwater.backend.api.bodies import SMALL, read_body
from headwater.backend.api.context import Service, graph, graph_of, principal, service, tenant
from headwater.backend.api.credentials import Principal
from headwater.backend.api.permitted_declarations import PermittedDeclarations
from headwater.backend.ingest.intake.declarations import DeclarationIntake, read_packed_declaration
from headwater.backend.ingest.intake.scan import DECLARATION
from headwater.errors import NotFoundError
from headwater.graph.access.scopes import Scope
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.stores import GraphStore
from headwater.graphql.audit import audited, subjects_of

router = APIRouter(prefix="/api/v1", tags=["descriptions"])

_DOCUMENT = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}
_TAKEN: dict[int | str, dict[str, Any]] = {
    201: {"description": "The declaration is durable: `{offset}`, its place in the log."},
    400: {"description": "It breaks a rule; `field` is the path of what is wrong. Nothing of it was taken."},
    404: {"description": "It speaks of a node that nobody knows."},
}


@router.post("/declarations", status_code=201, openapi_extra=_DOCUMENT, responses=_TAKEN)
async def post_declaration(
    request: Request,
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    log: Annotated[RequestAuditor, Depends(auditor)],
) -> Response:
    """Declare types, instances, containment, links and descriptions (owners, tags, terms, retention, legal hold), or their removal."""
    read = await read_body(request, parts, who, read_packed_declaration, author_of(who), limit=DECLARATION.size, inline=SMALL)
    document = read.document
    async with audited(log, "declare", *subjects_of(document), changes=True):
        intake = PermittedDeclarations(DeclarationIntake(parts.workspace.log, graph_of(parts, who, Scope.DECLARE)), parts, who)
        offset = await intake.declare(who.tenant, document, read.checked())
    return JSONResponse({"offset": offset}, 201)


@router.get("/descriptions", responses={404: {"description": "There is no such node."}})
async def get_descriptions(
    node: Annotated[str, Query(description="The id of a dataset, column, job or any other node.")],
    owner: Annotated[str, Depends(tenant)],
    seen: Annotated[GraphStore, Depends(graph)],
) -> dict[str, Any]:
    """The description of a node: `{owners, stewards, tags, terms, description, retention, legal_hold, tag_values}`."""
    found = await seen.get(owner, [node])
    if not found:
        raise NotFoundError(f"Nothing is known of {node}.", hint="Search for its name, or see what a container holds.")
    return asdict(descriptions_of(found[0]))
