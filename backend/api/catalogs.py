"""`/api/v1/export/datahub` and `/api/v1/export/openmetadata`: the contents of the graph for other catalogs, as a stream."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response, StreamingResponse

from headwater.backend.api.audit import RequestAuditor, auditor, logged
from headwater.backend.api.context import Service, graph_of, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.exports import SYSTEMS, CatalogRequest, System, open_catalog
from headwater.graph.access.scopes import Scope
from headwater.graphql.audit import Act, audited

router = APIRouter(prefix="/api/v1/export", tags=["export"])

Namespaces = Annotated[list[str] | None, Query(description="Patterns (* and ?) of namespaces of datasets and jobs; all if not given.")]
KnownAs = Annotated[list[str] | None, Query(description="NAMESPACE=NAME: what a namespace is called there. Repeatable.")]


async def _exported(system: System, request: CatalogRequest, who: Principal, parts: Service, log: RequestAuditor) -> Response:
    operation = f"export.{system}"
    async with audited(log, operation, *request.namespaces):
        catalog = await open_catalog(graph_of(parts, who, Scope.EXPORT), who.tenant, system, request)
    ended = Act(f"{operation}.end", list(request.namespaces))
    return StreamingResponse(logged(catalog.chunks, log, ended), media_type=catalog.media_type)


def _responses(system: System, what: str) -> dict[int | str, dict[str, Any]]:
    return {
        200: {"description": what, "content": {SYSTEMS[system].media_type: {}}},
        400: {"description": "Datasets of two namespaces could not be told apart there."},
    }


_PROPOSALS = "A JSON array of metadata change proposals, as DataHub's source `file` reads it."
_REQUESTS = "A request of OpenMetadata's API a line, in the order in which they can be sent."


@router.get("/datahub", response_class=Response, responses=_responses(System.DATAHUB, _PROPOSALS))
async def get_datahub(
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    log: Annotated[RequestAuditor, Depends(auditor)],
    namespaces: Annotated[Namespaces, Query(alias="namespace")] = None,
    known_as: KnownAs = None,
    environment: Annotated[str, Query(description="DataHub's environment: the end of each URN.")] = "PROD",
) -> Response:
    """Datasets, jobs, lineage of columns, owners, tags and terms for DataHub."""
    request = CatalogRequest.of(namespaces or (), known_as or (), environment)
    return await _exported(System.DATAHUB, request, who, parts, log)


@router.get("/openmetadata", response_class=Response, responses=_responses(System.OPENMETADATA, _REQUESTS))
async def get_openmetadata(
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    log: Annotated[RequestAuditor, Depends(auditor)],
    namespaces: Annotated[Namespaces, Query(alias="namespace")] = None,
    known_as: KnownAs = None,
) -> Response:
    """Datasets, jobs, lineage of columns, owners and tags for OpenMetadata."""
    request = CatalogRequest.of(namespaces or (), known_as or (), "PROD")
    return await _exported(System.OPENMETADATA, request, who, parts, log)
