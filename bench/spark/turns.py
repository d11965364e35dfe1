"""Runs the queries of a suite in turns, plain and captured, in one warm JVM.

A run's wall time ends when its results are written. Its processor time is that of all processes until all work for the query is done:
Spark's listeners have received its events and, if it is captured, its end is in the spool. A young JVM compiles for minutes, and at random
times, so the processor time without compilation is a figure of its own.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.processes import COMPILATION, ProcessTree, added_seconds, thread_seconds
from bench.spark import keeping
from bench.spark.capturing import capturing, without_rules
from bench.spark.counts import counts
from bench.spark.reference import listening
from bench.spark.session import start, with_distinct_names
from bench.suite import IN_PART, PROCESSOR, SECONDS, UNCOMPILED, Sample
from bench.truth.layouts import Files, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bench.spark.spool import SpoolWatch

# Returns the DataFrame or DataFrames that a case writes.
Program = Callable[["SparkSession"], "DataFrame | tuple[DataFrame, ...]"]

PLAIN = ("plain", "control")
CAPTURING = ("coarse", "lazy", "active", "auto")
PYTHON = "Python"
REFERENCE = "reference"  # OpenLineage's own integration instead of Headwater
_HEARD_MS = 60_000


class SparkTurns:
    """The runs of queries. `programs` make the lazy DataFrame of each case. An arm is plain, a mode of capture or the reference.

    With a `layout` (bench/truth/layouts.py), tables and answers have its format and place, else they are local Parquet files.
    """

    def __init__(
        self,
        folder: Path,
        programs: Mapping[str, Program],
        tables: Mapping[str, Path],
        *,
        memory: str = "3g",
        layout: Callable[[Path], Files] | None = None,
    ) -> None:
        self._programs = programs
        self._folder = folder / "turns"
        self._folder.mkdir()
        self._layout = layout(self._folder) if layout else None
        if self._layout is None:
            self.spark = start(self._folder, memory=memory, tables=tables)
        else:
            # Splits have their usual sizes.
            conf = {name: value for name, value in self._layout.conf.items() if not name.startswith("spark.sql.files.")}
            self.spark = start(self._folder, memory=memory, java=f"-Dderby.system.home={self._folder}", conf=conf)
            self._layout.prepared(self.spark, tables)
            self._layout.register(self.spark)
        self._processes = ProcessTree()
        self._kept: set[tuple[str, str]] = set()

    def run(self, arm: str, case: str, turn: int) -> Sample:
        """Run a query. Parsing, planning and writing the result are within the time.

        Raises:
            RuntimeError: the query was not captured, so the figures would compare plain with plain.
        """
        if self._layout is not None:
            for number, frame in enumerate(self._frames(case)):
                self._layout.make_room(frame, f"{case}_{number}")
        if arm in PLAIN:
            with without_rules(self.spark):
                return self._timed(case, None)[0]
        if arm == REFERENCE:
            with without_rules(self.spark), listening(self.spark, self._folder / "reference.json"):
                return self._timed(case, None)[0]
        home = self._folder / "home"
        try:
            with capturing(self.spark, arm, home) as watch:
                sample, manifests = self._timed(case, watch)
                sample["to_disk_ms"] = watch.milliseconds_to_disk()
                if arm != "coarse":
                    sample |= self._counted(arm, case, turn, manifests, watch)
                return sample
        finally:
            shutil.rmtree(home / "spool", ignore_errors=True)  # the home itself stays with its records of earlier runs

    @cached_property
    def _machine(self) -> int:
        """The process of the JVM."""
        jvm: Any = self.spark.sparkContext._jvm  # noqa: SLF001  # PySpark has no public way
        return int(jvm.java.lang.ProcessHandle.current().pid())

    def close(self) -> None:
        """End the session. Its JVM ends with the process."""
        self.spark.stop()

    def _timed(self, case: str, watch: SpoolWatch | None) -> tuple[dict[str, float], list[Mapping[str, Any]]]:
        target = str(self._folder / "out" / case)
        bus = self.spark.sparkContext._jsc.sc().listenerBus()  # noqa: SLF001  # PySpark has no public way
        bus.waitUntilEmpty(_HEARD_MS)
        self.spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]  # noqa: SLF001  # what earlier runs left in the heap
        threads, in_python = thread_seconds(self._machine), time.process_time()
        before, began = self._processes.cpu_seconds(), time.perf_counter()
        frames = self._frames(case)
        for number, frame in enumerate(frames):
            if self._layout is not None:
                self._layout.write(frame, f"{case}_{number}")
            else:
                frame.write.mode("overwrite").parquet(f"{target}-{number}")
        seconds = time.perf_counter() - began
        returned, watching = self._processes.cpu_seconds(), time.thread_time()
        bus.waitUntilEmpty(_HEARD_MS)
        manifests = [manifest for _ in frames for manifest in watch.until_run_ends()] if watch else []
        watching = time.thread_time() - watching  # this thread only watches
        after = self._processes.cpu_seconds() - returned - watching
        used = added_seconds(threads, thread_seconds(self._machine))
        used[PYTHON] = time.process_time() - in_python - watching
        processor = returned - before + after
        sample = {SECONDS: seconds, PROCESSOR: processor, UNCOMPILED: processor - used[COMPILATION], "cpu_seconds_after": after}
        return sample | {f"{IN_PART}{part}": spent for part, spent in used.items()}, manifests

    def _frames(self, case: str) -> tuple[DataFrame, ...]:
        """Return the DataFrames that a case writes, with column names that its format accepts."""
        made = self._programs[case](self.spark)
        frames = made if isinstance(made, tuple) else (made,)
        return tuple(with_distinct_names(frame) if self._layout is None else named(frame) for frame in frames)

    def _counted(self, arm: str, case: str, turn: int, manifests: list[Mapping[str, Any]], watch: SpoolWatch) -> dict[str, float]:
        if not manifests:
            raise RuntimeError(f"{case} left no manifest in mode {arm}: the figures would compare plain with plain")
        found: dict[str, float] = {}
        for manifest in manifests:
            captured = manifest["status"] == "complete"
            one = {"cases": 1.0, "captured": float(captured)}
            one |= {name: float(manifest["cost"][name]) for name in ("planning_ms", "tasks_ms")}
            if captured:
                one |= counts(manifest)
                if turn >= 0 and (arm, case) not in self._kept:  # once is enough, because the same records give the same bytes
                    folder = self._folder / "kept"
                    one["kept_bytes"], one["keeping_cpu_seconds"] = keeping.keep(manifest, watch.segments(manifest["capture"]), folder)
                    shutil.rmtree(folder)
            for name, value in one.items():
                found[name] = found.get(name, 0.0) + value
        if turn >= 0:
            self._kept.add((arm, case))
        return found
