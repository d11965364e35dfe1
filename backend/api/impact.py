"""`GET /api/v1/impact`: everything downstream or upstream of a node, as a stream of JSON lines."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response, StreamingResponse

from headwater.backend.api.audit import RequestAuditor, auditor
from headwater.backend.api.authorization import questions_of
from headwater.backend.api.context import Service, graph, principal, service
from headwater.backend.api.credentials import Principal
from headwater.errors import InvalidQueryError
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.trace import TraceRequest
from headwater.graph.views import Affected, Impact, impact, impact_of_records
from headwater.graphql.audit import audited

router = APIRouter(prefix="/api/v1", tags=["lineage"])

_RECORDS = 100_000
_REASONS, _LONGEST = 10, 300
_TYPE = "application/x-ndjson"
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A line for each node, nearest first: `{id, kind, name, distance, path, owners, last_run, updated, records, "
        "former}`. `Headwater-Total` counts the lines, `Headwater-Beyond` the nodes one hop further than was followed, at least, and "
        "`Headwater-Former` the nodes to which only links lead that their jobs have given up. Where "
        "`Headwater-Exact` is false, `Headwater-Reasons` says why: a JSON list of texts.",
        "content": {_TYPE: {}},
    },
    404: {"description": "There is no such node."},
}


@router.get("/impact", response_class=Response, responses=_RESPONSES)
async def get_impact(
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    seen: Annotated[GraphStore, Depends(graph)],
    log: Annotated[RequestAuditor, Depends(auditor)],
    focus: Annotated[list[str] | None, Query(description="Ids of datasets, jobs, versions or runs; or of columns. Repeatable.")] = None,
    records: Annotated[str | None, Query(description="Instead: a dataset, of which `where` selects records.")] = None,
    where: Annotated[str | None, Query(description="DuckDB SQL over the columns of `records`.")] = None,
    as_of: Annotated[
        str | None, Query(description="`records` as they were: at an instant (UTC), as a run left them, or a table's snapshot.")
    ] = None,
    direction: Annotated[Direction, Query(description="downstream: the impact; upstream: the causes.")] = Direction.DOWNSTREAM,
    depth: Annotated[int, Query(ge=1, le=1_000, description="How many hops.")] = 100,
    former: Annotated[bool, Query(description="Also follow links that their jobs have given up.")] = False,
) -> Response:
    """List everything downstream of a node (impact) or upstream of it (causes). A refusal comes before the stream begins."""
    if records is not None:
        forward = direction is Direction.DOWNSTREAM
        request = TraceRequest(
            dataset=records, where=where, forward=forward, limit=_RECORDS, values=False, selected_values=False, as_of=as_of
        )
        async with audited(log, "impact", records) as act:
            answer = await questions_of(parts, who).trace(who.tenant, request)
            act.met(answer.selected, answer.records)
        found = impact_of_records(seen, who.tenant, answer, forward=forward)
    elif focus:
        found = await impact(seen, who.tenant, focus, direction=direction, depth=depth, former=former)
    else:
        raise InvalidQueryError("Neither focus nor records is given.", field="focus", hint="Name a node, or a dataset and a predicate.")
    headers = {"Headwater-Total": str(found.total), "Headwater-Beyond": str(found.beyond), "Headwater-Exact": str(found.exact).lower()}
    if found.former:
        headers["Headwater-Former"] = str(len(found.former))
    if found.reasons:
        headers["Headwater-Reasons"] = _reasons(found.reasons)
    return StreamingResponse(_lines(found), media_type=_TYPE, headers=headers)


def _reasons(reasons: Sequence[str]) -> str:
    shown = [reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…" for reason in reasons[:_REASONS]]
    left = len(reasons) - len(shown)
    return json.dumps([*shown, f"{left} more reasons"] if left else shown)


async def _lines(found: Impact) -> AsyncIterator[bytes]:
    async for row in found.rows():
        yield json.dumps(_line(row), ensure_ascii=False).encode() + b"\n"


def _line(row: Affected) -> dict[str, Any]:
    return {
        "id": row.node.id,
        "kind": row.node.kind.value,
        "name": row.node.name,
        "distance": row.distance,
        "path": list(row.path),
        "owners": list(row.owners),
        "last_run": row.last_run,
        "updated": row.updated,
        "records": row.records,
        "former": row.former,
    }
