"""The common parts of all Marquez endpoints: the caller, the graph, the page, and errors in Marquez's form."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response

from headwater.backend.api.authorization import tells_values
from headwater.backend.api.context import Service, graph_of, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import error_response
from headwater.errors import InvalidInputError, InvalidQueryError, NotFoundError
from headwater.graph.stores import GraphStore
from headwater.graph.stores.protocol import Listing

_MOST = 1_000  # limit of entries in a page, because each has its neighbours
_MOST_BROUGHT = 20_000  # limit of fields of datasets, or inputs of runs, in a page


@dataclass(frozen=True, slots=True)
class MarquezRequest:
    """The graph, the tenant, and whether the caller may see values of columns."""

    graph: GraphStore
    tenant: str
    tells_values: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A page: the number of entries, and the number of entries before it."""

    limit: int
    offset: int


async def _asked(who: Annotated[Principal, Depends(principal)], parts: Annotated[Service, Depends(service)]) -> MarquezRequest:
    return MarquezRequest(graph_of(parts, who), who.tenant, tells_values(parts, who))


async def _place(
    limit: Annotated[int, Query(ge=0, le=_MOST, description="Of the page.")] = 100,
    offset: Annotated[int, Query(ge=0, le=1 << 62, description="How many come before the page.")] = 0,
) -> Place:
    return Place(limit, offset)


Ask = Annotated[MarquezRequest, Depends(_asked)]
Page = Annotated[Place, Depends(_place)]


class _Route(APIRoute):
    """A route whose client errors also have `code`, as Marquez's errors have (`{"code": 404, "message": "…"}`)."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await answer(request)
            except (NotFoundError, InvalidInputError) as error:
                response = error_response(error)
                return JSONResponse({"code": response.status_code, **json.loads(bytes(response.body))}, response.status_code)

        return answered


def subject_router(version: str = "v1") -> APIRouter:
    return APIRouter(prefix=f"/api/{version}", tags=["marquez"], route_class=_Route)


def not_found(what: str, name: str) -> NotFoundError:
    return NotFoundError(f"{what} '{name[:500]}' not found.", hint="Names are told exactly, in the case that events state them in.")


def require_fewer(count: int, what: str, entries: int) -> None:
    """Refuse a page that is too expensive. A single entry is always answered.

    Raises:
        InvalidQueryError: the entries of the page have more parts than the limit.
    """
    if entries > 1 and count > _MOST_BROUGHT:
        raise InvalidQueryError(
            f"The {entries:,} entries of this page have more than {_MOST_BROUGHT:,} {what}.",
            field="limit",
            hint="Ask for fewer: a smaller limit.",
        )


async def answer(body: Any) -> JSONResponse:
    """Return the content as JSON. The JSON is written in a thread, because a long answer would block the event loop."""
    return await asyncio.to_thread(JSONResponse, body)


def page_of(name: str, entries: list[Any], listing: Listing) -> dict[str, Any]:
    return {name: entries, "totalCount": listing.total}
