"""`/api/v1/namespaces` and `/api/v1/sources`.

Marquez has one kind of namespace, for jobs and datasets. In Headwater a namespace of jobs is a `system`, and one of
datasets a `platform`. A name of both kinds is listed once. A source is a namespace of datasets.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path

from headwater.backend.compat.marquez.names import Namespace, decoded
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, Page, not_found, page_of, subject_router
from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.stores.protocol import Listing

router = subject_router()

_HOLDING = (NodeKind.PLATFORM, NodeKind.SYSTEM)


async def require_namespace(ask: MarquezRequest, namespace: str) -> list[Node]:
    """Return the nodes of a namespace.

    Raises:
        NotFoundError: the namespace is empty.
    """
    found = await ask.graph.get(ask.tenant, [node_id(kind, namespace) for kind in _HOLDING])
    if not found:
        raise not_found("Namespace", namespace)
    return found


@router.get("/namespaces")
async def get_namespaces(ask: Ask, place: Page) -> dict[str, Any]:
    """All namespaces, in order of their encoded names: `{"namespaces": […]}`."""
    listing = await _merged(ask, place)
    return {"namespaces": [_body([node]) for node in listing.nodes]}


@router.get("/namespaces/{namespace}")
async def get_namespace(namespace: Namespace, ask: Ask) -> dict[str, Any]:
    """One namespace."""
    return _body(await require_namespace(ask, namespace))


@router.get("/sources")
async def get_sources(ask: Ask, place: Page) -> dict[str, Any]:
    """All namespaces of datasets, as sources: `{"sources": […]}`."""
    listing = await ask.graph.listed(ask.tenant, f"{NodeKind.PLATFORM}:", first=place.limit, skip=place.offset)
    return page_of("sources", [_source(node) for node in listing.nodes], listing)


async def _source_name(source: Annotated[str, Path(description="A namespace of datasets.")]) -> str:
    return decoded(source)


@router.get("/sources/{source}")
async def get_source(source: Annotated[str, Depends(_source_name)], ask: Ask) -> dict[str, Any]:
    """One source."""
    found = await ask.graph.get(ask.tenant, [node_id(NodeKind.PLATFORM, source)])
    if not found:
        raise not_found("Source", source)
    return _source(found[0])


async def _merged(ask: MarquezRequest, place: Page) -> Listing:
    end = place.offset + place.limit
    listings = [await ask.graph.listed(ask.tenant, f"{kind}:", first=end) for kind in _HOLDING]
    names: dict[str, Node] = {}
    for listing in listings:
        for node in listing.nodes:
            names.setdefault(node.id.partition(":")[2], node)
    ordered = [names[name] for name in sorted(names)][place.offset : end]
    return Listing(ordered, sum(listing.total for listing in listings))


def _body(nodes: list[Node]) -> dict[str, Any]:
    """Convert a namespace to Marquez's form. The graph has no creation time of namespaces, and rarely an owner."""
    abouts = [descriptions_of(node) for node in nodes]
    return {
        "name": parse_id(nodes[0].id)[1][0],
        "createdAt": None,
        "updatedAt": None,
        "ownerName": next((owner for about in abouts for owner in about.owners), "anonymous"),
        "description": next((about.description for about in abouts if about.description), None),
        "isHidden": False,
    }


def _source(node: Node) -> dict[str, Any]:
    name = parse_id(node.id)[1][0]
    return {
        "type": name.partition(":")[0].upper(),
        "name": name,
        "createdAt": None,
        "updatedAt": None,
        "connectionUrl": name,
        "description": descriptions_of(node).description,
    }
