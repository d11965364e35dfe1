"""`POST /api/v1/lineage` and `/lineage/batch`: accept OpenLineage events of any producer, one or an array, plain or gzip."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, Response

from headwater.backend.api.bodies import read_body, small_body
from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.ingest.intake.bodies import BodyTooLargeError
from headwater.backend.ingest.intake.event_namespaces import EventNamespaces, check_of, read_runs
from headwater.backend.ingest.intake.receive import Refused, Submission, read_packed_events
from headwater.backend.ingest.log.loop_futures import on_loop
from headwater.graph.access.scopes import Scope

_INLINE, ARRAY_INLINE = 16 * 1024, 4 * 1024  # smaller bodies are read on the event loop, in 50 ms at most

router = APIRouter(prefix="/api/v1", tags=["intake"])

_EVENT = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]}}},
    }
}


_RESPONSES: dict[int | str, dict[str, Any]] = {
    201: {"description": "All events are durable: `{accepted, duplicates, rejected: []}`. Events sent again change nothing."},
    422: {
        "description": "Some events are refused; `rejected` names the field of each of the first hundred, which are dead letters now, and "
        "`more_rejected` counts the rest. The others are durable."
    },
    413: {"description": "The body is too large, packed or unpacked."},
    503: {"description": "Nothing is acknowledged; send again."},
}


@router.post("/lineage/batch", status_code=201, openapi_extra=_EVENT, responses=_RESPONSES)
@router.post("/lineage", status_code=201, openapi_extra=_EVENT, responses=_RESPONSES)
async def post_lineage(
    request: Request, who: Annotated[Principal, Depends(principal)], parts: Annotated[Service, Depends(service)]
) -> Response:
    """Accept OpenLineage events. The events are flushed to disk before the answer."""
    events = parts.workspace.events
    # An array may contain thousands of documents in a few kilobytes.
    small = small_body(await request.body(), request.headers.get("content-encoding"), _INLINE)
    inline = _INLINE if small is not None and small.lstrip()[:1] != b"[" else ARRAY_INLINE
    check: EventNamespaces | None = None
    if Scope.INTAKE in who.within:
        runs = await read_body(request, parts, who, read_runs, inline=inline)
        check = await check_of(parts.workspace.graph, who.tenant, who.within[Scope.INTAKE], runs)
    try:
        read = await read_body(request, parts, who, read_packed_events, check, inline=inline)
    except BodyTooLargeError:
        parts.metrics.events.labels("rejected").inc()
        raise
    if isinstance(read, Refused):
        await on_loop(events.bury(who.tenant, read.letter))
        parts.metrics.events.labels("rejected").inc()
        raise read.error
    if "content-encoding" in request.headers:  # the unpacked body is in memory until it is durable
        request.state.body.take(sum(len(draft.body) for draft in read.drafts))
    return await answer_to(parts, events.keep(who.tenant, read))


async def answer_to(parts: Service, submission: Submission) -> Response:
    """Wait until a submission is durable, and return the response for it."""
    report = await submission.durable()
    parts.metrics.taken(report.accepted - report.duplicates, report.duplicates, len(report.rejected) + report.more_rejected)
    if not report.rejected:  # the usual case, formatted without the JSON library, which takes ten times as long
        taken = f'{{"accepted":{report.accepted},"duplicates":{report.duplicates},"rejected":[]}}'
        return Response(taken, 201, media_type="application/json")
    return JSONResponse(_content(asdict(report)), 422)


def _content(report: dict[str, Any]) -> dict[str, Any]:
    if not report["more_rejected"]:
        del report["more_rejected"]
    first = report["rejected"][0]
    return {
        "error": "InvalidEvent",
        "message": first["message"],
        "field": first["field"],
        "hint": first["hint"],
        "transient": False,
        **report,
    }
