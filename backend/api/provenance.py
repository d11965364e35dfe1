"""`/api/v1/prov`: exports provenance as a stream in a notation that the caller accepts, and imports PROV documents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from headwater.backend.api.audit import RequestAuditor, auditor, logged
from headwater.backend.api.authorization import questions_of
from headwater.backend.api.bodies import read_body
from headwater.backend.api.context import Service, graph_of, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import NotAcceptableError
from headwater.backend.api.view_options import view_options
from headwater.backend.exports.provenance import Exported, chunks_of, open_export
from headwater.backend.ingest.intake.prov import read_packed_provenance
from headwater.backend.ingest.intake.receive import Refused
from headwater.backend.ingest.log.loop_futures import on_loop
from headwater.errors import InvalidQueryError
from headwater.graph.access.scopes import Scope
from headwater.graph.prov import NOTATIONS, Export, ProvFormat
from headwater.graph.trace import Semantics, TraceRequest
from headwater.graph.views import ViewOptions
from headwater.graphql.audit import Act, audited

router = APIRouter(prefix="/api/v1", tags=["provenance"])

_ALIKE = {"*/*": ProvFormat.JSON, "application/*": ProvFormat.JSON, "text/*": ProvFormat.N} | {
    notation.media_type: name for name, notation in NOTATIONS.items()
}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The document.", "content": {notation.media_type: {} for notation in NOTATIONS.values()}},
    404: {"description": "There is no such run, dataset or column."},
    406: {"description": "None of the media types accepted is a notation of PROV."},
}


@router.get("/prov", response_class=Response, responses=_RESPONSES)
async def get_prov(
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    log: Annotated[RequestAuditor, Depends(auditor)],
    options: Annotated[ViewOptions, Depends(view_options)],
    target: Annotated[
        list[str] | None,
        Query(description="The id of a run, dataset, column or any other node; with `where`, a dataset."),
    ] = None,
    where: Annotated[str | None, Query(description="Export the trace of these records: DuckDB SQL over the columns.")] = None,
    file: Annotated[str | None, Query(description="The file of one record, in the place of `where`.")] = None,
    row: Annotated[int | None, Query(ge=0, description="The number of the record in `file`, from 0.")] = None,
    column: Annotated[str | None, Query(description="The column to explain; narrows a witness.")] = None,
    semantics: Annotated[Semantics, Query(description="influence, or witness.")] = Semantics.INFLUENCE,
    forward: Annotated[bool, Query(description="Export what was made of the records.")] = False,
    to: Annotated[str | None, Query(description="Stop the trace at this dataset.")] = None,
    notation: Annotated[
        ProvFormat | None, Query(alias="format", description="The notation; else that which `Accept` prefers, else PROV-JSON.")
    ] = None,
    accept: Annotated[str, Header()] = "*/*",
) -> Response:
    """Provenance (W3C PROV) of a run, a dataset with everything upstream of it, a column, records, or a view.

    With a parameter of a view, the export is the view around `target`, which may then have several values.
    """
    chosen = notation or negotiated(accept)
    rows = selected_rows(where, file, row)
    has_records = where is not None or bool(rows)
    if options.given and not has_records:
        request: Exported = options.request(target or ())
    else:
        trace = TraceRequest(dataset=_one(target), where=where, rows=rows, column=column, semantics=semantics, forward=forward, to=to)
        if has_records:
            trace = replace(trace, as_of=options.as_of)
        request = _unmixed(trace, options)
        if has_records:
            ended = Act("export.prov.end", [trace.dataset])
            records = questions_of(parts, who).export(who.tenant, trace, chosen, counted=partial(setattr, ended, "records"))
            async with audited(log, "export.prov", trace.dataset):
                first = await anext(records)
            return StreamingResponse(logged(_after(first, records), log, ended), media_type=NOTATIONS[chosen].media_type)
    stack = AsyncExitStack()
    # The export is opened and audited before the answer begins, so that a refusal has a status code.
    async with audited(log, "export.prov", *(target or ())):
        seen = graph_of(parts, who, Scope.EXPORT)
        export = await stack.enter_async_context(open_export(seen, parts.workspace.records, who.tenant, request))
    ended = Act("export.prov.end", list(target or ()))
    return StreamingResponse(logged(_body(stack, export, chosen), log, ended), media_type=NOTATIONS[chosen].media_type)


def selected_rows(where: str | None, file: str | None, row: int | None) -> list[tuple[str, int]]:
    """Return the record that a request names by its file and row.

    Raises:
        InvalidQueryError: one of both is missing, or a predicate also selects records.
    """
    if file is None and row is None:
        return []
    if file is None or row is None:
        raise InvalidQueryError("A record is named by its file and its row.", field="file" if file is None else "row")
    if where is not None:
        raise InvalidQueryError("A predicate and a record are both asked for.", field="where", hint="Leave out the one or the other.")
    return [(file, row)]


def _one(targets: list[str] | None) -> str:
    if not targets or len(targets) > 1:
        raise InvalidQueryError(
            f"target names {len(targets or ())} things.", field="target", hint="Give one id; several, or none with `between`, for a view."
        )
    return targets[0]


def _unmixed(trace: TraceRequest, options: ViewOptions) -> TraceRequest:
    if replace(options, as_of=None).given:
        raise InvalidQueryError("A record trace and a view are both asked for.", field="where", hint="Leave out the one or the other.")
    return trace


def negotiated(accept: str) -> ProvFormat:
    """Return the preferred notation of an `Accept` header (RFC 9110, 12.5.1).

    Raises:
        NotAcceptableError: the header accepts no known notation.
    """
    ranges: list[tuple[float, int, str]] = []
    for place, entry in enumerate(accept.split(",")):
        media, *parameters = [part.strip().lower() for part in entry.split(";")]
        weight = next((part.removeprefix("q=") for part in parameters if part.startswith("q=")), "1")
        try:
            ranges.append((-float(weight), place, media))
        except ValueError:
            continue
    for rank, _, media in sorted(ranges):
        if rank < 0 and media in _ALIKE:
            return _ALIKE[media]
    raise NotAcceptableError(
        f"No notation of PROV is {accept}.", field="Accept", hint=f"There are {', '.join(n.media_type for n in NOTATIONS.values())}."
    )


_TAKEN: dict[int | str, dict[str, Any]] = {
    201: {"description": "The document is durable: `{nodes, edges, left_out, duplicate}`. Sent again it changes nothing."},
    422: {"description": "It is malformed or breaks a constraint: `line` and `clause` say where and which. It is a dead letter now."},
    413: {"description": "The body is too large, packed or unpacked."},
}


@router.post("/prov", status_code=201, responses=_TAKEN)
async def post_prov(
    request: Request,
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    notation: Annotated[ProvFormat | None, Query(alias="format", description="The notation; else that of Content-Type.")] = None,
) -> Response:
    """Import a PROV document as lineage. The document is flushed to disk before the answer."""
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    chosen = notation or next((name for name, known in NOTATIONS.items() if known.media_type == stated), None)
    if notation is None and chosen is ProvFormat.JSON:
        chosen = None  # application/json may also be JSON-LD, which the document shows
    read = await read_body(request, parts, who, read_packed_provenance, chosen)
    intake = parts.workspace.prov
    if isinstance(read, Refused):
        await on_loop(intake.bury(who.tenant, read.letter))
        raise read.error
    draft, report = read
    (receipt,) = await on_loop(intake.keep(who.tenant, draft))
    return JSONResponse(asdict(replace(report, duplicate=receipt.duplicate)), 201)


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def _body(stack: AsyncExitStack, export: Export, notation: ProvFormat) -> AsyncIterator[bytes]:
    async with stack:
        async for chunk in chunks_of(export, notation):
            yield chunk
