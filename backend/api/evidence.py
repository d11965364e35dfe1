"""`/api/v1/evidence`: a signed bundle with the answer of a trace, and a proof that the log contains the runs behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from headwater.backend.api.audit import RequestAuditor, auditor
from headwater.backend.api.authorization import questions_of, tells_values
from headwater.backend.api.context import Service, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.api.provenance import selected_rows
from headwater.backend.evidence.bundle import Subject, make_bundle
from headwater.backend.evidence.keys import open_key
from headwater.backend.evidence.subject import subject_of
from headwater.backend.evidence.tree import Tree
from headwater.backend.evidence.verify import MOST_BYTES
from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.errors import InvalidInputError, NotFoundError, UnsupportedError
from headwater.graph.access.scopes import Scope
from headwater.graph.prov import ProvFormat
from headwater.graph.trace import Semantics, TraceRequest
from headwater.graphql.audit import audited

router = APIRouter(prefix="/api/v1", tags=["evidence"])

_MEDIA_TYPE = "application/zip"
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bundle. `headwater evidence verify` verifies it.", "content": {_MEDIA_TYPE: {}}},
    403: {"description": "The caller may not see all values of all columns, in all namespaces."},
    404: {"description": "No such record, or the log does not contain its runs any more."},
    422: {"description": "Evidence covers the log of one home and its default tenant only."},
}


@router.get("/evidence", response_class=Response, responses=_RESPONSES)
async def get_evidence(
    who: Annotated[Principal, Depends(principal)],
    parts: Annotated[Service, Depends(service)],
    log: Annotated[RequestAuditor, Depends(auditor)],
    target: Annotated[str, Query(description="The dataset of the records: an id, a name or a path.")],
    where: Annotated[str | None, Query(description="The records: DuckDB SQL over the columns.")] = None,
    file: Annotated[str | None, Query(description="The file of one record, in the place of `where`.")] = None,
    row: Annotated[int | None, Query(ge=0, description="The number of the record in `file`, from 0.")] = None,
    column: Annotated[str | None, Query(description="The column to explain; narrows a witness.")] = None,
    semantics: Annotated[Semantics, Query(description="influence, or witness.")] = Semantics.INFLUENCE,
    to: Annotated[str | None, Query(description="Stop the trace at this dataset.")] = None,
    as_of: Annotated[str | None, Query(description="The version of the dataset: an instant, a run or a snapshot.")] = None,
) -> Response:
    """A signed evidence bundle about records: the answer of their trace, its provenance, and the entries of the log behind it.

    The entries are in the bundle as they were sent, so the caller needs the scopes `read`, `export` and `records` for all data, without
    masks. A scope `unmasked` for some namespaces is not enough. The question names records by `where`, or by `file` and `row`.
    """
    request = TraceRequest(
        dataset=target, where=where, rows=selected_rows(where, file, row), column=column, semantics=semantics, to=to, as_of=as_of
    )
    async with audited(log, "export.evidence", target) as act:
        _require_all(parts, who)
        if not request.rows and not (where and where.strip()):
            raise InvalidInputError("The question names no records.", field="where", hint="Give `where`, or `file` and `row`.")
        questions = questions_of(parts, who)
        answer = await questions.trace(who.tenant, request)
        if not answer.selected:
            raise NotFoundError("The question selects no record.", hint="Check the predicate, or the file and row.")
        document = await _joined(questions.export(who.tenant, request, ProvFormat.JSON))
        bundle = await asyncio.to_thread(_make_bundle, parts, who.tenant, subject_of(request, answer, document))
        act.met(answer.selected, answer.records)
    return Response(bundle, media_type=_MEDIA_TYPE, headers={"Content-Disposition": 'attachment; filename="evidence.zip"'})


def _require_all(parts: Service, who: Principal) -> None:
    for scope in (Scope.READ, Scope.EXPORT, Scope.RECORDS, Scope.UNMASKED):
        who.require_whole(scope)
    who.require(Scope.EXPORT)
    who.require(Scope.RECORDS)
    if not tells_values(parts, who):
        raise ForbiddenError("A bundle contains values that are masked for you.", hint="Ask for a key with the scope unmasked.")
    if parts.settings.ingest_log is not None or who.tenant != DEFAULT_TENANT:
        raise UnsupportedError("Evidence covers the log of one home and its default tenant only.")


async def _joined(chunks: AsyncIterator[bytes]) -> bytes:
    document = bytearray()
    async for chunk in chunks:
        document += chunk
        if len(document) > MOST_BYTES:
            raise InvalidInputError(f"The bundle would have more than {MOST_BYTES:,} bytes.", hint="Ask about fewer records.")
    return bytes(document)


def _make_bundle(parts: Service, tenant: str, subject: Subject) -> bytes:
    folder = parts.settings.folder
    with closing(Tree(folder.evidence, tenant)) as tree:
        return make_bundle(tree, parts.workspace.log, tenant, open_key(folder.evidence_key, tree), subject)
