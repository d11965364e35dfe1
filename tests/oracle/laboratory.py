"""A Spark session with capture and a store of what was captured: what runs a program and asks for the lineage of its output."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from bench.truth.published import publish
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from headwater.graph.trace.record_pairs import trace_pairs
from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY, start_with

TENANT = "default"
# Settings without compilation, which takes longer than a small query. For sessions whose operators are captured
# in another that compiles them (tests/spark_listener/capture, test_random_plans.py), or whose programs run in another mode, too.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Laboratory:
    """See the module's docstring. `segments` is where captures go, `folder` is for whatever a test writes."""

    spark: SparkSession
    bridge: Bridge
    folder: Path
    store: AssociationStore

    @property
    def segments(self) -> Path:
        """Where tasks write."""
        return self.folder / "segments"

    def captured(self) -> Mapping[str, Any]:
        """The capture of the one query that wrote since it was last asked."""
        assert self.bridge.flush(PATIENTLY)
        events = self.bridge.drain(5_000)
        ends = [entry for entry in events if entry["event"] == "query_end" and entry.get("capture")]
        assert len(ends) == 1, events
        capture: Mapping[str, Any] = ends[0]["capture"]
        return capture

    def take(self) -> list[Mapping[str, Any]]:
        """All captures of queries that wrote since it was last asked, each made to count."""
        assert self.bridge.flush(PATIENTLY)
        found: list[Mapping[str, Any]] = []
        while events := self.bridge.drain(500):
            assert not [event for event in events if event["event"] in ("fault", "off", "dropped")], events
            found += [event["capture"] for event in events if event["event"] == "query_end" and event.get("capture")]
        for capture in found:
            if capture["status"] != "refused" and capture.get("sink"):
                self.publish(capture)
        return found

    def forget(self) -> None:
        """Let go of what was captured since it was last asked."""
        assert self.bridge.flush(PATIENTLY)
        while self.bridge.drain(0):
            pass

    @contextmanager
    def without_capture(self) -> Iterator[None]:
        """Run queries as Spark does without us."""
        optimizer = self.spark._jsparkSession.experimental()
        put, rules = getattr(optimizer, "extraOptimizations_$eq"), optimizer.extraOptimizations()
        put(rules.take(0))
        try:
            yield
        finally:
            put(rules)

    def publish(self, capture: Mapping[str, Any]) -> None:
        """Make it count."""
        publish(self.store, TENANT, capture, self.segments)

    def ask(self, dataset: Path | str, place: Place, semantics: Semantics, **request: Any) -> TraceAnswer:
        """Where the record at a place came from."""
        asked = TraceRequest(dataset=str(dataset), rows=[place], semantics=semantics, values=False, **request)
        return asyncio.run(trace(None, self.store, TENANT, asked))

    def ask_each(self, dataset: Path | str, places: Sequence[Place], semantics: Semantics) -> tuple[dict[Place, frozenset[Place]], bool]:
        """Where each of some records came from, in one walk; and whether all of that is exact."""
        return asyncio.run(self._ask_each(TraceRequest(dataset=str(dataset), rows=places, semantics=semantics)))

    async def _ask_each(self, asked: TraceRequest) -> tuple[dict[Place, frozenset[Place]], bool]:
        found: dict[Place, set[Place]] = {place: set() for place in asked.rows}
        async with trace_pairs(None, self.store, TENANT, asked) as traced:
            paths = [file.block.path for file in traced.files]
            for file, row, source, record in traced.read_pairs():
                found[paths[file], row].add((paths[source], record))
            return {place: frozenset(records) for place, records in found.items()}, traced.exact


@contextmanager
def laboratory_in(folder: Path, *, budget: float, submitted: str = "", conf: Mapping[str, str] | None = None) -> Iterator[Laboratory]:
    """One with a session of its own. `budget`: seconds that a trace may take for what is not written; 0: all is written.

    `submitted` are options of spark-submit, `conf` settings of the session.
    """
    start_with(submitted)
    builder = SparkSession.builder.master("local[2]").appName("random").config("spark.ui.enabled", "false").config(map=dict(conf or {}))
    spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.crossJoin.enabled", "true").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    bridge = Bridge.install(spark, mode="active", segments=str(folder / "segments"), budget=budget)
    store = AssociationStore(folder / "associations", sources=ANYWHERE)
    try:
        yield Laboratory(spark, bridge, folder, store)
    finally:
        bridge.close()
        store.close()
        spark.stop()
