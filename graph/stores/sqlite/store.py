"""`GraphStore` on one SQLite file. Each verb is a function of the modules in this folder, run on a thread of `Connections`."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import partial

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind
from headwater.graph.model.changes import Changes, collect
from headwater.graph.model.ids import id_ranges
from headwater.graph.search import Found, SearchRequest
from headwater.graph.stores.columns import by_columns, cone_columns, reach_columns
from headwater.graph.stores.indexable import Census, News, Properties, Rows
from headwater.graph.stores.numbered_cones import cone as walked_cone
from headwater.graph.stores.protocol import Cone, Direction, IdRange, Listing, Moment, Page, Portion, Subgraph
from headwater.graph.stores.rollups import LakeMap, Lens, MemberFlows
from headwater.graph.stores.sqlite import changes, read, traverse, write
from headwater.graph.stores.sqlite.cones import FileGround
from headwater.graph.stores.sqlite.connections import Connections
from headwater.graph.stores.sqlite.find import find
from headwater.graph.stores.sqlite.lake_map import lake_map, member_flows
from headwater.graph.stores.sqlite.latest import latest_at
from headwater.graph.stores.sqlite.migrations import migrate
from headwater.graph.stores.sqlite.search import search
from headwater.graph.stores.sqlite.walk import keys_of


class SqliteStore:
    """The graph in the file at `path`. Several processes may have the same file open."""

    def __init__(self, path: str) -> None:
        self._connections = Connections(path)

    async def open(self) -> list[int]:
        return await self._connections.write(migrate)

    async def close(self) -> None:
        await self._connections.close()

    async def apply(self, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
        await self.absorb(tenant, collect(batches), offset=offset)

    async def absorb(self, tenant: str, changes: Changes, *, offset: int | None = None) -> None:
        await self._connections.write(lambda connection: write.write_changes(connection, tenant, changes, offset))

    async def offset(self, tenant: str) -> int:
        return await self._connections.read(lambda connection: read.offset(connection, tenant))

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]:
        return await self._connections.read(lambda connection: read.read_nodes(connection, tenant, ids))

    async def search(
        self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None,
        ranges: Sequence[IdRange] | None = None,
    ) -> Page:  # fmt: skip
        return await self._connections.read(lambda connection: search(connection, tenant, text, kinds, first, after, ranges))

    async def find(
        self, tenant: str, request: SearchRequest, *, first: int = 20, after: str | None = None, permitted: Sequence[str] | None = None
    ) -> Found:
        return await self._connections.read(lambda connection: find(connection, tenant, request, first, after, permitted))

    async def lake_map(
        self, tenant: str, lens: Lens, *, first: int = 200, include: Sequence[str] = (), permitted: Sequence[str] | None = None
    ) -> LakeMap:
        return await self._connections.read(lambda connection: lake_map(connection, tenant, lens, first, include, permitted))

    async def member_flows(self, tenant: str, lens: Lens, members: Sequence[str], *, permitted: Sequence[str] | None = None) -> MemberFlows:
        return await self._connections.read(lambda connection: member_flows(connection, tenant, lens, members, permitted))

    async def neighbours(self, tenant: str, ids: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind]) -> list[Edge]:
        return await self._connections.read(lambda connection: traverse.neighbours(connection, tenant, ids, direction, kinds))

    async def reach(
        self, tenant: str, focus: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int
    ) -> Subgraph:
        if by_columns(focus, kinds):
            return await reach_columns(self, tenant, focus, direction=direction, depth=depth, limit=limit)
        return await self._connections.read(lambda connection: traverse.reach(connection, tenant, focus, direction, kinds, depth, limit))

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

        def walk(connection: sqlite3.Connection) -> Cone:
            start = keys_of(connection, tenant, focus)
            return walked_cone(FileGround(connection), start, direction, kinds, depth, limit, contained, facts, names)

        return await self._connections.read(walk)

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page:
        return await self._connections.read(lambda connection: read.children(connection, tenant, parent, kinds, first, after))

    async def listed(self, tenant: str, prefix: str, *, first: int = 100, skip: int = 0) -> Listing:
        return await self._connections.read(lambda connection: read.listed(connection, tenant, prefix, first, skip))

    async def listed_after(self, tenant: str, prefix: str, after: str | None, *, first: int) -> Sequence[Node]:
        return await self._connections.read(lambda connection: read.listed_after(connection, tenant, prefix, after, first))

    async def latest(
        self, tenant: str, parent: str, kind: NodeKind, *, until: str | None = None, first: int = 100, skip: int = 0
    ) -> Listing:
        return await self._connections.read(lambda connection: read.latest(connection, tenant, parent, kind, until, first, skip))

    async def latest_at(self, tenant: str, asked: Sequence[Moment], kind: NodeKind, *, first: int) -> Mapping[Moment, Sequence[Node]]:
        return await self._connections.read(lambda connection: latest_at(connection, tenant, asked, kind, first))

    async def shared(self, tenant: str, parent: str) -> list[str]:
        return await self._connections.read(lambda connection: read.shared(connection, tenant, parent))

    async def ancestors(self, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
        return await self._connections.read(lambda connection: read.ancestors(connection, tenant, ids))

    async def counts(self, tenant: str, *, ranges: Sequence[IdRange] | None = None) -> dict[str, int]:
        return await self._connections.read(lambda connection: read.counts(connection, tenant, ranges))

    async def fingerprint(self, tenant: str) -> str:
        return await self._connections.read(lambda connection: read.fingerprint(connection, tenant))

    async def dump(self, tenant: str, *, kinds: Collection[NodeKind] | None = None) -> AsyncIterator[Portion]:
        for after, until in id_ranges(kinds):
            last: str | None = after
            while last is not None:
                portion, last = await self._connections.read(partial(read.dump, tenant=tenant, after=last, until=until))
                yield portion

    async def census(self) -> Census:
        return await self._connections.read(changes.census)

    async def scan(self) -> AsyncIterator[Rows]:
        for portion in (changes.scan_nodes, changes.scan_edges):
            last: int | None = 0
            while last is not None:
                rows, last = await self._connections.read(partial(portion, after=last))
                yield rows

    async def news(self, tenant: str, focus: Sequence[str], *, after: int) -> News:
        return await self._connections.read(lambda connection: changes.news(connection, tenant, focus, after))

    async def properties(self, nodes: Sequence[int], edges: Sequence[tuple[int, int, EdgeKind]]) -> Properties:
        return await self._connections.read(lambda connection: changes.properties(connection, nodes, edges))

    async def drop(self, tenant: str) -> None:
        await self._connections.write(lambda connection: write.drop_tenant(connection, tenant))
