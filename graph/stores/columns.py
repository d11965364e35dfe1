"""Walks from column to column, for every store: `reach` and `cone` over edges `derives` from columns.

A walk goes level by level. Each level is a step of `derivations`, so that an edge stored once for a whole dataset appears at each of its
columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from headwater.graph.model import Edge, EdgeKind, NodeKind
from headwater.graph.stores.derivations import Reader, both, derivations
from headwater.graph.stores.protocol import COUNTED, Cone, Direction, Subgraph


def by_columns(focus: Iterable[str], kinds: Sequence[EdgeKind]) -> bool:
    """Return whether a walk goes from column to column."""
    return set(kinds) == {EdgeKind.DERIVES} and any(identifier.startswith(f"{NodeKind.COLUMN}:") for identifier in focus)


async def reach_columns(store: Reader, tenant: str, focus: Sequence[str], *, direction: Direction, depth: int, limit: int) -> Subgraph:
    walk = await _walked(store, tenant, focus, direction, depth, limit)
    nodes = {node.id: node for node in await store.get(tenant, walk.order)}
    return Subgraph([nodes[identifier] for identifier in walk.order], walk.edges(), walk.kept(), walk.truncated, walk.counted)


async def cone_columns(
    store: Reader, tenant: str, focus: Sequence[str], *, direction: Direction, depth: int, limit: int, facts: bool, names: bool
) -> Cone:
    """Return the cone of columns, as `GraphStore.cone` does. The id of a column already names its containers."""
    walk = await _walked(store, tenant, focus, direction, depth, limit)
    numbers = {identifier: number for number, identifier in enumerate(walk.order)}
    edges = walk.edges()
    hops = {
        way: {numbers[identifier]: away for identifier, away in distance.items() if identifier in numbers}
        for way, distance in walk.distance.items()
    }
    return Cone(
        ids=walk.order,
        reached=len(walk.order),
        pairs=np.array([(numbers[edge.src], numbers[edge.dst]) for edge in edges], dtype=np.int64).reshape(-1, 2),
        facts=[(edge.kind, edge.first, edge.last) for edge in edges] if facts else [],
        contains=np.empty((0, 2), dtype=np.int64),
        upstream=hops.get(Direction.UPSTREAM, {}),
        downstream=hops.get(Direction.DOWNSTREAM, {}),
        beyond=walk.truncated + len(walk.beyond),
        names=[node.name for node in await store.get(tenant, walk.order)] if names else (),
    )


class _Walk:
    """The result of a walk: distances in each direction, the edges, and the nodes within the limit."""

    def __init__(self) -> None:
        self.distance: dict[Direction, dict[str, int]] = {}
        self.met: dict[tuple[str, str], Edge] = {}
        self.expanded: dict[Direction, set[str]] = {}
        self.order: list[str] = []
        self.truncated = 0
        self.counted = True
        self.beyond: set[str] = set()

    def nearest(self) -> dict[str, int]:
        hops: dict[str, int] = {}
        for distance in self.distance.values():
            for identifier, away in distance.items():
                hops[identifier] = min(away, hops.get(identifier, away))
        return hops

    def kept(self) -> dict[str, int]:
        hops = self.nearest()
        return {identifier: hops[identifier] for identifier in self.order}

    def take(self, edges: Iterable[Edge]) -> None:
        """Add edges. Both directions may find the same edge."""
        for edge in edges:
            self.met[edge.src, edge.dst] = both(self.met.get((edge.src, edge.dst)), edge)

    def edges(self) -> list[Edge]:
        left = set(self.order)
        return [edge for edge in self.met.values() if edge.src in left and edge.dst in left]


async def _walked(store: Reader, tenant: str, focus: Sequence[str], direction: Direction, depth: int, limit: int) -> _Walk:
    walk = _Walk()
    start = [node.id for node in await store.get(tenant, list(dict.fromkeys(focus)))]
    for way in direction.ways():
        hops = walk.distance[way] = dict.fromkeys(start, 0)
        expanded: set[str] = set()
        walk.expanded[way] = expanded
        frontier, far = start, "src" if way is Direction.UPSTREAM else "dst"
        for away in range(1, depth + 1):
            if len(hops) > limit + COUNTED:
                walk.counted = False
                break
            edges = await derivations(store, tenant, frontier, direction=way)
            expanded.update(frontier)
            walk.take(edges)
            frontier = sorted({getattr(edge, far) for edge in edges} - hops.keys())
            if not frontier:
                break
            hops.update(dict.fromkeys(frontier, away))
    hops = walk.nearest()
    order = sorted(hops, key=lambda identifier: (hops[identifier], identifier))
    walk.order, walk.truncated = order[:limit], max(0, len(order) - limit)
    for number, (way, distance) in enumerate(walk.distance.items()):
        # The steps did not follow edges from the last level, nor edges from one cone to the other.
        last = [each for each in walk.order if each not in walk.expanded[way] and (each in distance or not number)]
        edges = await derivations(store, tenant, last, direction=way) if last else []
        walk.take(edges)
        near, far = ("dst", "src") if way is Direction.UPSTREAM else ("src", "dst")
        walk.beyond |= {getattr(edge, far) for edge in edges if getattr(edge, near) in distance} - hops.keys()
    return walk
