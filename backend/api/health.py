"""Endpoints for liveness, readiness and metrics. They show no data of tenants and need no key."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

import headwater
from headwater.backend.api.context import Service, service
from headwater.backend.home.file_fault import Fault
from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.ingest.log import Stage
from headwater.backend.projector.projector import Projector
from headwater.errors import DamagedError, HeadwaterError

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Report that the process answers."""
    return {"status": "ok", "version": headwater.__version__}


@router.get("/readyz", responses={503: {"description": "A part cannot work; `checks` says which."}})
async def readyz(parts: Annotated[Service, Depends(service)]) -> Response:
    """Report whether log, graph store, projector, catalog, key and disk work.

    Damaged captures are reported, but do not change the status.
    """
    home = parts.settings.folder.path
    checks = {"log": "ok", "graph": "ok", "projector": parts.worker.state, "catalog": "ok", "key": "ok", "disk": "ok"}
    checks |= {"associations": "ok", "segments": "ok"}
    pending: int | None = None
    try:
        pending = await parts.workspace.projector.pending(DEFAULT_TENANT)
    except DamagedError as error:
        checks["log" if error.path in (None, parts.workspace.home.log) else "graph"] = error.message.replace(f"{home}/", "")
    except HeadwaterError as error:
        checks["graph"] = error.message
    checks["quarantine"] = await _quarantine(parts)
    checks["audit"] = parts.audit.state
    checks["bodies"] = parts.readers.state
    checks["intakes"] = parts.intakes.waiting
    if parts.settings.ingest_log is not None:
        checks["replicas"] = "; ".join(parts.worker.differences) or "ok"
    if parts.audit_copier is not None:
        checks["audit_copy"] = parts.audit_copier.state
    found = await asyncio.get_running_loop().run_in_executor(parts.watch.asking, parts.watch.faults)
    for part, faults in groupby(sorted(found, key=lambda fault: fault.part), key=lambda fault: fault.part):
        checks[part] = _damage_text(list(faults), home)
    unable = any(checks[part] != "ok" for part in ("log", "graph", "catalog", "key", "disk", "audit", "bodies"))
    ready = not unable and not checks["projector"].startswith("failed")
    content: dict[str, Any] = {"status": "ready" if ready else "unavailable", "checks": checks, "pending": pending}
    return JSONResponse(content, 200 if ready else 503)


async def _quarantine(parts: Service) -> str:
    try:
        number = await asyncio.to_thread(parts.workspace.log.buried, Stage.QUARANTINE)
    except HeadwaterError as error:
        return f"unknown: {type(error).__name__}"
    return f"set aside, since the worker ended each time at them: {number:,}" if number else "ok"


def _damage_text(faults: Sequence[Fault], home: Path) -> str:
    first = faults[0]
    name = first.path.relative_to(home) if first.path != home and first.path.is_relative_to(home) else first.path.name
    more = f"; and {len(faults) - 1:,} more files" if len(faults) > 1 else ""
    return f"{name}: {first.detail}{more}"


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(parts: Annotated[Service, Depends(service)]) -> Response:
    """Metrics for Prometheus, of all tenants together."""
    log, projector = parts.workspace.log, parts.workspace.projector
    parts.metrics.dead_letters.set(await asyncio.to_thread(log.buried))
    # Without the store the number is unknown. The metric then keeps its last value, and /readyz reports the state.
    with suppress(HeadwaterError):
        parts.metrics.pending.set(await pending_of_all(projector, {*await asyncio.to_thread(log.tenants), DEFAULT_TENANT}))
    return Response(parts.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)


async def pending_of_all(projector: Projector, tenants: Collection[str]) -> int:
    """Return the number of waiting entries of some tenants. Tenants with lost log entries are left out, to show the others.

    Raises:
        UnavailableError: a store does not answer.
    """
    waiting = 0
    for tenant in tenants:
        with suppress(DamagedError):
            waiting += await projector.pending(tenant)
    return waiting
