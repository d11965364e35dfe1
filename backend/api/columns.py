"""`/api/v1/columns/…`: the jobs that used a column, its sources, and the tags that reach it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from headwater.backend.api.context import graph, tenant
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views import field_access, field_lineage, reaching_tags

router = APIRouter(prefix="/api/v1/columns", tags=["lineage"])

_RESPONSES: dict[int | str, dict[str, Any]] = {400: {"description": "It is no column."}, 404: {"description": "There is no such column."}}
Column = Annotated[str, Query(description="The id of a column: column:NAMESPACE:DATASET:COLUMN.")]


@router.get("/access", responses=_RESPONSES)
async def get_access(
    column: Column,
    owner: Annotated[str, Depends(tenant)],
    seen: Annotated[GraphStore, Depends(graph)],
    since: Annotated[str | None, Query(description="An instant (ISO 8601).")] = None,
    until: Annotated[str | None, Query(description="An instant (ISO 8601).")] = None,
) -> list[dict[str, Any]]:
    """The jobs that read, wrote, created or dropped a column, earliest first.

    Each is `{job, kind, ways, decides_only, first, last, runs, certain}`.
    """
    return [asdict(access) for access in await field_access(seen, owner, column, since=since, until=until)]


@router.get("/lineage", responses=_RESPONSES)
async def get_lineage(
    column: Column,
    owner: Annotated[str, Depends(tenant)],
    seen: Annotated[GraphStore, Depends(graph)],
    direction: Annotated[
        Direction, Query(description="upstream: what it is made of; downstream: what is made of it.")
    ] = Direction.UPSTREAM,
    detailed: Annotated[bool, Query(description="Every step, instead of the ends with the operations between.")] = False,
    depth: Annotated[int, Query(ge=1, le=100, description="How many columns deep.")] = 50,
    former: Annotated[bool, Query(description="Also derivations that their jobs have given up.")] = False,
) -> dict[str, Any]:
    """The columns that a column derives from: `{edges: [{src, dst, way, operations, hops}], truncated, beyond, former}`.

    `former` counts the columns to which only derivations lead that their jobs have given up.
    """
    found = await field_lineage(seen, owner, column, direction=direction, detailed=detailed, depth=depth, former=former)
    edges = [{**asdict(edge), "way": edge.way.name.lower()} for edge in found.edges]
    counts = {"truncated": found.truncated, "beyond": found.beyond, "former": found.former}
    return {"edges": edges, **counts} | ({"hidden": True} if found.hidden else {})


@router.get("/tags", responses=_RESPONSES)
async def get_tags(
    column: Column, owner: Annotated[str, Depends(tenant)], seen: Annotated[GraphStore, Depends(graph)]
) -> list[dict[str, Any]]:
    """The tags of a column, and tags that reach it along its lineage: `{tag, origin, distance, way}`."""
    found = await reaching_tags(seen, owner, column)
    return [{**asdict(tag), "way": tag.way.name.lower()} for tag in found]
