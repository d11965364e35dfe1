"""Measures the map of a whole lake: each lens cold, an opened group, and a search in it, with very many datasets.

python -m bench.lake_map [--datasets 2000000] [--rounds 20] [--neo4j] [--map-only]

A round of *cold* opens the store again, so no page of the file is in SQLite's cache. The system's cache of files is not emptied. `--neo4j`
copies the lake into a Neo4j server, which the command starts and ends. A connection is new in each round, and the server is warm. With
`--map-only`, the server gets only the groups and flows of the map, and answers the lenses. The time is that of the store, on the machine as
it is; the processor time is that of the process, without the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import neo4j

from bench.data.cache import kept
from bench.graphs.copied_lake import copy_lake
from bench.graphs.wide_lake import fill_wide_lake, namespace_of
from headwater.graph.model import NodeKind, node_id
from headwater.graph.search import Order, SearchRequest
from headwater.graph.stores import GraphStore, open_store
from headwater.graph.stores.rollups import Lens
from tests.neo4j_server import Neo4jServer, start, stop

_TENANT = "default"
_GROUPS, _MEMBERS = 200, 50


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--neo4j", action="store_true")
    parser.add_argument("--map-only", action="store_true")
    options = parser.parse_args(arguments)
    file = wide_lake(options.datasets) / "graph.db"
    if not options.neo4j:
        asyncio.run(_measure(lambda: open_store(f"sqlite:///{file}"), options.datasets, options.rounds))
        return
    with TemporaryDirectory() as folder:
        server, process = start(Path(folder), heap="2g", page_cache="1g", java=())
        try:
            asyncio.run(_measure_neo4j(server, file, options))
        finally:
            stop(process)


async def _measure_neo4j(server: Neo4jServer, file: Path, options: argparse.Namespace) -> None:
    def opened() -> GraphStore:
        return open_store(server.uri, user=server.user, password=server.password)

    store = opened()
    await store.open()
    await store.close()
    async with neo4j.AsyncGraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        await copy_lake(file, driver, _TENANT, with_nodes=not options.map_only)
    await _measure(opened, options.datasets, options.rounds, map_only=options.map_only)


def wide_lake(datasets: int) -> Path:
    """Return the folder with a filled SQLite file."""

    def make(folder: Path) -> None:
        asyncio.run(_fill(folder, datasets))

    return kept(f"wide-lake-{datasets}", make)


async def _fill(folder: Path, datasets: int) -> None:
    store = open_store(f"sqlite:///{folder / 'graph.db'}")
    await store.open()
    await store.close()
    began, used = time.perf_counter(), time.process_time()
    with sqlite3.connect(folder / "graph.db", isolation_level=None) as file:
        file.execute("PRAGMA synchronous = OFF")
        file.execute("PRAGMA cache_size = -1000000")  # kB: indexes of millions of rows in random order
        fill_wide_lake(file, _TENANT, datasets)
    file.close()
    print(f"  {datasets:,} datasets in {time.perf_counter() - began:.0f} s ({time.process_time() - used:.0f} s of processor time)")


async def _measure(opened_store: Callable[[], GraphStore], datasets: int, rounds: int, *, map_only: bool = False) -> None:
    group = node_id(NodeKind.PLATFORM, namespace_of(datasets // 2))
    asked = SearchRequest(kinds=(NodeKind.DATASET,), namespaces=(namespace_of(datasets // 2),), order=Order.WEIGHT)
    pipeline = SearchRequest(kinds=(NodeKind.JOB,), pipelines=("pipeline:airflow:flow_1",), order=Order.WEIGHT)
    owner = SearchRequest(kinds=(NodeKind.DATASET,), owners=("team-1",), order=Order.WEIGHT)
    words = SearchRequest(text="table", kinds=(NodeKind.DATASET,), namespaces=(namespace_of(datasets // 2),))

    async def mapped(store: GraphStore, *, lens: Lens) -> object:
        return await store.lake_map(_TENANT, lens, first=_GROUPS)

    async def opened(store: GraphStore, request: SearchRequest, lens: Lens) -> object:
        found = await store.find(_TENANT, request, first=_MEMBERS)
        return await store.member_flows(_TENANT, lens, [hit.node.id for hit in found.hits])

    questions: dict[str, Callable[[GraphStore], Awaitable[object]]] = {
        **{f"map by {lens}": partial(mapped, lens=lens) for lens in Lens},
        f"open {group}": lambda store: opened(store, asked, Lens.NAMESPACE),
        "open a pipeline": lambda store: opened(store, pipeline, Lens.PIPELINE),
        "open an owner": lambda store: opened(store, owner, Lens.OWNER),
        "search in a group": lambda store: store.find(_TENANT, words, first=_MEMBERS),
    }
    for name, ask in questions.items():
        if map_only and not name.startswith("map"):
            continue
        waits, used = [], []
        answer: object = None
        for _ in range(rounds):
            store = opened_store()
            await store.open()
            began, processor = time.perf_counter(), time.process_time()
            answer = await ask(store)
            waits.append(1000 * (time.perf_counter() - began))
            used.append(1000 * (time.process_time() - processor))
            await store.close()
        size = {part: len(found) for part in ("groups", "flows", "hits") if (found := getattr(answer, part, None)) is not None}
        waits.sort()
        print(json.dumps({
            "question": name, "datasets": datasets, **size, "p50_ms": round(statistics.median(waits), 1),
            "p95_ms": round(waits[int(0.95 * (len(waits) - 1))], 1), "cpu_p50_ms": round(statistics.median(used), 1),
        }), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
