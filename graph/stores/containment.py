"""Containers of a node, put in order: what every store does alike after it has fetched the steps upward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.graph.model import Node, NodeKind

_LEVEL = {kind: level for level, kind in enumerate(NodeKind)}


def climb(start: str, parents: Mapping[str, Iterable[str]], nodes: Mapping[str, Node]) -> list[Node]:
    """The containers of `start`, innermost first; `parents` maps a node to those that contain it.

    By level, then by distance (a pipeline within a pipeline), then by id. A containment cycle ends where it closes.
    """
    distance = {start: 0}
    frontier = [start]
    while frontier:
        reached = {parent for child in frontier for parent in parents.get(child, ())} - distance.keys()
        distance.update(dict.fromkeys(reached, distance[frontier[0]] + 1))
        frontier = list(reached)
    return sorted(
        (nodes[identifier] for identifier in distance if identifier != start),
        key=lambda node: (-_LEVEL[node.kind], distance[node.id], node.id),
    )
