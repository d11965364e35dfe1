"""`/api/v1/tags`: all present and past tags.

A caller with the right to declare can add tags to datasets, fields and jobs, and remove them.

A change of a tag is a declaration like any other. It is durable before the answer, survives a rebuild, and does not
replace the statements of events.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from starlette.responses import Response

from headwater.backend.api.audit import RequestAuditor, auditor
from headwater.backend.api.authorization import tells_values
from headwater.backend.api.bodies import SMALL, read_body
from headwater.backend.api.context import Service, graph_of, principal, service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.permitted_declarations import PermittedDeclarations
from headwater.backend.compat.marquez.dataset_shape import bodies_of_datasets
from headwater.backend.compat.marquez.job_shape import bodies_of_jobs
from headwater.backend.compat.marquez.names import DatasetName, JobName, Namespace, decoded
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, Page, answer, not_found, page_of, subject_router
from headwater.backend.ingest.intake.declarations import DeclarationIntake, read_packed_object
from headwater.backend.ingest.intake.scan import DECLARATION
from headwater.errors import InvalidInputError, UnavailableError
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.model.descriptions import descriptions_of
from headwater.graphql.audit import audited

router = subject_router()

_PATIENCE = 10.0  # seconds to wait until the graph contains a declaration
_LOOK = 0.05

_DOCUMENT = {"requestBody": {"required": False, "content": {"application/json": {"schema": {"type": "object"}}}}}


async def _field(field: Annotated[str, Path(description="A field of a dataset.")]) -> str:
    return decoded(field)


async def _tag(tag: Annotated[str, Path(description="A tag.")]) -> str:
    return decoded(tag)


Field = Annotated[str, Depends(_field)]
Tag = Annotated[str, Depends(_tag)]


class _Declaring:
    """Declares tags for a caller. Each declaration is in the audit log before it takes effect."""

    def __init__(
        self,
        who: Annotated[Principal, Depends(principal)],
        parts: Annotated[Service, Depends(service)],
        log: Annotated[RequestAuditor, Depends(auditor)],
    ) -> None:
        self._who, self._parts, self._log = who, parts, log
        self.ask = MarquezRequest(graph_of(parts, who, Scope.DECLARE), who.tenant, tells_values(parts, who))

    async def declare(self, node: str, aspect: str, value: str, *, removed: bool = False) -> None:
        """Declare one description of a node, and wait until the graph contains it.

        Raises:
            UnavailableError: the description is durable, but not yet in the graph.
        """
        workspace, tenant = self._parts.workspace, self._who.tenant
        document = {"descriptions": [{"id": node, "aspect": aspect, "value": value, "removed": removed}]}
        async with audited(self._log, "declare", node, changes=True):
            offset = await PermittedDeclarations(DeclarationIntake(workspace.log, self.ask.graph), self._parts, self._who).declare(
                tenant, document
            )
        for _ in range(round(_PATIENCE / _LOOK)):
            if await workspace.graph.offset(tenant) >= offset:
                return
            await asyncio.sleep(_LOOK)
        raise UnavailableError("The tag is durable, and the graph is not so far yet.", hint="Ask for it later; sent again it does no harm.")

    async def stated(self, request: Request) -> dict[str, Any]:
        """Return the JSON object in the body, or an empty object without a body."""
        if not (await request.body()).strip():
            return {}
        return await read_body(request, self._parts, self._who, read_packed_object, limit=DECLARATION.size, inline=SMALL)

    async def tagged(self, dataset: str, bearer: str, tag: str, *, removed: bool = False) -> Response:
        """Add a tag to a dataset or one of its fields, or remove it. Returns the dataset after the change."""
        if not await self.ask.graph.get(self.ask.tenant, [dataset]):
            raise not_found("Dataset", parse_id(dataset)[1][1])
        if not await self.ask.graph.get(self.ask.tenant, [bearer]):
            raise not_found("Field", parse_id(bearer)[1][2])
        await self.declare(bearer, "tag", tag, removed=removed)
        return await answer((await bodies_of_datasets(self.ask, await self.ask.graph.get(self.ask.tenant, [dataset])))[0])

    async def tagged_job(self, namespace: str, job: str, tag: str, *, removed: bool = False) -> Response:
        """Add a tag to a job, or remove it. Returns the job after the change."""
        bearer = node_id(NodeKind.JOB, namespace, job)
        if not await self.ask.graph.get(self.ask.tenant, [bearer]):
            raise not_found("Job", job)
        await self.declare(bearer, "tag", tag, removed=removed)
        return await answer((await bodies_of_jobs(self.ask, await self.ask.graph.get(self.ask.tenant, [bearer]), runs=True))[0])


Declare = Annotated[_Declaring, Depends(_Declaring)]


@router.get("/tags")
async def get_tags(ask: Ask, place: Page) -> dict[str, Any]:
    """All tags, in order of their encoded names: `{"tags": […]}`."""
    listing = await ask.graph.listed(ask.tenant, f"{NodeKind.TAG}:", first=place.limit, skip=place.offset)
    tags = [{"name": parse_id(tag.id)[1][0], "description": descriptions_of(tag).description} for tag in listing.nodes]
    return page_of("tags", tags, listing)


@router.put("/tags/{tag}", openapi_extra=_DOCUMENT)
async def put_tag(request: Request, tag: Tag, declare: Declare) -> dict[str, Any]:
    """Make a tag, or describe one: `{"description"}`. Return the tag after the change."""
    description = (await declare.stated(request)).get("description")
    if description is not None and not isinstance(description, str):
        raise InvalidInputError("The description is no text.", field="$.description", hint='Send {"description": "…"}.')
    node = node_id(NodeKind.TAG, tag)
    known = await declare.ask.graph.get(declare.ask.tenant, [node])
    if description or not known:
        # A tag without a description is created by removing a description that never existed.
        await declare.declare(node, "description", description or "-", removed=not description)
        known = await declare.ask.graph.get(declare.ask.tenant, [node])
    return {"name": tag, "description": descriptions_of(known[0]).description}


@router.post("/namespaces/{namespace}/datasets/{dataset}/tags/{tag}")
async def post_dataset_tag(namespace: Namespace, dataset: DatasetName, tag: Tag, declare: Declare) -> Response:
    """Give a dataset a tag."""
    bearer = node_id(NodeKind.DATASET, namespace, dataset)
    return await declare.tagged(bearer, bearer, tag)


@router.delete("/namespaces/{namespace}/datasets/{dataset}/tags/{tag}")
async def delete_dataset_tag(namespace: Namespace, dataset: DatasetName, tag: Tag, declare: Declare) -> Response:
    """Remove a tag from a dataset."""
    bearer = node_id(NodeKind.DATASET, namespace, dataset)
    return await declare.tagged(bearer, bearer, tag, removed=True)


@router.post("/namespaces/{namespace}/datasets/{dataset}/fields/{field}/tags/{tag}")
async def post_field_tag(namespace: Namespace, dataset: DatasetName, field: Field, tag: Tag, declare: Declare) -> Response:
    """Give a field of a dataset a tag."""
    bearer = node_id(NodeKind.COLUMN, namespace, dataset, field)
    return await declare.tagged(node_id(NodeKind.DATASET, namespace, dataset), bearer, tag)


@router.delete("/namespaces/{namespace}/datasets/{dataset}/fields/{field}/tags/{tag}")
async def delete_field_tag(namespace: Namespace, dataset: DatasetName, field: Field, tag: Tag, declare: Declare) -> Response:
    """Remove a tag from a field of a dataset."""
    bearer = node_id(NodeKind.COLUMN, namespace, dataset, field)
    return await declare.tagged(node_id(NodeKind.DATASET, namespace, dataset), bearer, tag, removed=True)


@router.post("/namespaces/{namespace}/jobs/{job}/tags/{tag}")
async def post_job_tag(namespace: Namespace, job: JobName, tag: Tag, declare: Declare) -> Response:
    """Give a job a tag."""
    return await declare.tagged_job(namespace, job, tag)


@router.delete("/namespaces/{namespace}/jobs/{job}/tags/{tag}")
async def delete_job_tag(namespace: Namespace, job: JobName, tag: Tag, declare: Declare) -> Response:
    """Remove a tag from a job."""
    return await declare.tagged_job(namespace, job, tag, removed=True)
