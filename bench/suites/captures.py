"""Whether traces slow down with the number of kept captures: the same one-row traces at 10, 10,000 and 200,000 captures.

The homes are those of [bench/data/captures.py](../data/captures.py), made once and kept. One process has all of them open, each with its
graph and index as in a service. It puts every question to each in a random order, one right after the other, so that other work of the
machine slows all sizes alike. Wall and processor time are reported. *publishing* adds the next capture (one file read, one written, one
segment), and removes it again. *its bytes* is the time of a durable write of the same files. Memory is that of a process that opens one
home and puts all questions ten times, without the index of the graph, which has a bound of its own (`HEADWATER_INDEX_BYTES`). The start
is that of `headwater serve`, until it answers. On a machine with other work, use the processor time of a start and of a publishing.
`--scale 0.05`: a twentieth of the captures.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Any, TypeVar
from uuid import uuid4

from bench.data import captures
from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite

T = TypeVar("T")
_SIZES = (10, 10_000, 200_000)
_GROWTH, _PUBLISHING_MS, _START_SECONDS, _MEMORY_GROWTH = 1.2, 20.0, 5.0, 1.2
_INDEX_BYTES = 512 << 20  # the service's default
_STARTS, _QUESTIONS = 3, 10
_BESIDE = "beside"
_TRACES = ("backward", "backward to a source", "backward to a shared table", "forward", "forward to a result")


class CapturesSuite:
    """Three sizes in one process. The control is a second arm with the same work."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        least, most = sizes[0], sizes[-1]
        growth = [
            Measure(
                name=f"{case}, {most:,} ÷ {least:,} captures{of}", cases=(case,), arm="traces", statistic=Statistic.SHARE,
                quantity=f"{what}_{most}", per=f"{what}_{least}", unit="×", target=_GROWTH,
            )
            for case in _TRACES
            for what, of in (("milliseconds", ""), ("cpu_milliseconds", ", processor"))
        ]  # fmt: skip
        times = [
            Measure(
                name=f"{case}, {size:,} captures", cases=(case,), arm="traces", statistic=Statistic.MEDIAN,
                quantity=f"milliseconds_{size}", unit="ms",
            )
            for case in _TRACES
            for size in sizes
        ]  # fmt: skip
        more = [
            Measure(
                name=f"{name}, {size:,} captures", cases=("publishing",), arm="traces", statistic=Statistic.MEDIAN,
                quantity=f"{quantity}_{size}", unit=unit, target=target,
            )
            for size in sizes
            for name, quantity, unit, target in (
                ("publishing beyond its bytes", "beyond_milliseconds", "ms", _PUBLISHING_MS),
                ("publishing, processor", "cpu_milliseconds", "ms", _PUBLISHING_MS),
                ("publishing", "milliseconds", "ms", None),
                ("publishing, its bytes", "bytes_milliseconds", "ms", None),
                ("start of the service", "start_seconds", "s", _START_SECONDS),
                ("start of the service, processor", "start_cpu_seconds", "s", _START_SECONDS),
                ("memory of traces", "memory_megabytes", "MB", None),
            )
        ]  # fmt: skip
        memory = Measure(
            name=f"memory of traces, {most:,} ÷ {least:,} captures", cases=("publishing",), arm="traces", statistic=Statistic.SHARE,
            quantity=f"memory_megabytes_{most}", per=f"memory_megabytes_{least}", unit="×", target=_MEMORY_GROWTH,
        )  # fmt: skip
        self._sizes = sizes
        self.plan = Plan(
            name="captures" if sizes == _SIZES else f"captures-{most}",
            arms=("traces", "control"),
            baseline="traces",
            control="control",
            cases=(*_TRACES, "publishing"),
            measures=[*growth, memory, *times, *more],
            rounds=100,
            warm_up=10,
        )

    def prepare(self, folder: Path) -> None:
        (folder / _BESIDE).mkdir()
        for size in self._sizes:
            captures.home_of(size)

    def arm(self, name: str, folder: Path) -> Arm:
        """Open all homes. The first arm also starts services on them, and processes whose memory is measured."""
        return _TracesArm(self._sizes, folder, is_measured=name == self.plan.baseline)


class _TracesArm:
    def __init__(self, sizes: tuple[int, ...], folder: Path, *, is_measured: bool) -> None:
        from headwater.backend.process.garbage_collection import settle

        self._folder = folder
        self._constant: dict[str, float] = {}
        if is_measured:
            starts: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes}
            for _ in range(_STARTS):
                for size in sizes:
                    starts[size].append(_start(captures.home_of(size)))
            for size, found in starts.items():
                self._constant[f"start_seconds_{size}"] = median(seconds for seconds, _ in found)
                self._constant[f"start_cpu_seconds_{size}"] = median(cpu for _, cpu in found)
                self._constant[f"memory_megabytes_{size}"] = _memory(size)
        self._loop = asyncio.new_event_loop()
        self._homes = {size: Home(captures.home_of(size), self._wait) for size in sizes}
        settle()  # as the service does

    def run(self, case: str, turn: int) -> Sample:
        sizes = list(self._homes)
        random.Random(f"{case}/{turn}").shuffle(sizes)
        sample: dict[str, float] = {}
        for size in sizes:
            home = self._homes[size]
            wall, cpu = time.perf_counter(), time.process_time()
            if case == "publishing":
                sample[f"bytes_milliseconds_{size}"] = home.publish(Path(mkdtemp(dir=self._folder / _BESIDE)))
                wall += sample[f"bytes_milliseconds_{size}"] / 1000
            else:
                home.ask(case, turn)
            sample[f"milliseconds_{size}"] = 1000 * (time.perf_counter() - wall)
            sample[f"cpu_milliseconds_{size}"] = 1000 * (time.process_time() - cpu)
            if case == "publishing":
                sample[f"beyond_milliseconds_{size}"] = sample[f"milliseconds_{size}"] - sample[f"bytes_milliseconds_{size}"]
                home.strike()
        total = sum(value for name, value in sample.items() if name.startswith("milliseconds_"))
        return {SECONDS: total / 1000, **sample, **(self._constant if case == "publishing" else {})}

    def close(self) -> None:
        for home in self._homes.values():
            home.close()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


