"""Measures a service under load: intake, start after a kill, time of a view, and memory.

*intake* sends 4,000 events over 50 connections, one per request, each its own run, to a service that projects them meanwhile. An answer
comes when the event is on the disk. *batches* sends the same number with 20 per request. *start* kills a service (SIGKILL) whose log has a
million events during intake, and measures the time until the next one has answered a query. *view* requests 200 nodes of a lake of a
million nodes through GraphQL, as the page does. *soak* sends for 20 seconds (or HEADWATER_SOAK_SECONDS), and measures the growth of memory
and open files in the second half. Memory is that of the service and its worker, without mapped files and without query processes.
*processor* is that of the service alone, and of both. `--scale 0.05`: a twentieth of the log and of the lake. The client runs on the same
machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from bench.data import run_events
from bench.load import Load, send
from bench.service import Service
from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite

_EVENTS, _NODES = 1_000_000, 1_000_000
_SENT, _BATCH, _CONNECTIONS = 4_000, 20, 50
_SOAK_SECONDS = float(os.environ.get("HEADWATER_SOAK_SECONDS", "20"))
_SHOWN = 200
_VIEW = """
query ($view: ViewInput!, $first: Int!) { view(view: $view, first: $first, edges: 2000) {
  nodes { node { id kind name containers { kind name } } members focus wholly } edges { src dst weight direct via }
  totals { nodes edges masked beyond } cursor notes } }"""


class ServiceSuite:
    """Each case has its own service and home. The control is a second service and home."""

    def __init__(self, scale: float) -> None:
        self._events, self._nodes = max(10_000, int(_EVENTS * scale)), max(10_000, int(_NODES * scale))
        self.plan = Plan(
            name="service" if scale == 1 else f"service-{scale:g}",
            arms=("service", "control"),
            baseline="service",
            control="control",
            cases=("intake", "batches", "start", "view", "soak"),
            measures=[
                _count("intake, an event", "intake", "milliseconds", "ms", 1 / 3, per="events"),
                _count("intake, an event, processor", "intake", "cpu_milliseconds", "ms", None, per="events"),
                _count("intake and projection, an event, processor", "intake", "all_cpu_milliseconds", "ms", None, per="events"),
                _count("sending, an event, processor", "intake", "client_cpu_milliseconds", "ms", None, per="events"),
                _count("intake, wait, p50", "intake", "p50", "ms", None),
                _count("intake, wait, p99", "intake", "p99", "ms", 50),
                _count("intake in batches, an event", "batches", "milliseconds", "ms", 1 / 3, per="events"),
                _count("intake in batches, wait, p99", "batches", "p99", "ms", None),
                _count(f"start after kill -9, log of {self._events:,} events", "start", "start_seconds", "s", 5),
                _count(f"memory, log of {self._events:,} events", "start", "megabytes", "MB", 315),
                Measure(
                    name=f"view of {_SHOWN} of {self._nodes:,} nodes", cases=("view",), arm="service", statistic=Statistic.P50
                ),
                Measure(
                    name=f"view of {_SHOWN} of {self._nodes:,} nodes", cases=("view",), arm="service", statistic=Statistic.P95, target=60
                ),
                _count("soak, memory grown", "soak", "grown_megabytes", "MB", None),
                _count("soak, open files grown", "soak", "grown_handles", "", 0),
            ],
            rounds=10,
            warm_up=1,
        )  # fmt: skip

    def prepare(self, folder: Path) -> None:  # noqa: ARG002  # what is made is kept elsewhere
        from bench.graphs.filled import sqlite_lake

        run_events.home_of(self._events)
        sqlite_lake(self._nodes)

    def arm(self, name: str, folder: Path) -> Arm:
        """Return an arm that starts each service in the first round that needs it."""
        return _ServiceArm(folder / name, self._events, self._nodes)


class _ServiceArm:
    def __init__(self, folder: Path, events: int, nodes: int) -> None:
        folder.mkdir()
        self._folder, self._events, self._nodes = folder, events, nodes
        self._services: dict[str, Service] = {}
        self._next = count(10 * _EVENTS)  # numbers of new events
        self._foci: list[str] = []
        self._key = ""

    def run(self, case: str, turn: int) -> Sample:
        if case == "view":
            return self._view(turn)
        return {"intake": self._intake, "batches": self._batches, "start": self._start, "soak": self._soak}[case]()

    def close(self) -> None:
        for service in self._services.values():
            service.stop()

    def _intake(self) -> Sample:
        service = self._service("intake")
        return self._measured(service, lambda: self._send(service, list(self._fresh(_SENT))))

    def _batches(self) -> Sample:
        service = self._service("intake")
        groups = [b"[" + b",".join(self._fresh(_BATCH)) + b"]" for _ in range(_SENT // _BATCH)]
        return self._measured(service, lambda: self._send(service, groups))

    def _measured(self, service: Service, work: Callable[[], Load]) -> Sample:
        self._settle(service)
        own, both = service.own_cpu_seconds(), service.cpu_seconds()
        load = work()
        own = service.own_cpu_seconds() - own
        self._settle(service)
        return {
            SECONDS: load.seconds, "milliseconds": 1000 * load.seconds, "cpu_milliseconds": 1000 * own,
            "all_cpu_milliseconds": 1000 * (service.cpu_seconds() - both),
            "client_cpu_milliseconds": 1000 * load.cpu_seconds, "events": float(_SENT),
            "p50": load.quantile(0.5), "p99": load.quantile(0.99),
        }  # fmt: skip

    def _start(self) -> Sample:
        service = self._service("start", run_events.home_of(self._events))
        # A separate client, because its connection breaks in the middle of a request.
        sender = subprocess.Popen(
            [sys.executable, "-m", "bench.suites.service", service.url, service.key, str(next(self._next) + 10 * _EVENTS)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(1.5)
        service.kill()
        sender.wait(timeout=60)
        began = time.perf_counter()
        service = self._services["start"] = Service(self._folder / "start", log=self._folder / "start.log")
        service.client.execute("{ service { runs pending } }")
        seconds = time.perf_counter() - began
        self._settle(service)
        return {SECONDS: seconds, "start_seconds": seconds, "megabytes": service.memory_megabytes()}

    def _view(self, turn: int) -> Sample:
        service = self._services.get("view") or self._lake()
        variables: dict[str, Any] = {"view": {"focus": [self._foci[turn % len(self._foci)]], "depth": 6}, "first": _SHOWN}
        began = time.perf_counter()
        shown = service.client.execute(_VIEW, **variables)["view"]
        seconds = time.perf_counter() - began
        if len(shown["nodes"]) != _SHOWN:
            raise RuntimeError(f"{len(shown['nodes'])} nodes were shown, not {_SHOWN}: the figure would be of another size")
        return {SECONDS: seconds}

    def _soak(self) -> Sample:
        service = self._service("intake")
        began = time.perf_counter()
        halves: list[tuple[float, int]] = []
        for half in (1, 2):
            while time.perf_counter() - began < _SOAK_SECONDS * half / 2:
                self._send(service, list(self._fresh(_SENT // 8)))
            self._settle(service)
            halves.append((service.memory_megabytes(), service.handles()))
        (memory, handles), (later, more) = halves
        return {SECONDS: time.perf_counter() - began, "grown_megabytes": later - memory, "grown_handles": float(more - handles)}

    def _service(self, name: str, home: Path | None = None) -> Service:
        if name not in self._services:
            if home is not None:
                shutil.copytree(home, self._folder / name)
            self._services[name] = Service(self._folder / name, log=self._folder / f"{name}.log")
        return self._services[name]

    def _lake(self) -> Service:
        """Start a service over the lake, with a key of the lake's tenant."""
        from bench.graphs.filled import TENANT, foci, sqlite_lake
        from headwater.backend.access.keys import KeyRing
        from headwater.backend.home.folder import Home
        from headwater.graph.access.scopes import ROLES
        from headwater.transport import GraphQLClient

        home = Home.at(self._folder / "view").create()
        shutil.copyfile(sqlite_lake(self._nodes) / "graph.db", home.graph)
        ring = KeyRing(home.named_keys)
        _, key = ring.create("bench", ROLES["investigator"], tenant=TENANT)
        ring.close()
        service = self._services["view"] = Service(home.path, log=self._folder / "view.log")
        service.client = GraphQLClient(service.url, key)
        self._foci = foci(self._nodes)
        return service

    def _fresh(self, number: int) -> list[bytes]:
        return [next(run_events.events(next(self._next), 1)) for _ in range(number)]

    def _send(self, service: Service, bodies: list[bytes]) -> Load:
        return send(service.url, "/api/v1/lineage", {"X-Api-Key": service.key}, bodies, connections=_CONNECTIONS)

    def _settle(self, service: Service) -> None:
        """Wait until the graph contains all sent events."""
        while service.client.execute("{ service { pending } }")["service"]["pending"]:
            time.sleep(0.05)


def _count(name: str, case: str, quantity: str, unit: str, target: float | None, *, per: str | None = None) -> Measure:
    statistic = Statistic.SHARE if per else Statistic.MEDIAN
    return Measure(name=name, cases=(case,), arm="service", statistic=statistic, quantity=quantity, per=per, unit=unit, target=target)


def suite(scale: float | None = None) -> Suite:
    return ServiceSuite(scale or 1.0)


if __name__ == "__main__":
    send(
        sys.argv[1], "/api/v1/lineage", {"X-Api-Key": sys.argv[2]}, list(run_events.events(int(sys.argv[3]), 20_000)),
        connections=_CONNECTIONS,
    )  # fmt: skip
