"""Stores that hold a lake, filled once through the store's own batches and kept in the cache of the suites' data."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.data.cache import kept
from bench.graphs.lake import Lake
from headwater.graph.stores import GraphStore, open_store
from tests.neo4j_server import Neo4jServer, start, stop

TENANT = "lake"
_GROUP = 5  # batches of the lake an apply: 10,000 nodes and 30,000 edges
_HEAP, _PAGE_CACHE = "2g", "1g"
_FOCI = 40
_REACHED, _HOPS = 1_200, 6


def sqlite_lake(nodes: int) -> Path:
    """The folder of a filled SQLite file, and of the foci to ask for."""

    def make(folder: Path) -> None:
        asyncio.run(_fill(folder, nodes, open_store(f"sqlite:///{folder / 'graph.db'}")))

    return kept(f"graph-sqlite-{nodes}", make)


def neo4j_lake(nodes: int) -> Path:
    """The home folder of a stopped Neo4j server that is filled."""

    def make(folder: Path) -> None:
        server, process = start(folder, heap=_HEAP, page_cache=_PAGE_CACHE)
        try:
            asyncio.run(_fill(folder, nodes, _store(server)))
        finally:
            stop(process)

    return kept(f"graph-neo4j-{nodes}", make)


def started(folder: Path) -> tuple[GraphStore, subprocess.Popen[bytes]]:
    """The store of a filled server, started again (not yet open), and the server's process."""
    server, process = start(folder, heap=_HEAP, page_cache=_PAGE_CACHE)
    return _store(server), process


def foci(folder: Path) -> list[str]:
    """Datasets with about 1,200 nodes within six hops upstream."""
    return list(json.loads((folder / "foci.json").read_text(encoding="utf-8")))


async def _fill(folder: Path, nodes: int, store: GraphStore) -> None:
    lake = Lake.of(nodes)
    (folder / "foci.json").write_text(json.dumps(lake.foci(_REACHED, depth=_HOPS, count=_FOCI)), encoding="utf-8")
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


@asynccontextmanager
async def _opened(store: GraphStore) -> AsyncIterator[GraphStore]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def _store(server: Neo4jServer) -> GraphStore:
    return open_store(server.uri, user=server.user, password=server.password)
