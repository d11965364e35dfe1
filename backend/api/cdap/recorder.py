"""`POST /v3/namespaces/{namespace}/apps/{application}/{type}/{program}/runs/{run}/lineage/operations`: the recorder of operations.

CDAP's programs record operations on fields within CDAP; over HTTP it has no recorder. This one has the path of a run there, and takes
operations in the form in which `…/fields/{field}/operations` answers them. They are what the caller declares, and are marked so wherever
they are shown.
"""

from __future__ import annotations

import asyncio
import json
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import JSONResponse, Response

from headwater.backend.api.audit import RequestAuditor, auditor
from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.marquez.names import Namespace, RunId, decoded
from headwater.backend.intake.bodies import apart, unpack_apart
from headwater.backend.intake.documents import read_document
from headwater.backend.intake.recorded_operations import Recording, event_of, read_recording
from headwater.backend.intake.scan import DECLARATION
from headwater.errors import InvalidInputError, InvalidQueryError
from headwater.graph.model import NodeKind, node_id, run_uuid
from headwater.graphql.audit import audited

router = APIRouter(prefix="/v3/namespaces/{namespace}/apps", tags=["cdap"])


class ProgramType(StrEnum):
    """The types of programs, as CDAP's paths have them."""

    SPARK = "spark"
    MAPREDUCE = "mapreduce"
    WORKFLOWS = "workflows"
    WORKERS = "workers"
    SERVICES = "services"


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """A JSON Schema without references: within a specification they would lead elsewhere."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        return {name: _inlined(part, definitions) for name, part in schema.items() if name != "$defs"}
    return [_inlined(part, definitions) for part in schema] if isinstance(schema, list) else schema


_SCHEMA = Recording.model_json_schema()
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": _inlined(_SCHEMA, _SCHEMA["$defs"])}}}}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    201: {"description": "The operations are durable: `{run, duplicate}`. Sent again they change nothing."},
    400: {"description": "They break a rule; `field` is the path of what is wrong. Nothing of them was taken."},
}


async def _application(application: Annotated[str, Path(description="An application: the pipeline that contains the program.")]) -> str:
    return decoded(application)


async def _program(program: Annotated[str, Path(description="A program: a job.")]) -> str:
    return decoded(program)


@router.post("/{application}/{type}/{program}/runs/{run}/lineage/operations", status_code=201, openapi_extra=_BODY, responses=_RESPONSES)
async def post_operations(
    request: Request,
    namespace: Namespace,
    application: Annotated[str, Depends(_application)],
    kind: Annotated[ProgramType, Path(alias="type", description="The type of the program.")],
    program: Annotated[str, Depends(_program)],
    run: RunId,
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    log: Annotated[RequestAuditor, Depends(auditor)],
) -> Response:
    """Record the operations on fields of one run: `{operations, time}`. The answer comes after they are on the disk."""
    _require_uuid(run)
    limit = min(parts.settings.max_body_bytes, DECLARATION.size)
    body = await unpack_apart(await request.body(), encoding=request.headers.get("content-encoding"), limit=limit, share=request.state.body)
    subjects, event = await apart(_event, body, namespace, application, program, run, kind)
    async with audited(log, "declare", node_id(NodeKind.JOB, namespace, program), *subjects, changes=True):
        report = await (await asyncio.to_thread(parts.workspace.events.submit, who.tenant, event)).durable()
        if report.rejected:
            first = report.rejected[0]
            raise InvalidInputError(first.message, field=first.field, hint=first.hint)
    return JSONResponse({"run": run, "duplicate": bool(report.duplicates)}, 201)


def _require_uuid(run: str) -> None:
    if run_uuid(run) is None:
        raise InvalidQueryError(f"{run[:100]!r} is no UUID.", field="run", hint="Runs have UUIDs, as events state them.")


def _event(body: bytes, namespace: str, application: str, program: str, run: str, kind: str) -> tuple[list[str], bytes]:
    """The datasets that operations speak of, and the event that states them."""
    recording = read_recording(read_document(body, DECLARATION))
    event = event_of(recording, namespace=namespace, application=application, program=program, kind=kind, run=run)
    datasets = [node_id(NodeKind.DATASET, item["namespace"], item["name"]) for item in (*event["inputs"], *event["outputs"])]
    return datasets, json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
