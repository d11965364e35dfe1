"""Loads nodes in batches within a request, so that a list of n nodes costs one query for each level and not n."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from strawberry.dataloader import DataLoader

from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.standard_facts import Size, sizes_of_datasets
from headwater.graph.stores.protocol import GraphStore, Page
from headwater.graph.stores.write_times import with_ends
from headwater.graph.views import FLOWS, find_failed_writes, find_former_flows
from headwater.graphql.limits import Budget


class ChildrenKey(NamedTuple):
    """One page of one parent's children."""

    parent: str
    kinds: tuple[NodeKind, ...]
    first: int
    after: str | None


class Loaders:
    """The loaders of one request of one tenant. Everything loaded is counted in the request's budget."""

    def __init__(self, graph: GraphStore, tenant: str) -> None:
        self._graph = graph
        self._tenant = tenant
        self.budget = Budget()
        self.node: DataLoader[str, Node | None] = DataLoader(load_fn=self._nodes)
        self.containers: DataLoader[str, list[Node]] = DataLoader(load_fn=self._containers)
        self.unwritten: DataLoader[str, bool] = DataLoader(load_fn=self._unwritten)
        self.size: DataLoader[str, Size | None] = DataLoader(load_fn=self._sizes)
        self.former: DataLoader[tuple[str, str, EdgeKind], bool] = DataLoader(load_fn=self._are_former)
        self.children: DataLoader[ChildrenKey, Page] = DataLoader(load_fn=self._children)

    async def _nodes(self, ids: list[str]) -> Sequence[Node | None]:
        found = {node.id: node for node in await with_ends(self._graph, self._tenant, await self._graph.get(self._tenant, ids))}
        self.budget.spend(len(found))
        return [found.get(identifier) for identifier in ids]

    async def _containers(self, ids: list[str]) -> Sequence[list[Node]]:
        ancestors = await self._graph.ancestors(self._tenant, ids)
        self.budget.spend(sum(map(len, ancestors.values())))
        return [list(ancestors.get(identifier, ())) for identifier in ids]

    async def _unwritten(self, ids: list[str]) -> Sequence[bool]:
        found = await find_failed_writes(self._graph, self._tenant, ids)
        return [identifier in found for identifier in ids]

    async def _sizes(self, datasets: list[str]) -> Sequence[Size | None]:
        found = await sizes_of_datasets(self._graph, self._tenant, datasets)
        return [found.get(dataset) for dataset in datasets]

    async def _are_former(self, edges: list[tuple[str, str, EdgeKind]]) -> Sequence[bool]:
        found: set[tuple[str, str, EdgeKind]] = set()
        for kinds in (FLOWS, (EdgeKind.ACCESSES,)):
            ends = {end for src, dst, kind in edges if kind in kinds for end in (src, dst)}
            pairs = await find_former_flows(self._graph, self._tenant, ends, kinds=kinds)
            found.update((src, dst, kind) for src, dst in pairs for kind in kinds)
        return [edge in found for edge in edges]

    async def _children(self, keys: list[ChildrenKey]) -> Sequence[Page]:
        """Load pages of children together. The store returns the children of one parent at a time."""
        self.budget.spend(len(keys))

        async def page(key: ChildrenKey) -> Page:
            result = await self._graph.children(self._tenant, key.parent, kinds=key.kinds, first=key.first, after=key.after)
            self.budget.spend(len(result.nodes))
            return replace(result, nodes=await with_ends(self._graph, self._tenant, result.nodes))

        return await asyncio.gather(*(page(key) for key in keys))