class Home:
    """A home to query. `wait` runs a coroutine to its end."""

    def __init__(self, folder: Path, wait: Any, *, index_bytes: int = _INDEX_BYTES) -> None:
        from headwater.graph.index import IndexedStore, open_indexed
        from headwater.graph.records import AssociationStore
        from headwater.graph.records.roots import DataRoots

        self._wait = wait
        self._records = AssociationStore(folder / "associations", sources=DataRoots.of([captures.lake()], never=[folder]))
        self._graph = open_indexed(f"sqlite:///{folder / 'graph.db'}", index_bytes=index_bytes)
        wait(self._graph.open())
        if isinstance(self._graph, IndexedStore):
            wait(self._graph.ready())
        self._published = ""

    def ask(self, case: str, turn: int) -> None:
        """Trace one record. Each turn traces another one."""
        from headwater.backend.home.settings import DEFAULT_TENANT
        from headwater.graph.trace import TraceRequest, trace

        lake = captures.lake()
        raw, report, table = (lake / name for name in ("asked/raw", "asked/report", "reference"))
        start, to = {
            "backward": (report, None), "backward to a source": (report, raw), "backward to a shared table": (report, table),
            "forward": (raw, None), "forward to a result": (table, report),
        }[case]  # fmt: skip
        request = TraceRequest(
            dataset=str(start), rows=[(str(start / "part-00000.parquet"), turn % captures.ROWS)], to=str(to) if to else None,
            forward=case.startswith("forward"),
        )  # fmt: skip
        answer = self._wait(trace(self._graph, self._records, DEFAULT_TENANT, request))
        if answer.total != (2 if case == "backward" else 1) or not answer.exact:
            raise RuntimeError(f"{case} at {self._records.root}: {answer}")

    def publish(self, scratch: Path) -> float:
        """Publish a new capture of the traced pipeline's first job. Returns the milliseconds of writing its files only."""
        from headwater.backend.home.settings import DEFAULT_TENANT
        from headwater.graph.associations import Manifest
        from headwater.graph.records.atomic_files import write_durably

        asked, _ = next(captures.pipeline(captures.lake()))
        file = asked["sources"][0]["files"][0]
        read = captures.Read(str(captures.lake() / "asked" / "raw"), (file["path"], file["length"], file["modified"]))
        made = (f"file:/lake/new/part-{uuid4()}.parquet", 1, 1)
        document, segments = captures.capture("new", [read], "/lake/new", made, captures.AFTER, uuid=str(uuid4()))
        self._published = document["capture"]
        for name, data in segments.items():
            self._records.stage_segment(DEFAULT_TENANT, self._published, name, data)
        self._records.publish(DEFAULT_TENANT, Manifest.from_json(document))
        kept = self._records.table(DEFAULT_TENANT, self._published, 0).parent
        began = time.perf_counter()
        for path in kept.iterdir():
            write_durably(scratch / path.name, path)
        for name, data in segments.items():
            write_durably(scratch / name, data)
        return 1000 * (time.perf_counter() - began)

    def strike(self) -> None:
        """Remove the published capture."""
        from headwater.backend.home.settings import DEFAULT_TENANT

        self._records.drop(DEFAULT_TENANT, self._published)

    def close(self) -> None:
        self._wait(self._graph.close())
        self._records.close()


def _start(home: Path) -> tuple[float, float]:
    """Return the seconds until a new service on a home answers, and its processor time until then."""
    from bench.service import Service

    began = time.perf_counter()
    service = Service(home)
    try:
        service.client.execute("{ service { captures } }")
        return time.perf_counter() - began, service.cpu_seconds()
    finally:
        service.stop()


def _memory(size: int) -> float:
    """Return the peak memory in megabytes of a process that opens a home and runs all queries repeatedly."""
    done = subprocess.run([sys.executable, "-m", "bench.suites.captures", str(size)], check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1])["megabytes"])


def _asked(size: int) -> Mapping[str, float]:
    import resource

    loop = asyncio.new_event_loop()
    home = Home(captures.home_of(size), loop.run_until_complete, index_bytes=0)
    for turn in range(_QUESTIONS):
        for case in _TRACES:
            home.ask(case, turn)
    home.close()
    return {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def suite(scale: float | None = None) -> Suite:
    return CapturesSuite(_SIZES if scale is None else tuple(sorted({max(10, round(size * scale)) for size in _SIZES})))


if __name__ == "__main__":
    print(json.dumps(_asked(int(sys.argv[1]))))
