"""An indexed store of tests, and what is compared of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.graph.index import IndexedStore, open_indexed
from headwater.graph.stores import Cone, Direction, GraphStore, Subgraph
from tests.graph.stores.samples import FLOWS

ROOM = 1 << 26


def indexed(url: str, room: int = ROOM) -> IndexedStore:
    opened = open_indexed(url, index_bytes=room)
    assert isinstance(opened, IndexedStore)
    return opened


def seen(reached: Subgraph) -> tuple[Any, ...]:
    edges = sorted((edge.src, edge.dst, edge.kind, tuple(edge.properties.items()), edge.first, edge.last) for edge in reached.edges)
    return list(reached.nodes), edges, reached.distance, reached.truncated, reached.counted


def shown(cone: Cone) -> tuple[Any, ...]:
    """Without the numbers, which follow from the order in which a level was read."""
    facts = cone.facts or [None] * len(cone.edges)
    return (
        sorted(cone.ids[: cone.reached]),
        sorted((cone.ids[src], cone.ids[dst], about) for (src, dst), about in zip(cone.edges, facts, strict=True)),
        sorted((cone.ids[container], cone.ids[child]) for container, child in cone.contains),
        {cone.ids[number]: hops for number, hops in cone.upstream.items()},
        {cone.ids[number]: hops for number, hops in cone.downstream.items()},
        dict(zip(cone.ids, cone.names, strict=True)) if cone.names else {},
        cone.beyond,
    )


async def upstream(store: GraphStore, tenant: str, focus: str) -> Subgraph:
    return await store.reach(tenant, [focus], direction=Direction.UPSTREAM, kinds=FLOWS, depth=9, limit=99)


def forbid_walks(store: IndexedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("the store was asked to walk")

    monkeypatch.setattr(store._source, "reach", refused)
    monkeypatch.setattr(store._source, "cone", refused)
