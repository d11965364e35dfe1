"""Measures the map of a whole lake: each lens cold, an opened group, and a search in it, in a SQLite file with very many datasets.

python -m bench.lake_map [--datasets 2000000] [--rounds 20]

A round of *cold* opens the file again, so no page of it is in SQLite's cache. The system's cache of files is not emptied. The time is that
of the store, on the machine as it is; the processor time is that of the process.
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

from bench.data.cache import kept
from bench.graphs.wide_lake import fill_wide_lake, namespace_of
from headwater.graph.model import NodeKind, node_id
from headwater.graph.search import Order, SearchRequest
from headwater.graph.stores import GraphStore, open_store
from headwater.graph.stores.rollups import Lens

_TENANT = "default"
_GROUPS, _MEMBERS = 200, 50


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args(arguments)
    folder = wide_lake(options.datasets)
    asyncio.run(_measure(folder / "graph.db", options.datasets, options.rounds))


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


async def _measure(path: Path, datasets: int, rounds: int) -> None:
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
        waits, used = [], []
        answer: object = None
        for _ in range(rounds):
            store = open_store(f"sqlite:///{path}")
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
