"""An arm over Spark: one warm JVM, in which each case is a query whose result is written as Parquet.

Capturing arms attach as a user does, by `headwater.attach(spark)`. What a user does not wait for (the listener's work after a query's
end, the spool, keeping the associations) is waited for after the clock has stopped, so that it falls into nobody's time; its
processor time is counted apart.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.spark import keeping
from bench.spark.processes import Processes
from bench.spark.session import java_process, start, with_distinct_names
from bench.spark.spool import SpoolWatch
from bench.suite import SECONDS, Sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Makes the DataFrame, or the several, that a case writes.
Program = Callable[["SparkSession"], "DataFrame | tuple[DataFrame, ...]"]

PLAIN = ("plain", "control")
CAPTURING = ("coarse", "lazy", "active", "auto")
_ROOM = 1 << 50  # bytes of the spool: nothing is delivered here, so what was counted and removed would fill it, and a capture be dropped


class SparkArm:
    """`name` is a plain arm or a mode of capture. `programs` make the DataFrame of each case, lazily."""

    def __init__(self, name: str, folder: Path, programs: Mapping[str, Program], tables: Mapping[str, Path], *, memory: str = "3g") -> None:
        self._mode = None if name in PLAIN else name
        self._programs = programs
        self._folder = folder / name
        self._folder.mkdir()
        self.spark = start(self._folder, memory=memory, tables=tables)
        self._processes = Processes(java_process(self.spark))
        self._watch: SpoolWatch | None = None
        self._kept: set[str] = set()
        if self._mode is not None:
            import headwater

            home = self._folder / "home"
            headwater.attach(self.spark, mode=self._mode, home=str(home), quiet=True, exit_wait=0, spool_bytes=_ROOM)
            self._watch = SpoolWatch(home)

    def run(self, case: str, turn: int) -> Sample:
        """Run a query. Its text is parsed, its plan made and its result written within the time."""
        program, target = self._programs[case], str(self._folder / "out" / case)
        cpu, began = self._processes.cpu_seconds(), time.perf_counter()
        made = program(self.spark)
        frames = made if isinstance(made, tuple) else (made,)
        for number, frame in enumerate(frames):
            with_distinct_names(frame).write.mode("overwrite").parquet(f"{target}-{number}")
        seconds = time.perf_counter() - began
        used = self._processes.cpu_seconds()
        sample = {SECONDS: seconds, "cpu_seconds": used - cpu}
        if self._watch is None:
            return sample
        manifests = [manifest for _ in frames for manifest in self._watch.until_run_ends()]
        sample["cpu_seconds_after"] = self._processes.cpu_seconds() - used
        if self._mode != "coarse" and not manifests:
            raise RuntimeError(f"{case} left no manifest in mode {self._mode}: the figures would compare plain with plain")
        for number, manifest in enumerate(manifests):
            for name, value in self._counted(f"{case}-{number}", turn, manifest).items():
                sample[name] = sample.get(name, 0.0) + value
        return sample

    def close(self) -> None:
        """End the session; its JVM ends with the process."""
        self.spark.stop()

    def _counted(self, case: str, turn: int, manifest: Mapping[str, Any]) -> dict[str, float]:
        captured = manifest["status"] == "complete"
        segments = self._watch.segments(manifest["capture"]) if self._watch else Path()
        found = {"cases": 1.0, "captured": float(captured), "planning_ms": float(manifest["cost"]["planning_ms"])}
        if captured:
            found |= counts(manifest)
            if turn >= 0 and case not in self._kept:  # once is enough: the same records give the same bytes
                self._kept.add(case)
                found["kept_bytes"], found["keeping_cpu_seconds"] = keeping.keep(manifest, segments, self._folder / "kept")
                shutil.rmtree(self._folder / "kept")
        shutil.rmtree(segments, ignore_errors=True)  # a whole run's would fill the disk, and the spool's bound
        return found


def counts(manifest: Mapping[str, Any]) -> dict[str, float]:
    """What a manifest says about sizes: associations (rows of boundaries), references in them, bytes spooled and bytes of what was read."""
    references = {
        boundary["boundary"]: sum(column["role"] == "ref" for column in boundary["columns"]) for boundary in manifest["boundaries"]
    }
    segments = manifest["segments"]
    # What nothing refers to (the right side of an anti-join) is a source without files.
    read = {file["path"]: file["length"] for source in manifest["sources"] for file in source.get("files", ())}
    return {
        "associations": float(sum(segment["rows"] for segment in segments)),
        "references": float(sum(segment["rows"] * references[segment["boundary"]] for segment in segments)),
        "spooled_bytes": float(sum(segment["bytes"] for segment in segments)),
        "input_bytes": float(sum(read.values())),
    }
