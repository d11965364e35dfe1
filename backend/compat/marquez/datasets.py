"""`/api/v1/namespaces/{namespace}/datasets…`: datasets and their versions."""

from __future__ import annotations

from starlette.responses import Response

from headwater.backend.compat.marquez.dataset_shape import bodies_of_datasets, bodies_of_versions
from headwater.backend.compat.marquez.names import DatasetName, Namespace, Version
from headwater.backend.compat.marquez.namespaces import require_namespace
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, Page, answer, not_found, page_of, subject_router
from headwater.graph.model import Node, NodeKind, node_id

router = subject_router()


@router.get("/namespaces/{namespace}/datasets")
async def get_datasets(namespace: Namespace, ask: Ask, place: Page) -> Response:
    """The datasets of a namespace, in order of their ids: `{"datasets": […], "totalCount"}`."""
    await require_namespace(ask, namespace)
    listing = await ask.graph.listed(ask.tenant, node_id(NodeKind.DATASET, namespace, ""), first=place.limit, skip=place.offset)
    return await answer(page_of("datasets", await bodies_of_datasets(ask, listing.nodes), listing))


@router.get("/namespaces/{namespace}/datasets/{dataset}")
async def get_dataset(namespace: Namespace, dataset: DatasetName, ask: Ask) -> Response:
    """One dataset."""
    return await answer((await bodies_of_datasets(ask, [await _dataset(ask, namespace, dataset)]))[0])


@router.get("/namespaces/{namespace}/datasets/{dataset}/versions")
async def get_versions(namespace: Namespace, dataset: DatasetName, ask: Ask, place: Page) -> Response:
    """The versions of a dataset, latest first: `{"versions": […], "totalCount"}`."""
    found = await _dataset(ask, namespace, dataset)
    listing = await ask.graph.latest(ask.tenant, found.id, NodeKind.VERSION, first=place.limit, skip=place.offset)
    return await answer(page_of("versions", await bodies_of_versions(ask, found, listing.nodes), listing))


@router.get("/namespaces/{namespace}/datasets/{dataset}/versions/{version}")
async def get_version(namespace: Namespace, dataset: DatasetName, version: Version, ask: Ask) -> Response:
    """One version of a dataset."""
    found = await _dataset(ask, namespace, dataset)
    versions = await ask.graph.get(ask.tenant, [node_id(NodeKind.VERSION, namespace, dataset, version)])
    if not versions:
        raise not_found("Dataset version", version)
    return await answer((await bodies_of_versions(ask, found, versions))[0])


async def _dataset(ask: MarquezRequest, namespace: str, dataset: str) -> Node:
    await require_namespace(ask, namespace)
    found = await ask.graph.get(ask.tenant, [node_id(NodeKind.DATASET, namespace, dataset)])
    if not found:
        raise not_found("Dataset", dataset)
    return found[0]
