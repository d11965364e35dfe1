"""Whether the service lives, whether it can work, and how it does. These three say nothing of anybody's data and need no key."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

import headwater
from headwater.backend.api.context import Service, service
from headwater.backend.settings import DEFAULT_TENANT
from headwater.errors import HeadwaterError

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok", "version": headwater.__version__}


@router.get("/readyz", responses={503: {"description": "A part cannot work; `checks` says which."}})
async def readyz(parts: Annotated[Service, Depends(service)]) -> Response:
    """Log, graph store and projector can work."""
    checks = {"log": "ok", "graph": "ok", "projector": parts.worker.state}
    pending: int | None = None
    try:
        await asyncio.to_thread(parts.workspace.log.latest, DEFAULT_TENANT)
    except Exception as error:  # noqa: BLE001 - any fault of the log means: not ready
        checks["log"] = type(error).__name__
    try:
        pending = await parts.workspace.projector.pending(DEFAULT_TENANT)
    except HeadwaterError as error:
        checks["graph"] = error.message
    checks["audit"] = parts.audit.state
    ready = checks["log"] == checks["graph"] == checks["audit"] == "ok" and not checks["projector"].startswith("failed")
    content: dict[str, Any] = {"status": "ready" if ready else "unavailable", "checks": checks, "pending": pending}
    return JSONResponse(content, 200 if ready else 503)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(parts: Annotated[Service, Depends(service)]) -> Response:
    """Measures for Prometheus."""
    counts = await asyncio.to_thread(parts.workspace.log.counts, DEFAULT_TENANT)
    parts.metrics.dead_letters.set(counts["dead_letters"])
    # Without the store nobody knows how much waits: the last number stays, and the state of the service is /readyz's to tell.
    with suppress(HeadwaterError):
        parts.metrics.pending.set(await parts.workspace.projector.pending(DEFAULT_TENANT))
    return Response(parts.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
