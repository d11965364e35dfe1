"""`GraphStore` on Neo4j. Each verb is a function of the modules in this folder, run in a managed transaction of `Connections`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import partial

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind
from headwater.graph.model.changes import Changes, collect
from headwater.graph.model.ids import id_ranges
from headwater.graph.search import Found, SearchRequest
from headwater.graph.stores.columns import by_columns, cone_columns, reach_columns
from headwater.graph.stores.indexable import Census, News, Properties, Rows
from headwater.graph.stores.neo4j import changes, cones, read, traverse, write
from headwater.graph.stores.neo4j.connections import Connections
from headwater.graph.stores.neo4j.find import find
from headwater.graph.stores.neo4j.lake_map import lake_map, member_flows
from headwater.graph.stores.neo4j.latest import latest_at
from headwater.graph.stores.neo4j.migrations import migrate
from headwater.graph.stores.protocol import Cone, Direction, IdRange, Listing, Moment, Page, Portion, Subgraph
from headwater.graph.stores.rollups import LakeMap, Lens, MemberFlows


class Neo4jStore:
    """The graph in one database of the server at `uri`. Without `database`, this is the user's home database."""

    def __init__(self, uri: str, *, user: str | None = None, password: str | None = None, database: str | None = None) -> None:
        self._connections = Connections(uri, user=user, password=password, database=database)
        self._elements = changes.Elements()

    async def open(self) -> list[int]:
        await self._connections.open()
        return await migrate(self._connections)

    async def close(self) -> None:
        await self._connections.close()

    async def apply(self, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
        await self.absorb(tenant, collect(batches), offset=offset)

    async def absorb(self, tenant: str, changes: Changes, *, offset: int | None = None) -> None:
        await self._connections.write_with(lambda transaction: write.write_changes(transaction, tenant, changes, offset))

    async def offset(self, tenant: str) -> int:
        return await self._connections.read_with(lambda transaction: read.offset(transaction, tenant))

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]:
        return await self._connections.read_with(lambda transaction: read.read_nodes(transaction, tenant, ids))

    async def search(
        self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None,
        ranges: Sequence[IdRange] | None = None,
    ) -> Page:  # fmt: skip
        return await self._connections.read_with(lambda transaction: read.search(transaction, tenant, text, kinds, first, after, ranges))

    async def find(
        self, tenant: str, request: SearchRequest, *, first: int = 20, after: str | None = None, permitted: Sequence[str] | None = None
    ) -> Found:
        return await self._connections.read_with(lambda transaction: find(transaction, tenant, request, first, after, permitted))

    async def lake_map(
        self, tenant: str, lens: Lens, *, first: int = 200, include: Sequence[str] = (), permitted: Sequence[str] | None = None
    ) -> LakeMap:
        return await self._connections.read_with(lambda transaction: lake_map(transaction, tenant, lens, first, include, permitted))

    async def member_flows(self, tenant: str, lens: Lens, members: Sequence[str], *, permitted: Sequence[str] | None = None) -> MemberFlows:
        return await self._connections.read_with(lambda transaction: member_flows(transaction, tenant, lens, members, permitted))

    async def neighbours(self, tenant: str, ids: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind]) -> list[Edge]:
        return await self._connections.read_with(lambda transaction: traverse.neighbours(transaction, tenant, ids, direction, kinds))

    async def reach(
        self, tenant: str, focus: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int
    ) -> Subgraph:
        if by_columns(focus, kinds):
            return await reach_columns(self, tenant, focus, direction=direction, depth=depth, limit=limit)
        return await self._connections.read_with(
            lambda transaction: traverse.reach(transaction, tenant, focus, direction, kinds, depth, limit)
        )

    async def cone(
        self,
        tenant: str,
        focus: Sequence[str],
        *,
        direction: Direction,
        kinds: Sequence[EdgeKind],
        depth: int,
        limit: int,
        contained: Sequence[NodeKind] = (),
        facts: bool = False,
        names: bool = False,
    ) -> Cone:
        if by_columns(focus, kinds):
            return await cone_columns(self, tenant, focus, direction=direction, depth=depth, limit=limit, facts=facts, names=names)
        return await self._connections.read_with(
            lambda transaction: cones.cone(transaction, tenant, focus, direction, kinds, depth, limit, contained, facts, names)
        )

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page:
        return await self._connections.read_with(lambda transaction: read.children(transaction, tenant, parent, kinds, first, after))

    async def listed(self, tenant: str, prefix: str, *, first: int = 100, skip: int = 0) -> Listing:
        return await self._connections.read_with(lambda transaction: read.listed(transaction, tenant, prefix, first, skip))

    async def listed_after(self, tenant: str, prefix: str, after: str | None, *, first: int) -> Sequence[Node]:
        return await self._connections.read_with(lambda transaction: read.listed_after(transaction, tenant, prefix, after, first))

    async def latest(
        self, tenant: str, parent: str, kind: NodeKind, *, until: str | None = None, first: int = 100, skip: int = 0
    ) -> Listing:
        return await self._connections.read_with(lambda transaction: read.latest(transaction, tenant, parent, kind, until, first, skip))

    async def latest_at(self, tenant: str, asked: Sequence[Moment], kind: NodeKind, *, first: int) -> Mapping[Moment, Sequence[Node]]:
        return await self._connections.read_with(lambda transaction: latest_at(transaction, tenant, asked, kind, first))

    async def shared(self, tenant: str, parent: str) -> list[str]:
        return await self._connections.read_with(lambda transaction: read.shared(transaction, tenant, parent))

    async def ancestors(self, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
        return await self._connections.read_with(lambda transaction: read.ancestors(transaction, tenant, ids))

    async def counts(self, tenant: str, *, ranges: Sequence[IdRange] | None = None) -> dict[str, int]:
        return await self._connections.read_with(lambda transaction: read.counts(transaction, tenant, ranges))

    async def fingerprint(self, tenant: str) -> str:
        return await self._connections.read_with(lambda transaction: read.fingerprint(transaction, tenant))

    async def dump(self, tenant: str, *, kinds: Collection[NodeKind] | None = None) -> AsyncIterator[Portion]:
        for after, until in id_ranges(kinds):
            last: str | None = after
            while last is not None:
                portion, last = await self._connections.read_with(partial(read.dump, tenant=tenant, after=last, until=until))
                yield portion

    async def census(self) -> Census:
        return await self._connections.read_with(changes.census)

    def scan(self) -> AsyncIterator[Rows]:
        return changes.scan(self._connections, self._elements)

    async def news(self, tenant: str, focus: Sequence[str], *, after: int) -> News:
        unchanged = await changes.no_news(self._connections, self._elements, tenant, focus, after)
        if unchanged is not None:
            return unchanged
        return await self._connections.read_with(lambda transaction: changes.news(transaction, self._elements, tenant, focus, after))

    async def properties(self, nodes: Sequence[int], edges: Sequence[tuple[int, int, EdgeKind]]) -> Properties:
        return await self._connections.read_with(lambda transaction: changes.properties(transaction, self._elements, nodes, edges))

    async def drop(self, tenant: str) -> None:
        await write.drop_tenant(self._connections, tenant)
