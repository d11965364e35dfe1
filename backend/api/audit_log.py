"""`/api/v1/audit`: the audit log as JSON lines. Each reading is audited, too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from headwater.backend.api.audit import RequestAuditor, auditor
from headwater.backend.api.caller_audit_log import tenant_of
from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.audit.lines import Entry, Wanted
from headwater.graphql.audit import audited

router = APIRouter(prefix="/api/v1", tags=["audit"])

MEDIA_TYPE = "application/x-ndjson"
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A line of JSON an entry. Where the search ended before the log did, the header X-Searched-Back-To is an instant: "
        "earlier entries may fit too, ask again until it.",
        "content": {MEDIA_TYPE: {}},
    }
}


@router.get("/audit", response_class=StreamingResponse, responses=_RESPONSES)
async def get_audit(
    parts: Annotated[Service, Depends(service)],
    who: Annotated[Principal, Depends(principal)],
    log: Annotated[RequestAuditor, Depends(auditor)],
    by: Annotated[str | None, Query(description="Part of a caller's name.", max_length=200)] = None,
    dataset: Annotated[str | None, Query(description="Part of the id, name or path of a dataset or node.", max_length=1000)] = None,
    decision: Annotated[str | None, Query(pattern="^(allowed|refused|failed)$")] = None,
    since: Annotated[datetime | None, Query(description="An instant (ISO 8601); UTC where it names no zone.")] = None,
    until: Annotated[datetime | None, Query(description="An instant (ISO 8601); UTC where it names no zone.")] = None,
    last: Annotated[int, Query(ge=1, le=10_000, description="How many entries, at most.")] = 100,
) -> StreamingResponse:
    """The latest matching entries of the audit log, earliest first. A named key sees its own tenant only, the home's key all."""
    wanted = Wanted(by, dataset, decision, _zoned(since), _zoned(until), tenant=tenant_of(who))
    async with audited(log, "audit.read", *filter(None, (by, dataset))):
        found = await asyncio.to_thread(parts.audit_lines.latest, wanted, last, quickly=True)
    headers = {"X-Searched-Back-To": found.left_at.isoformat()} if found.left_at else {}
    return StreamingResponse(_json_lines(found.entries), media_type=MEDIA_TYPE, headers=headers)


def _json_lines(entries: tuple[Entry, ...]) -> Iterator[bytes]:
    for entry in entries:
        yield json.dumps(entry, separators=(",", ":")).encode("ascii") + b"\n"


def _zoned(instant: datetime | None) -> datetime | None:
    return instant.replace(tzinfo=UTC) if instant is not None and instant.tzinfo is None else instant
