"""The part of a `GraphStore` that an export needs: its reading functions, so that a remote service can provide them too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.stores.protocol import Direction, Page, Subgraph


class GraphReader(Protocol):
    """The reading functions of `GraphStore`."""

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]: ...

    async def search(
        self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None
    ) -> Page: ...

    async def reach(
        self, tenant: str, focus: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int
    ) -> Subgraph: ...

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page: ...

    async def ancestors(self, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]: ...
