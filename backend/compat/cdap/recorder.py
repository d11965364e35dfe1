"""`POST /v3/namespaces/{namespace}/apps/{application}/{type}/{program}/runs/{run}/lineage/operations`: records operations.

Programs in CDAP record their operations on fields within CDAP. CDAP has no HTTP endpoint for this. Headwater's endpoint has the path of a
run in CDAP, and accepts operations in the form of the answers of `…/fields/{field}/operations`. They are declarations of
the caller, and every answer marks them as such.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import JSONResponse, Response

from headwater.backend.api.audit import RequestAuditor, auditor
from headwater.backend.api.bodies import read_body
from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.compat.marquez.names import Namespace, RunId, decoded
from headwater.backend.ingest.intake.recorded_operations import Recording
from headwater.backend.ingest.intake.recordings import ProgramRun, read_packed_recording
from headwater.backend.ingest.intake.scan import DECLARATION
from headwater.errors import InvalidInputError, InvalidQueryError
from headwater.graph.model import NodeKind, node_id, run_uuid
from headwater.graphql.audit import audited

_INLINE = 1024  # larger recordings are parsed elsewhere, because every field may depend on every other
router = APIRouter(prefix="/v3/namespaces/{namespace}/apps", tags=["cdap"])


class ProgramType(StrEnum):
    SPARK = "spark"
    MAPREDUCE = "mapreduce"
    WORKFLOWS = "workflows"
    WORKERS = "workers"
    SERVICES = "services"


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Replace the references in a JSON Schema by their targets, because references would be wrong in another document."""
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
    """Record the operations on fields of one run: `{operations, time}`.

    The answer comes after they are on the disk.
    """
    _require_uuid(run)
    program_run = ProgramRun(namespace, application, program, kind.value, run)
    subjects, read = await read_body(request, parts, who, read_packed_recording, program_run, limit=DECLARATION.size, inline=_INLINE)
    async with audited(log, "declare", node_id(NodeKind.JOB, namespace, program), *subjects, changes=True):
        report = await parts.workspace.events.keep(who.tenant, read).durable()
        if report.rejected:
            first = report.rejected[0]
            raise InvalidInputError(first.message, field=first.field, hint=first.hint)
    return JSONResponse({"run": run, "duplicate": bool(report.duplicates)}, 201)


def _require_uuid(run: str) -> None:
    if run_uuid(run) is None:
        raise InvalidQueryError(f"{run[:100]!r} is no UUID.", field="run", hint="Runs have UUIDs, as events state them.")
