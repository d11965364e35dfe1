"""`GET /api/v1/prov`: provenance in the notation that the caller accepts, as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response, StreamingResponse

from headwater.backend.api.context import Service, service, tenant
from headwater.backend.api.errors import NotAcceptableError
from headwater.backend.provenance import chunks_of, open_export
from headwater.graph.prov import NOTATIONS, Export, ProvFormat
from headwater.graph.trace import Semantics, TraceRequest

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
    owner: Annotated[str, Depends(tenant)],
    parts: Annotated[Service, Depends(service)],
    target: Annotated[str, Query(description="The id of a run, dataset or column; with `where`, a dataset as a trace names it.")],
    where: Annotated[str | None, Query(description="Export the trace of these records: DuckDB SQL over the columns.")] = None,
    column: Annotated[str | None, Query(description="The column to explain; narrows a witness.")] = None,
    semantics: Annotated[Semantics, Query(description="influence, or witness.")] = Semantics.INFLUENCE,
    forward: Annotated[bool, Query(description="Export what was made of the records.")] = False,
    to: Annotated[str | None, Query(description="Stop the trace at this dataset.")] = None,
    notation: Annotated[
        ProvFormat | None, Query(alias="format", description="The notation; else that which `Accept` prefers, else PROV-JSON.")
    ] = None,
    accept: Annotated[str, Header()] = "*/*",
) -> Response:
    """Provenance (W3C PROV) of a run, a dataset with all that is upstream of it, a column, or records."""
    chosen = notation or negotiated(accept)
    request = TraceRequest(dataset=target, where=where, column=column, semantics=semantics, forward=forward, to=to)
    stack = AsyncExitStack()
    # Opened before the answer begins, so that what is refused is refused with a status.
    export = await stack.enter_async_context(open_export(parts.workspace.graph, parts.workspace.records, owner, request))
    return StreamingResponse(_body(stack, export, chosen), media_type=NOTATIONS[chosen].media_type)


def negotiated(accept: str) -> ProvFormat:
    """The notation that an `Accept` header prefers (RFC 9110, 12.5.1).

    Raises:
        NotAcceptableError: it accepts none.
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


async def _body(stack: AsyncExitStack, export: Export, notation: ProvFormat) -> AsyncIterator[bytes]:
    async with stack:
        async for chunk in chunks_of(export, notation):
            yield chunk
