"""A graph store that walks in memory, over another store that keeps the graph.

Queries of one step go to the store. Everything goes to the store while there is no index: until it has been read, if it exceeds its memory
limit, and after a change that the log does not cover. A large graph is read again only after ten times the duration of the last reading, so
that reading takes at most a tenth of the time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from headwater.errors import HeadwaterError
from headwater.graph.index.adjacency import UNKNOWN, Adjacency, Numbers
from headwater.graph.index.build import Builder, refuse_early
from headwater.graph.index.edges import far_of, near_of
from headwater.graph.index.walks import IndexGround, Reached, kinds_of, reach
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind
from headwater.graph.model.bulk import edges_of, nodes_of
from headwater.graph.model.changes import Changes
from headwater.graph.search import Found, SearchRequest
from headwater.graph.stores.columns import by_columns
from headwater.graph.stores.indexable import NOT_INDEXED, IndexableStore, Rows, UnindexableError
from headwater.graph.stores.numbered_cones import cone
from headwater.graph.stores.protocol import Cone, Direction, GraphStore, IdRange, Listing, Moment, Page, Portion, Subgraph
from headwater.graph.stores.registry import open_store
from headwater.graph.stores.rollups import LakeMap, Lens, MemberFlows

_log = logging.getLogger("headwater.graph.index")

_SMALL = 20_000  # nodes and edges that are read while the first walk waits, in a tenth of a second
_WALKS = 3  # attempts until properties may be newer than the walk, because writes come faster than reads
_PAUSE = 10  # the pause until the next reading, as a multiple of the last reading's duration


def open_indexed(url: str, *, user: str | None = None, password: str | None = None, index_bytes: int) -> GraphStore:
    """Return the store at a URL, with an index of at most `index_bytes`. 0 makes no index."""
    store = open_store(url, user=user, password=password)
    return IndexedStore(store, room=index_bytes) if index_bytes else store


def source_of(store: GraphStore) -> IndexableStore:
    """Return the store below an index, or the store itself. It reports the changes of its content."""
    return store.source if isinstance(store, IndexedStore) else cast("IndexableStore", store)


class IndexedStore:
    """A store with an index of `source`, of at most `room` bytes. Reading the index needs more memory for a while."""

    def __init__(self, source: IndexableStore, *, room: int) -> None:
        self._source = source
        self._room = room
        self._graph: Adjacency | None = None
        self._reading: asyncio.Task[None] | None = None
        self._paused = 0.0  # end of the pause, by the clock of the process
        self._refused = False
        self._advancing = asyncio.Lock()
        self._changing: asyncio.Task[None] | None = None

    @property
    def source(self) -> IndexableStore:
        return self._source

    async def ready(self) -> Adjacency | None:
        """Wait until the index has been read, and return it. None if it exceeds its memory limit."""
        while self._graph is None and not self._refused:
            await self._read()
        return self._graph

    async def reach(
        self, tenant: str, focus: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int
    ) -> Subgraph:
        for left in reversed(range(_WALKS)):
            if by_columns(focus, kinds) or (current := await self._current(tenant, focus)) is None:
                break
            graph, start = current
            answer = await asyncio.to_thread(_Answer.of, graph, start, direction, kinds, depth, limit)
            if answer.made:
                return answer.made
            properties = await self._source.properties(answer.nodes(), answer.edges())
            # The properties may contain later writes. Then both answers must be of the later revision.
            if properties.revision == graph.revision or not left:
                return answer.subgraph(properties.nodes, properties.edges)
        return await self._source.reach(tenant, focus, direction=direction, kinds=kinds, depth=depth, limit=limit)

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
        if by_columns(focus, kinds) or (current := await self._current(tenant, focus)) is None:
            return await self._source.cone(
                tenant, focus, direction=direction, kinds=kinds, depth=depth, limit=limit, contained=contained, facts=facts, names=names
            )
        graph, start = current
        return await asyncio.to_thread(cone, IndexGround(graph), start, direction, kinds, depth, limit, contained, facts, names)

    async def _current(self, tenant: str, focus: Sequence[str]) -> tuple[Adjacency, Numbers] | None:
        """Return the present graph and the numbers of the focus. None if the store must walk."""
        if self._graph is None and not await self._begin():
            return None
        async with self._advancing:
            if self._changing is not None and not self._changing.done():  # of a cancelled walk
                await asyncio.wait([self._changing])
            graph = self._graph
            if graph is None:
                return None
            try:
                news = await self._source.news(tenant, list(dict.fromkeys(focus)), after=graph.revision)
            except UnindexableError as refusal:
                self._refuse(str(refusal))
                return None
            if news.rows is None or news.revision < graph.revision:
                self._graph = None
                return None
            if news.revision > graph.revision:
                self._changing = asyncio.create_task(self._change(graph, news.rows, news.revision))
                await asyncio.shield(self._changing)
                if (graph := self._graph) is None:
                    return None
        start = graph.numbers(news.focus)
        return graph, start[start != UNKNOWN]

    async def _change(self, graph: Adjacency, rows: Rows, revision: int) -> None:
        """Bring the index up to a revision, in a separate task: a thread continues after its caller is cancelled."""
        try:
            changed = await asyncio.to_thread(graph.changed, rows, revision)
        except Exception as error:  # noqa: BLE001 - whatever its fault: it would be that of every walk to come
            _log.exception("changing the index failed")
            self._refuse(f"{type(error).__name__}: {error}")
            return
        changed = changed.within(self._room)
        if changed.size > self._room:
            self._refuse(f"no room, it has grown to {changed.size:,} bytes of {self._room:,}")
        else:
            self._graph = changed

    async def _begin(self) -> bool:
        """Start reading the index, and wait for it if it is small. Return whether there is an index."""
        if self._refused:
            return False
        if self._reading is None and time.monotonic() >= self._paused:
            census = await self._source.census()
            if census.nodes + census.edges <= _SMALL:
                await self._read()
            elif self._reading is None:
                self._reading = asyncio.create_task(self._read_aside())
        return self._graph is not None

    async def _read_aside(self) -> None:
        began = time.monotonic()
        try:
            await self._read()
        except HeadwaterError as error:  # the store is away: the next walk raises, or tries again
            _log.warning("the graph cannot be indexed now: %s", error)
        except Exception as error:  # noqa: BLE001 - whatever its fault: walks go on in the store, and do not begin it each time
            _log.exception("reading the index failed")
            self._refuse(f"{type(error).__name__}: {error}")
        finally:
            self._reading = None
            ended = time.monotonic()
            self._paused = ended + _PAUSE * (ended - began)

    async def _read(self) -> None:
        began = time.perf_counter()
        builder = Builder(self._room)
        try:
            census = await self._source.census()
            refuse_early(census, self._room)
            async for rows in self._source.scan():
                await asyncio.to_thread(builder.take, rows)
            graph = await asyncio.to_thread(builder.built, census.revision)
        except UnindexableError as refusal:
            self._refuse(str(refusal))
            return
        self._graph = graph
        _log.info(
            "indexed %d nodes and %d edges in %.1f s, %d MB", graph.count, graph.edge_count, time.perf_counter() - began, graph.size >> 20
        )

    def _refuse(self, why: str) -> None:
        self._graph, self._refused = None, True
        _log.warning("the graph is walked in its store, which is slower, without an index: %s. HEADWATER_INDEX_BYTES gives room.", why)

    async def open(self) -> list[int]:
        return await self._source.open()

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._changing is not None:
            await asyncio.gather(self._changing, return_exceptions=True)
        self._graph = None
        await self._source.close()

    async def apply(self, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
        await self._source.apply(tenant, batches, offset=offset)

    async def absorb(self, tenant: str, changes: Changes, *, offset: int | None = None) -> None:
        await self._source.absorb(tenant, changes, offset=offset)

    async def offset(self, tenant: str) -> int:
        return await self._source.offset(tenant)

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]:
        return await self._source.get(tenant, ids)

    async def search(
        self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None,
        ranges: Sequence[IdRange] | None = None,
    ) -> Page:  # fmt: skip
        return await self._source.search(tenant, text, kinds=kinds, first=first, after=after, ranges=ranges)

    async def find(
        self, tenant: str, request: SearchRequest, *, first: int = 20, after: str | None = None, permitted: Sequence[str] | None = None
    ) -> Found:
        return await self._source.find(tenant, request, first=first, after=after, permitted=permitted)

    async def lake_map(
        self, tenant: str, lens: Lens, *, first: int = 200, include: Sequence[str] = (), permitted: Sequence[str] | None = None
    ) -> LakeMap:
        return await self._source.lake_map(tenant, lens, first=first, include=include, permitted=permitted)

    async def member_flows(self, tenant: str, lens: Lens, members: Sequence[str], *, permitted: Sequence[str] | None = None) -> MemberFlows:
        return await self._source.member_flows(tenant, lens, members, permitted=permitted)

    async def neighbours(self, tenant: str, ids: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind]) -> list[Edge]:
        return await self._source.neighbours(tenant, ids, direction=direction, kinds=kinds)

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page:
        return await self._source.children(tenant, parent, kinds=kinds, first=first, after=after)

    async def listed(self, tenant: str, prefix: str, *, first: int = 100, skip: int = 0) -> Listing:
        return await self._source.listed(tenant, prefix, first=first, skip=skip)

    async def listed_after(self, tenant: str, prefix: str, after: str | None, *, first: int) -> Sequence[Node]:
        return await self._source.listed_after(tenant, prefix, after, first=first)

    async def latest(
        self, tenant: str, parent: str, kind: NodeKind, *, until: str | None = None, first: int = 100, skip: int = 0
    ) -> Listing:
        return await self._source.latest(tenant, parent, kind, until=until, first=first, skip=skip)

    async def latest_at(self, tenant: str, asked: Sequence[Moment], kind: NodeKind, *, first: int) -> Mapping[Moment, Sequence[Node]]:
        return await self._source.latest_at(tenant, asked, kind, first=first)

    async def shared(self, tenant: str, parent: str) -> list[str]:
        return await self._source.shared(tenant, parent)

    async def ancestors(self, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
        return await self._source.ancestors(tenant, ids)

    async def counts(self, tenant: str, *, ranges: Sequence[IdRange] | None = None) -> dict[str, int]:
        return await self._source.counts(tenant, ranges=ranges)

    async def fingerprint(self, tenant: str) -> str:
        return await self._source.fingerprint(tenant)

    def dump(self, tenant: str, *, kinds: Collection[NodeKind] | None = None) -> AsyncIterator[Portion]:
        return self._source.dump(tenant, kinds=kinds)

    async def drop(self, tenant: str) -> None:
        await self._source.drop(tenant)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The result of a walk, with the properties in the index. `lacking` are the positions of nodes whose properties are not indexed."""

    graph: Adjacency
    found: Reached
    names: list[str]
    properties: list[str]
    lacking: list[int]
    made: Subgraph | None

    @classmethod
    def of(cls, graph: Adjacency, start: Numbers, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int) -> _Answer:
        """Walk and build the answer from the index, on the thread of the walk."""
        found = reach(graph, start, direction, kinds, depth, limit)
        properties = graph.properties.at(found.nodes) if graph.properties else [NOT_INDEXED] * len(found.ids)
        lacking = [place for place, text in enumerate(properties) if text == NOT_INDEXED]
        answer = cls(graph, found, graph.names.at(found.nodes), properties, lacking, None)
        return answer if lacking or found.steps.with_properties else replace(answer, made=answer.subgraph([], []))

    def nodes(self) -> list[int]:
        """Return the refs of the nodes whose properties must come from the store."""
        return self.graph.refs_of(self.found.nodes[self.lacking])

    def edges(self) -> list[tuple[int, int, EdgeKind]]:
        """Return the edges whose properties must come from the store."""
        steps, graph = self.found.steps, self.graph
        into = steps.into[steps.with_properties]
        kinds = [steps.kinds[place] for place in steps.with_properties]
        return list(zip(graph.refs_of(far_of(into)), graph.refs_of(near_of(into)), kinds, strict=True))

    def subgraph(self, nodes: Sequence[str | None], edges: Sequence[str | None]) -> Subgraph:
        found, steps = self.found, self.found.steps
        ids = found.ids
        properties: list[str | None] = [*self.properties]
        for place, text in zip(self.lacking, nodes, strict=True):
            properties[place] = text
        flows: list[str | None] = [None] * len(steps.src)
        for place, text in zip(steps.with_properties, edges, strict=True):
            flows[place] = text
        return Subgraph(
            nodes=nodes_of(ids, kinds_of(ids), self.names, properties),
            edges=edges_of(
                [ids[place] for place in steps.src], [ids[place] for place in steps.dst], steps.kinds, flows, steps.first, steps.last
            ),
            distance=found.distance,
            truncated=found.truncated,
            counted=found.counted,
        )
