"""Small reads from the store that several modules of views share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headwater.graph.model import EdgeKind, Node
from headwater.graph.stores.protocol import Cone, Direction, GraphStore
from headwater.graph.views.request import ACTORS, ViewRequest
from headwater.graph.views.times import Flow

FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
HIDDEN = "Something that belongs here lies in namespaces that this key may not read."


def parents_of(cone: Cone) -> dict[str, tuple[str, ...]]:
    """Return the direct containers of each node of a cone. Nodes with the same container share one tuple."""
    ids = cone.ids
    containers, children = cone.contains[:, 0].tolist(), [ids[place] for place in cone.contains[:, 1].tolist()]
    alone: dict[int, tuple[str, ...]] = {place: (ids[place],) for place in set(containers)}
    parents: dict[str, tuple[str, ...]] = dict(zip(children, map(alone.__getitem__, containers), strict=True))
    if len(parents) < len(children):  # some nodes have several containers
        several: dict[str, tuple[str, ...]] = {}
        for container, child in zip(containers, children, strict=True):
            several[child] = (*several[child], ids[container]) if child in several else alone[container]
        return several
    return parents


def known_of(cone: Cone, ids: Collection[str]) -> dict[str, Node]:
    if cone.known is None or not ids:
        return {}
    wanted = frozenset(ids)
    places = [place for place, identifier in enumerate(cone.ids) if identifier in wanted]
    return {node.id: node for node in cone.known(places) if node is not None}


async def containers_of(graph: GraphStore, tenant: str, actors: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the containers of actors, and the containers of these, up to the outermost."""
    cone = await graph.cone(
        tenant, actors, direction=Direction.UPSTREAM, kinds=(), depth=0, limit=max(1, len(actors)), contained=list(ACTORS)
    )
    return parents_of(cone)


def flows_of(cone: Cone) -> list[Flow]:
    return [Flow(cone.ids[src], cone.ids[dst], *facts) for (src, dst), facts in zip(cone.edges, cone.facts, strict=True)]


def past_limit(cone: Cone, request: ViewRequest) -> int:
    """Return the number of nodes that the limit kept out of a cone. 0 if only the depth did."""
    return cone.beyond if cone.reached >= request.limit else 0
