"""Sorts a node's containers, and lists the content of a container. Stores share this code, and only fetch the edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from headwater.graph.model import Node, NodeKind
from headwater.graph.stores.protocol import Page

_PAGE = 1_000

_LEVEL = {kind: level for level, kind in enumerate(NodeKind)}
_LEVEL |= {NodeKind.ACTOR: _LEVEL[NodeKind.PIPELINE], NodeKind.DATA: _LEVEL[NodeKind.PLATFORM]}


class _Holding(Protocol):
    """The verb of a store that `children` needs. A remote service has it too."""

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page: ...


async def children(graph: _Holding, tenant: str, parent: str, kinds: Sequence[NodeKind]) -> list[Node]:
    """Return all nodes of some kinds that a container contains directly, from all pages."""
    found: list[Node] = []
    cursor: str | None = None
    while True:
        page = await graph.children(tenant, parent, kinds=kinds, first=_PAGE, after=cursor)
        found += page.nodes
        cursor = page.cursor
        if cursor is None:
            return found


def climb(start: str, parents: Mapping[str, Iterable[str]], nodes: Mapping[str, Node]) -> list[Node]:
    """Return the containers of `start`, innermost first. `parents` maps a node to the nodes that contain it.

    The order is by level (containers that users declare share a level with pipelines and platforms), then by the longest way up (a pipeline
    within a pipeline), then by id. A containment cycle ends where it closes.
    """
    steps = {start: 0}
    frontier = [start]
    while frontier:
        frontier = list({parent for child in frontier for parent in parents.get(child, ())} - steps.keys())
        steps.update(dict.fromkeys(frontier, 1))
    for _ in range(len(steps)):  # in a cycle, no way up is the longest
        higher = {
            parent: steps[child] + 1
            for child in steps
            for parent in parents.get(child, ())
            if parent != start and steps[parent] <= steps[child]
        }
        if not higher:
            break
        steps.update(higher)
    del steps[start]
    return sorted((nodes[identifier] for identifier in steps), key=lambda node: (-_LEVEL[node.kind], steps[node.id], node.id))
