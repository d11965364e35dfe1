"""A view as PROV: its visible part, at its levels, and only the size of its hidden part.

Auditors use it to get the lineage of a report without the names in between. The document states the request, and the omitted parts of the
view. An export must never look more complete than the view is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.graph.model import Node, NodeKind
from headwater.graph.prov.describe import node_or_bare
from headwater.graph.prov.export import Export
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.subgraph import describe_links, describe_within
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.views import Mask, MaskBy, View, ViewRequest, view
from headwater.graph.views.request import MAX_REACHED

_EDGES = 1_000_000
_PORTION = 1_000  # nodes: neither all that is known of them nor what is said of them is in memory at once
_NAMING = frozenset({MaskBy.NAME, MaskBy.NAMESPACE, MaskBy.NODE})
# No id states the containers of these nodes. All others are exported as the view shows them.
_HELD = frozenset({NodeKind.RUN, NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR, NodeKind.PARTITION})


async def export_shown(graph: GraphStore, tenant: str, request: ViewRequest) -> Export:
    """Export all pages of a requested view.

    Raises:
        NotFoundError: a node of the focus is not known.
        InvalidQueryError: a level does not exist.
    """
    whole = replace(request, first=MAX_REACHED, edges=_EDGES, after=None)
    made = await view(graph, tenant, whole)
    export = Export(_target(request), about=list(_asked(request)))
    known: dict[str, Node] = {}
    ids = sorted(made.node_ids())
    for start in range(0, len(ids), _PORTION):
        portion = ids[start : start + _PORTION]
        found = {node.id: node for node in await graph.get(tenant, portion)}
        nodes = [node_or_bare(identifier, found) for identifier in portion]
        containers = await made.containers(node.id for node in nodes if node.kind in _HELD)
        await asyncio.to_thread(_describe, export.statements, nodes, containers)
        known.update((node.id, _slim(node)) for node in nodes)
    page = made
    await asyncio.to_thread(_describe_page, export.statements, known, page)
    while page.cursor is not None:
        page = await view(graph, tenant, replace(whole, after=page.cursor))
        await asyncio.to_thread(_describe_page, export.statements, known, page)
    return await asyncio.to_thread(export.closed, _found(made))


def _describe(statements: Statements, nodes: Iterable[Node], containers: Mapping[str, Sequence[Node]]) -> None:
    for node in nodes:
        describe_within(statements, node, containers.get(node.id, ()))


def _describe_page(statements: Statements, known: Mapping[str, Node], page: View) -> None:
    describe_links(statements, known, page.edges())


def _slim(node: Node) -> Node:
    """Return the part of a node that its links need; the rest has been stated."""
    return replace(node, properties={"endedAt": node.properties["endedAt"]} if "endedAt" in node.properties else {})


def _target(request: ViewRequest) -> str:
    return request.focus[0] if len(request.focus) == 1 else f"{len(request.focus)} nodes"


def _asked(request: ViewRequest) -> Iterator[tuple[str, Any]]:
    """Return the request as attributes of the bundle."""
    yield from (("focus", identifier) for identifier in request.focus)
    yield from (("direction", request.direction.value), ("depth", request.depth))
    yield from (("data", request.data.value), ("actors", request.actors.value))
    yield from (("open", f"{identifier}={level}") for identifier, level in sorted(request.open.items()))
    yield from (("mask", _mask_text(mask)) for mask in request.masks)
    yield from (("endsOnly", request.ends_only or None), ("asOf", request.as_of), ("since", request.since), ("until", request.until))
    if request.between:
        yield from (("between", identifier) for side in request.between for identifier in side)


def _mask_text(mask: Mask) -> str:
    """Describe a mask of the request without names, because the document must not reveal the names of hidden nodes."""
    if mask.by in _NAMING and not mask.negated:
        return f"{mask.by}: {len(mask.values)}"
    return f"{mask.by}{'!' if mask.negated else ''}={'|'.join(mask.values)}"


def _found(made: View) -> list[tuple[str, Any]]:
    """Return the view's statements about itself: counts of the whole, overstatements and gaps."""
    totals = made.totals
    counts = [("reached", totals.reached), ("masked", totals.masked), ("beyond", totals.beyond or None)]
    return [*counts, *(("incomplete", note) for note in made.notes)]
