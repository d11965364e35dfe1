"""Runs RDD programs in turns, plain and captured, in one warm JVM. Measured in the same way as queries (`turns`).

A program makes an RDD of a context and a path. Its run ends when the RDD is saved as text. PySpark's methods are hooked in all arms, but
in plain ones nothing listens.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.processes import ProcessTree
from bench.spark import keeping
from bench.spark.counts import counts
from bench.spark.session import start
from bench.spark.spool import SpoolWatch
from bench.spark.turns import PLAIN
from bench.suite import PROCESSOR, SECONDS, Sample

Program = Callable[[Any], Any]
_ROOM = 1 << 50  # bytes of the spool; nothing is delivered here
_HEARD_MS = 60_000
_PYTHON = "python"


class RddTurns:
    """The runs of RDD programs. An arm is a plain one, a mode of capture, or `python`: active without the loops in C."""

    def __init__(self, folder: Path, programs: Mapping[str, Program], *, memory: str = "2g") -> None:
        from pyspark import RDD, SparkContext

        from headwater.spark_listener.rdd_records.operators import Hooks

        self._programs = programs
        self._folder = folder / "turns"
        self._folder.mkdir()
        self.spark = start(self._folder, memory=memory)
        self._processes = ProcessTree()
        self._application: Any = None
        self._faults: list[str] = []
        self._manifests: list[Mapping[str, Any]] = []
        self._kept: set[tuple[str, str]] = set()
        hooks = Hooks(
            lambda _: None if self._application is None else self._application.program,
            lambda doing, error: self._faults.append(f"{doing}: {error!r}"),
        )
        hooks.install_rdd(RDD)
        hooks.install_context(SparkContext)

    def run(self, arm: str, case: str, turn: int) -> Sample:
        """Run a program.

        Raises:
            RuntimeError: its records were not captured, so the figures would compare plain with plain.
        """
        if arm in PLAIN:
            return self._timed(case, None)
        home = self._folder / "home"
        try:
            with _loops(in_c=arm != _PYTHON), self._capturing("active" if arm == _PYTHON else arm, home) as watch:
                sample = dict(self._timed(case, watch))
                (manifest,) = self._manifests
                if manifest["status"] != "complete" or self._faults:
                    raise RuntimeError(f"{case} was not captured in mode {arm}: {manifest['problems'] or self._faults}")
                sample |= {"cases": 1.0, "captured": 1.0, "planning_ms": 0.0, **counts(manifest)}
                if turn >= 0 and (arm, case) not in self._kept:
                    self._kept.add((arm, case))
                    folder = self._folder / "kept"
                    sample["kept_bytes"], sample["keeping_cpu_seconds"] = keeping.keep(
                        manifest, watch.segments(manifest["capture"]), folder
                    )
                    shutil.rmtree(folder)
                return sample
        finally:
            shutil.rmtree(home / "spool", ignore_errors=True)

    def close(self) -> None:
        """End the session. Its JVM ends with the process."""
        self.spark.stop()

    @contextmanager
    def _capturing(self, mode: str, home: Path) -> Iterator[SpoolWatch]:
        from headwater.spark_listener.application import Application
        from headwater.spark_listener.breaker import Breaker
        from headwater.spark_listener.invocation import this_invocation
        from headwater.spark_listener.rdd import Origins
        from headwater.spark_listener.settings import load_settings
        from headwater.spark_listener.spark_conf import SparkConf

        settings = load_settings({}, mode=mode, home=str(home), quiet=True, exit_wait=0, spool_bytes=_ROOM)
        context = self.spark.sparkContext
        self._application = Application(context, settings, this_invocation(), Breaker(), Origins(), SparkConf.of(context))
        try:
            self._application.listen()
            watch = SpoolWatch(home)
            watch.until_application_starts()
            yield watch
        finally:
            application, self._application = self._application, None
            application.stopped()
            application.folder.close()

    def _timed(self, case: str, watch: SpoolWatch | None) -> dict[str, float]:
        context = self.spark.sparkContext
        target = str(self._folder / "out" / case)
        shutil.rmtree(target, ignore_errors=True)
        bus = context._jsc.sc().listenerBus()  # noqa: SLF001  # PySpark has no public way
        bus.waitUntilEmpty(_HEARD_MS)
        context._jvm.System.gc()  # type: ignore[union-attr]  # noqa: SLF001  # what earlier runs left in the heap
        before, began = self._processes.cpu_seconds(), time.perf_counter()
        self._save(self._programs[case](context), target)
        seconds = time.perf_counter() - began
        returned, watching = self._processes.cpu_seconds(), time.thread_time()
        bus.waitUntilEmpty(_HEARD_MS)
        if watch is not None:
            self._manifests = watch.until_run_ends()
            while not self._manifests:  # the sampling of a sort is a run of its own
                self._manifests = watch.until_run_ends()
        after = self._processes.cpu_seconds() - returned - (time.thread_time() - watching)  # without this thread, which only watches
        return {SECONDS: seconds, PROCESSOR: returned - before + after}

    def _save(self, rdd: Any, target: str) -> None:
        from headwater.spark_listener.rdd import SavedRDD, mark_jobs

        if self._application is None:
            rdd.saveAsTextFile(target)
            return
        now = time.time()
        saved = SavedRDD(id=uuid4().hex, operation="saveAsTextFile", inputs=[], outputs=[target], started=now, ended=now)
        mark_jobs(rdd.ctx, saved.id)
        saved = self._application.recorded(saved, rdd)
        (saved.rdd if saved.rdd is not None else rdd).saveAsTextFile(target)
        self._application.note(saved.ended_at(time.time(), None, self._application.capture(saved)))
        mark_jobs(rdd.ctx, None)


@contextmanager
def _loops(*, in_c: bool) -> Iterator[None]:
    """Let workers use the loops in C or in Python. The code that is sent to them contains the choice."""
    from headwater.spark_listener.rdd_records import _taps, blocks, starts  # noqa: F401  # where they are not compiled, this fails

    starts.COMPILED = blocks.COMPILED = in_c
    try:
        yield
    finally:
        starts.COMPILED = blocks.COMPILED = True
