"""The capture intake: segments by `PUT`, then the manifest by `POST`. Data is flushed to disk before each answer."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from starlette.responses import JSONResponse, Response

from headwater.backend.api.bodies import SMALL, read_body
from headwater.backend.api.context import Service, principal, service, tenant
from headwater.backend.api.credentials import Principal
from headwater.backend.ingest.intake.captures import MissingSegmentsError, read_packed_manifest
from headwater.backend.ingest.intake.receive import Refused
from headwater.backend.ingest.log.loop_futures import on_loop
from headwater.errors import InvalidCaptureError
from headwater.graph.records.store import INCOMING

router = APIRouter(prefix="/api/v1/captures", tags=["intake"])

_MANIFEST = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}
_SEGMENT = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}


@router.put(
    "/{capture}/segments/{name}",
    status_code=204,
    openapi_extra=_SEGMENT,
    responses={
        204: {"description": "The segment is durable."},
        400: {"description": "The name is none, or the bytes do not have the stated hash."},
        503: {"description": "There is no room for it now; send it again later."},
    },
)
async def put_segment(
    capture: str,
    name: str,
    request: Request,
    owner: Annotated[str, Depends(tenant)],
    parts: Annotated[Service, Depends(service)],
    stated: Annotated[str, Header(alias="X-Headwater-Sha256", description="SHA-256 of the segment's bytes, in hexadecimal.")],
) -> Response:
    """Store one segment of a capture until its manifest arrives."""
    folder = parts.workspace.home.associations
    quota = parts.workspace.staging_quota
    await asyncio.to_thread(quota.look)
    with NamedTemporaryFile(dir=folder, prefix=INCOMING) as file, quota.upload() as upload:
        digest, length = sha256(), 0
        async for chunk in request.stream():
            upload.take(len(chunk))
            digest.update(chunk)
            length += len(chunk)
            await asyncio.to_thread(file.write, chunk)
        file.flush()
        if digest.hexdigest() != stated.lower():
            raise InvalidCaptureError(
                f"{name}: the bytes have the hash {digest.hexdigest()}, stated was {stated}.",
                field="X-Headwater-Sha256",
                hint="Send the segment again.",
            )
        await asyncio.to_thread(parts.workspace.captures.stage, owner, capture, name, Path(file.name))
        upload.is_staged = True
    parts.metrics.segments.inc()
    parts.metrics.segment_bytes.inc(length)
    return Response(status_code=204)


@router.post(
    "",
    status_code=201,
    openapi_extra=_MANIFEST,
    responses={
        201: {"description": "The manifest is durable: `{offset, duplicate}`."},
        400: {"description": "It is no manifest; `field` names what is wrong. It is kept as a dead letter."},
        409: {"description": "Segments have not arrived; `missing` lists them."},
    },
)
async def post_manifest(
    request: Request, who: Annotated[Principal, Depends(principal)], parts: Annotated[Service, Depends(service)]
) -> Response:
    """Accept the manifest of a capture. Its segments must have been sent before."""
    captures = parts.workspace.captures
    read = await read_body(request, parts, who, read_packed_manifest, inline=SMALL)
    if isinstance(read, Refused):
        await on_loop(captures.bury(who.tenant, read.letter))
        parts.metrics.captures.labels("rejected").inc()
        raise read.error
    draft, manifest = read
    try:
        await asyncio.to_thread(captures.require_segments, who.tenant, manifest)
    except MissingSegmentsError:
        parts.metrics.captures.labels("incomplete").inc()
        raise
    (receipt,) = await on_loop(captures.keep(who.tenant, draft))
    parts.metrics.captures.labels("duplicate" if receipt.duplicate else "accepted").inc()
    return JSONResponse({"offset": receipt.offset, "duplicate": receipt.duplicate}, 201)
