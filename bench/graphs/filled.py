"""Stores with a lake, filled once through the store's own batches and cached."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.data.cache import kept
from bench.graphs.imported import import_lake
from bench.graphs.lake import Lake
from headwater.graph.index import open_indexed
from headwater.graph.stores import GraphStore, open_store
from tests.neo4j_server import Neo4jServer, start, stop

TENANT = "lake"
_NAMES = "foci.json"
_GROUP = 5  # batches of the lake in one call of `apply`: 10,000 nodes and 30,000 edges
_HEAP, _PAGE_CACHE = "2g", "1g"
_FOCI, _WHOLE = 40, 5
_CANDIDATES = 200  # number of datasets whose whole upstream is counted
_REACHED, _HOPS = 1_200, 6


def sqlite_lake(nodes: int) -> Path:
    """Return the folder with a filled SQLite file, and with the datasets to query."""

    def make(folder: Path) -> None:
        asyncio.run(_fill(folder, nodes, open_store(f"sqlite:///{folder / 'graph.db'}")))

    return kept(f"graph-sqlite-{nodes}", make)


def neo4j_lake(nodes: int) -> Path:
    """Return the home folder of a stopped Neo4j server with the same content as the SQLite lake."""

    def make(folder: Path) -> None:
        asyncio.run(_import(sqlite_lake(nodes), folder))

    return kept(f"graph-neo4j-{nodes}", make)


def started(folder: Path, *, index_bytes: int = 0) -> tuple[GraphStore, subprocess.Popen[bytes]]:
    """Start a server, and return its unopened store and its process. The folder may be filled or new."""
    server, process = start(folder, heap=_HEAP, page_cache=_PAGE_CACHE, java=())
    return _store(server, index_bytes), process


def foci(nodes: int) -> list[str]:
    """Return datasets of the lake with about 1,200 nodes within six hops upstream."""
    return list(json.loads((sqlite_lake(nodes) / _NAMES).read_text(encoding="utf-8")))


def whole_foci(nodes: int) -> list[str]:
    """Return datasets of the lake whose whole upstream is about a twentieth of its nodes."""

    def make(folder: Path) -> None:
        found = Lake.of(nodes).whole(nodes // 20, count=_WHOLE, candidates=_CANDIDATES)
        (folder / _NAMES).write_text(json.dumps(found), encoding="utf-8")

    return list(json.loads((kept(f"graph-whole-{nodes}", make) / _NAMES).read_text(encoding="utf-8")))


async def _fill(folder: Path, nodes: int, store: GraphStore) -> None:
    lake = Lake.of(nodes)
    (folder / _NAMES).write_text(json.dumps(lake.foci(_REACHED, depth=_HOPS, count=_FOCI)), encoding="utf-8")
    began = time.perf_counter()
    async with _opened(store):
        group = []
        for batch in lake.batches():
            group.append(batch)
            if len(group) == _GROUP:
                await store.apply(TENANT, group)
                group = []
        if group:
            await store.apply(TENANT, group)
        counts = await store.counts(TENANT)
    print(f"  {sum(counts.values())} nodes in {time.perf_counter() - began:.0f} s", flush=True)


async def _import(lake: Path, folder: Path) -> None:
    async with _opened(open_store(f"sqlite:///{lake / 'graph.db'}")) as source:
        await import_lake(source, TENANT, folder)
        counts = await source.counts(TENANT)
    server, process = start(folder, heap=_HEAP, page_cache=_PAGE_CACHE, java=())
    try:
        async with _opened(_store(server)) as store:
            if await store.counts(TENANT) != counts:
                raise RuntimeError("The Neo4j database does not hold what the SQLite file holds.")
    finally:
        stop(process)


@asynccontextmanager
async def _opened(store: GraphStore) -> AsyncIterator[GraphStore]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def _store(server: Neo4jServer, index_bytes: int = 0) -> GraphStore:
    return open_indexed(server.uri, user=server.user, password=server.password, index_bytes=index_bytes)
