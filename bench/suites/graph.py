"""How quickly the graph stores answer and take in, in a generated lake of a million nodes and three million edges (`--scale`: nodes).

*six hops*: `reach` upstream of a dataset, about 1,200 nodes with their names, edges and properties; another dataset each round, the same
in every arm. The same question to a lake of a tenth of the size, of as many nodes, gives the growth. *events*: projecting the events of a
TPC-DS run into an empty graph, a batch of 64 at a time as the service does. Stores are filled once, through their own batches.
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
from bench.graphs.filled import TENANT, foci, neo4j_lake, sqlite_lake, started
from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite
from headwater.graph.model import EdgeKind
from headwater.graph.stores import Direction, GraphStore, open_store
from tests.neo4j_server import stop

T = TypeVar("T")
_NODES = 1_000_000
_BATCH = 64
_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
_HOPS, _LIMIT = 6, 5_000
_TARGETS = {"sqlite": (10.0, 1.0, 1.5), "neo4j": (30.0, 2.0, 1.5)}  # ms of six hops, ms an event, growth


class GraphSuite:
    """Both stores in one run; the control is a second SQLite arm."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self.plan = Plan(
            name="graph" if nodes == _NODES else f"graph-{nodes}",
            arms=("sqlite", "control", "neo4j"),
            baseline="sqlite",
            control="control",
            cases=("six hops", "events"),
            measures=[measure for arm, targets in _TARGETS.items() for measure in _measures(arm, *targets)],
            rounds=100,
            warm_up=10,
        )

    def prepare(self, folder: Path) -> None:
        """Nothing: an arm makes what it needs where it is not there yet, before the first round."""

    def arm(self, name: str, folder: Path) -> Arm:
        """Open the stores of both sizes."""
        return _StoreArm(name, folder, [self._nodes, self._nodes // 10])


class _StoreArm:
    """A store of each size. Servers of Neo4j are started by the arm, and end with it."""

    def __init__(self, name: str, folder: Path, sizes: Sequence[int]) -> None:
        self._loop = asyncio.new_event_loop()
        self._servers = []
        self._lakes: list[tuple[GraphStore, list[str]]] = []
        for nodes in sizes:
            if name == "neo4j":
                place = neo4j_lake(nodes)
                store, server = started(place)
                self._servers.append(server)
            else:
                place = sqlite_lake(nodes)
                store = open_store(f"sqlite:///{place / 'graph.db'}")
            self._wait(store.open())
            self._lakes.append((store, foci(place)))
        self._events: list[dict[str, Any]] = []
        self._empty = self._lakes[1][0] if name == "neo4j" else open_store(f"sqlite:///{folder / f'{name}.db'}")
        self._wait(self._empty.open())

    def run(self, case: str, turn: int) -> Sample:
        if case == "events":
            return self._project(turn)
        (large, at), (small, there) = ((store, ids[turn % len(ids)]) for store, ids in self._lakes)
        cpu = time.process_time()
        seconds, reached = self._reach(large, at)
        cpu = time.process_time() - cpu
        smaller, others = self._reach(small, there)
        if min(reached, others) < 1_000:
            raise RuntimeError(
                f"six hops upstream of {at} and {there} are {reached} and {others} nodes: the figures would be of another size"
            )
        # The processor time is this process's: all of an embedded store's, the driver's of a server's.
        return {
            SECONDS: seconds,
            "milliseconds": 1000 * seconds,
            "cpu_milliseconds": 1000 * cpu,
            "smaller_milliseconds": 1000 * smaller,
            "nodes": float(reached),
        }

    def close(self) -> None:
        """Close the stores and end the servers."""
        for store in {store for store, _ in self._lakes} | {self._empty}:
            self._wait(store.close())
        for server in self._servers:
            stop(server)
        self._loop.close()

    def _reach(self, store: GraphStore, focus: str) -> tuple[float, int]:
        began = time.perf_counter()
        found = self._wait(store.reach(TENANT, [focus], direction=Direction.UPSTREAM, kinds=_FLOWS, depth=_HOPS, limit=_LIMIT))
        return time.perf_counter() - began, len(found.nodes)

    def _project(self, turn: int) -> Sample:
        """Every tenth of the rounds projects all events into a graph of its own; the others would only repeat it."""
        from headwater.backend.projection import event_stamp, fold, project_event

        self._events = self._events or [json.loads(line) for line in tpcds_events()]
        chosen = self._events if turn % 10 == 0 else self._events[:_BATCH]
        tenant = f"{turn}-{uuid4().hex}"
        began = time.perf_counter()
        for start in range(0, len(chosen), _BATCH):
            group = chosen[start : start + _BATCH]
            batches = [project_event(event, event_stamp(event, f"{start + number:064}")) for number, event in enumerate(group)]
            self._wait(fold(self._empty, tenant, batches, offset=start + len(group)))
        seconds = time.perf_counter() - began
        self._wait(self._empty.drop(tenant))
        whole = {"milliseconds": 1000 * seconds, "events": float(len(chosen))} if len(chosen) == len(self._events) else {}
        return {SECONDS: seconds, **whole}

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


def _measures(arm: str, hops: float, event: float, growth: float) -> list[Measure]:
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
            name=f"projecting an event, {arm}", cases=("events",), arm=arm, statistic=Statistic.SHARE,
            quantity="milliseconds", per="events", unit="ms", target=event,
        ),
    ]  # fmt: skip


def suite(scale: float | None = None) -> Suite:
    """The suite, of a million nodes unless another number is asked for."""
    return GraphSuite(int(scale or _NODES))
