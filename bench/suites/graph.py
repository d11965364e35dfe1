"""Measures answers and writes of the graph stores, in a generated lake of a million nodes and three million edges (`--scale`: nodes).

*six hops*: `reach` upstream of a dataset, about 1,200 nodes with their names, edges and properties; another dataset each round, the same
in every arm. The same query to a lake of a tenth of the size, with as many nodes in the answer, gives the growth. *view*: everything
upstream of a dataset, about 50,000 nodes, with jobs zoomed to their pipelines and all but some 2,000 nodes masked by name. *events*:
projecting the events of a TPC-DS run into an empty graph, in groups as the service does. The lakes are made once, and cached. Both stores
have the index of a service, which is read before the first round. Its time and memory are measured. Before each query the machine may
become idle for two seconds at most (`bench.rest`), because a Neo4j server continues to work after writes and deletions.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from bench.graphs.events import tpcds_events
from bench.graphs.filled import TENANT, foci, neo4j_lake, sqlite_lake, started, whole_foci
from bench.rest import rest
from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite
from headwater.backend.process.garbage_collection import settle
from headwater.graph.index import IndexedStore, open_indexed
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores import Direction, GraphStore, open_store
from headwater.graph.views import Mask, MaskBy, ViewRequest, view
from tests.neo4j_server import stop

T = TypeVar("T")
_NODES = 1_000_000
_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
_HOPS, _LIMIT = 6, 5_000
_INDEX_BYTES = 512 << 20  # the service's default
_GROWTH = 1.2  # of processor time, which other programs disturb less
_TARGETS = {"sqlite": (10.0, 250.0, 1.0, 1.5), "neo4j": (30.0, 400.0, 2.0, 1.5)}  # ms of six hops, of a view, of an event; growth
# Seven datasets of a hundred, and the pipelines.
_SHOWN = ("*00", "*20", "*40", "*50", "*60", "*80", "*90", "domain_?", "domain_??", "domain_???")
_MASKED = Mask(MaskBy.NAME, _SHOWN, negated=True)


class GraphSuite:
    """Both stores in one run. The control is a second SQLite arm."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self.plan = Plan(
            name="graph" if nodes == _NODES else f"graph-{nodes}",
            arms=("sqlite", "control", "neo4j"),
            baseline="sqlite",
            control="control",
            cases=("six hops", "view", "events"),
            measures=[measure for arm, targets in _TARGETS.items() for measure in _measures(arm, *targets)],
            rounds=100,
            warm_up=10,
        )

    def prepare(self, folder: Path) -> None:
        """Do nothing, because each arm makes missing lakes before the first round."""

    def arm(self, name: str, folder: Path) -> Arm:
        return _StoreArm(name, folder, [self._nodes, self._nodes // 10])


class _StoreArm:
    """A store of each size. The arm starts the servers of Neo4j and ends them."""

    def __init__(self, name: str, folder: Path, sizes: Sequence[int]) -> None:
        self._full = sizes[0] >= _NODES  # a small lake has no lineage of this size, and its growth means nothing
        settle()  # as the service does
        self._loop = asyncio.new_event_loop()
        self._servers = []
        self._lakes: list[tuple[GraphStore, list[str]]] = []
        self._index: list[tuple[float, float]] = []  # in seconds and megabytes
        for nodes in sizes:
            if name == "neo4j":
                store, server = started(neo4j_lake(nodes), index_bytes=_INDEX_BYTES)
                self._servers.append(server)
            else:
                store = open_indexed(f"sqlite:///{sqlite_lake(nodes) / 'graph.db'}", index_bytes=_INDEX_BYTES)
            self._wait(store.open())
            self._index.append(self._indexed(store))
            self._lakes.append((store, foci(nodes)))
        self._whole = whole_foci(sizes[0])
        self._events: list[dict[str, Any]] = []
        if name == "neo4j":
            self._empty, server = started(folder / "empty-neo4j")
            self._servers.append(server)
        else:
            self._empty = open_store(f"sqlite:///{folder / f'{name}.db'}")
        self._wait(self._empty.open())

    def run(self, case: str, turn: int) -> Sample:
        return {"rested_seconds": rest(), **self._run(case, turn)}

    def _run(self, case: str, turn: int) -> Sample:
        if case == "events":
            return self._project(turn)
        if case == "view":
            return self._wait(self._view(self._whole[turn % len(self._whole)]))
        (large, at), (small, there) = ((store, ids[turn % len(ids)]) for store, ids in self._lakes)
        cpu = time.process_time()
        seconds, reached = self._reach(large, at)
        cpu = time.process_time() - cpu
        smaller_cpu = time.process_time()
        smaller, others = self._reach(small, there)
        smaller_cpu = time.process_time() - smaller_cpu
        if self._full and min(reached, others) < 1_000:
            raise RuntimeError(
                f"six hops upstream of {at} and {there} are {reached} and {others} nodes: the figures would be of another size"
            )
        # The processor time of this process: of an embedded store, or of the driver of a server.
        return {
            SECONDS: seconds,
            "milliseconds": 1000 * seconds,
            "cpu_milliseconds": 1000 * cpu,
            "smaller_milliseconds": 1000 * smaller,
            "smaller_cpu_milliseconds": 1000 * smaller_cpu,
            "nodes": float(reached),
            "index_seconds": self._index[0][0],
            "index_megabytes": self._index[0][1],
        }

    def close(self) -> None:
        for store in {store for store, _ in self._lakes} | {self._empty}:
            self._wait(store.close())
        for server in self._servers:
            stop(server)
        self._loop.close()

    def _indexed(self, store: GraphStore) -> tuple[float, float]:
        if not isinstance(store, IndexedStore):
            raise TypeError(f"{store!r} has no index: the figures would be of another store than the service's")
        began = time.perf_counter()
        graph = self._wait(store.ready())
        if graph is None:
            raise RuntimeError("the lake's index does not fit: the figures would be of a store that walks")
        return time.perf_counter() - began, graph.size / 1e6

    def _reach(self, store: GraphStore, focus: str) -> tuple[float, int]:
        began = time.perf_counter()
        found = self._wait(store.reach(TENANT, [focus], direction=Direction.UPSTREAM, kinds=_FLOWS, depth=_HOPS, limit=_LIMIT))
        return time.perf_counter() - began, len(found.nodes)

    async def _view(self, focus: str) -> Sample:
        """Compute the view with its first page, which contains all of it."""
        request = ViewRequest(
            focus=(focus,),
            direction=Direction.UPSTREAM,
            depth=1_000,
            actors=NodeKind.PIPELINE,
            masks=(_MASKED,),
            first=5_000,
            edges=200_000,
        )
        began, cpu = time.perf_counter(), time.process_time()
        made = await view(self._lakes[0][0], TENANT, request)
        nodes, edges = await made.nodes(), made.edges()
        seconds = time.perf_counter() - began
        if len(edges) != made.totals.edges:
            raise RuntimeError("the view does not fit one page: the figure would be of a part")
        return {
            SECONDS: seconds,
            "milliseconds": 1000 * seconds,
            "cpu_milliseconds": 1000 * (time.process_time() - cpu),
            "reached": float(made.totals.reached),
            "visible": float(len(nodes)),
        }

    def _project(self, turn: int) -> Sample:
        """Project all events into a new graph in every tenth round, and a third of them in other rounds.

        Each round uses another job, so that projection cannot reuse cached results of the round before.
        """
        from headwater.backend.projection import event_stamp, fold, project_event
        from headwater.backend.projector.projector import BATCH

        self._events = self._events or [json.loads(line) for line in tpcds_events()]
        chosen = self._events if turn % 10 == 0 else self._events[: len(self._events) // 3]
        events = [{**event, "job": {**event["job"], "name": f"{event['job']['name']}.{turn}"}} for event in chosen]
        tenant = f"{turn}-{uuid4().hex}"
        began = time.perf_counter()
        for start in range(0, len(events), BATCH):
            group = events[start : start + BATCH]
            batches = [project_event(event, event_stamp(event, f"{start + number:064}")) for number, event in enumerate(group)]
            self._wait(fold(self._empty, tenant, batches, offset=start + len(group)))
        seconds = time.perf_counter() - began
        self._wait(self._empty.drop(tenant))
        whole = {"milliseconds": 1000 * seconds, "events": float(len(chosen))} if len(chosen) == len(self._events) else {}
        return {SECONDS: seconds, **whole}

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


def _measures(arm: str, hops: float, seen: float, event: float, growth: float) -> list[Measure]:
    return [
        Measure(name=f"six hops, {arm}", cases=("six hops",), arm=arm, statistic=Statistic.P50),
        Measure(name=f"six hops, {arm}", cases=("six hops",), arm=arm, statistic=Statistic.P95, target=hops),
        Measure(
            name=f"six hops, {arm}, processor", cases=("six hops",), arm=arm, statistic=Statistic.MEDIAN,
            quantity="cpu_milliseconds", unit="ms",
        ),
        Measure(
            name=f"growth at 10×, {arm}", cases=("six hops",), arm=arm, statistic=Statistic.SHARE,
            quantity="milliseconds", per="smaller_milliseconds", unit="×", target=growth,
        ),
        Measure(
            name=f"growth at 10×, {arm}, processor", cases=("six hops",), arm=arm, statistic=Statistic.SHARE,
            quantity="cpu_milliseconds", per="smaller_cpu_milliseconds", unit="×", target=_GROWTH,
        ),
        Measure(
            name=f"reading the index, {arm}", cases=("six hops",), arm=arm, statistic=Statistic.MEDIAN, quantity="index_seconds", unit="s"
        ),
        Measure(
            name=f"the index, {arm}", cases=("six hops",), arm=arm, statistic=Statistic.MEDIAN, quantity="index_megabytes", unit="MB"
        ),
        Measure(name=f"masked, zoomed view, {arm}", cases=("view",), arm=arm, statistic=Statistic.P50),
        Measure(name=f"masked, zoomed view, {arm}", cases=("view",), arm=arm, statistic=Statistic.P95, target=seen),
        Measure(
            name=f"masked, zoomed view, {arm}, processor", cases=("view",), arm=arm, statistic=Statistic.MEDIAN,
            quantity="cpu_milliseconds", unit="ms",
        ),
        Measure(name=f"nodes reached, {arm}", cases=("view",), arm=arm, statistic=Statistic.MEDIAN, quantity="reached"),
        Measure(name=f"nodes visible, {arm}", cases=("view",), arm=arm, statistic=Statistic.MEDIAN, quantity="visible"),
        Measure(
            name=f"projecting an event, {arm}", cases=("events",), arm=arm, statistic=Statistic.SHARE,
            quantity="milliseconds", per="events", unit="ms", target=event,
        ),
    ]  # fmt: skip


def suite(scale: float | None = None) -> Suite:
    return GraphSuite(int(scale or _NODES))
