"""A session that reads a server's rows by key, with capture, for tests: what it writes is published, and traced in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.graph.associations import Manifest
from headwater.graph.records import AssociationStore
from headwater.graph.records.roots import DataRoots
from headwater.graph.storage import Remote, read_roots
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.lineage.queries import QueryContext, query_of
from headwater.spark_listener.settings import Mode
from tests.jvm import PATIENTLY, start_with

_CONTEXT = QueryContext(
    application=RunName("default", "keyed", str(uuid4())), application_id="a", application_name="keyed", spark_version="4.1",
    job_prefix="keyed", mode=Mode.ACTIVE,
)  # fmt: skip


class KeyedReader:
    """See the module's docstring. `roots` is the text of a `storage.toml`; `secret` must stand in nothing that is captured."""

    def __init__(self, spark: SparkSession, bridge: Bridge, folder: Path, roots: str, *, secret: str | None = None) -> None:
        self.spark, self.bridge, self.folder, self._secret = spark, bridge, folder, secret
        self.store = self.store_of(self.remote(roots))
        self._outs = 0

    def remote(self, roots: str) -> Remote:
        """The storage that the text of a `storage.toml` opens."""
        path = self.folder / f"{uuid4()}.toml"
        path.write_text(roots)
        return Remote(read_roots(path))

    def store_of(self, remote: Remote) -> AssociationStore:
        """The associations that were published, for a service that reads other storage."""
        return AssociationStore(self.folder / "associations", sources=DataRoots(None, remote=remote))

    def write(self, frame: DataFrame) -> Path:
        """Write a frame; the capture is published."""
        self._outs += 1
        out = self.folder / f"out{self._outs}"
        assert self.bridge.flush(PATIENTLY)
        while self.bridge.drain(0):
            pass
        frame.write.parquet(str(out))
        assert self.bridge.flush(PATIENTLY)
        events = self.bridge.drain(1000)
        assert not [event for event in events if event["event"] in ("fault", "off", "dropped")], events
        (self.event,) = [event for event in events if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
        query = query_of(self.event, "2026-01-01T00:00:00Z", _CONTEXT, run_id=str(uuid4()), segments=self.folder / "segments")
        assert query is not None
        if self._secret is not None:
            assert self._secret not in json.dumps([query.manifest, query.work.inputs, query.work.ledger.problems], default=str)
        if query.manifest is not None:
            capture = query.manifest["capture"]
            for segment in query.manifest["segments"]:
                self.store.stage_segment("default", capture, segment["name"], self.folder / "segments" / capture / segment["name"])
            self.store.publish("default", Manifest.from_json(query.manifest))
        return out

    def traced(self, dataset: Any, where: str | None = None, *, store: AssociationStore | None = None, **more: Any) -> TraceAnswer:
        """Where records of a dataset came from."""
        return asyncio.run(trace(None, store or self.store, "default", TraceRequest(dataset=str(dataset), where=where, **more)))

    def exact(self, dataset: Any, where: str, **more: Any) -> TraceAnswer:
        """The answer, which must be exact."""
        answer = self.traced(dataset, where, **more)
        assert answer.exact, answer.incomplete
        return answer


@contextmanager
def keyed_session(folder: Path, submitted: str, **options: Any) -> Iterator[tuple[SparkSession, Bridge]]:
    """A session with capture. `submitted` are options of spark-submit, `options` those of the bridge."""
    start_with(submitted)
    builder = SparkSession.builder.master("local[2]").appName("keyed").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    bridge = Bridge.install(spark, mode="active", segments=str(folder / "segments"), budget=3600.0, **options)
    try:
        yield spark, bridge
    finally:
        bridge.close()
        spark.stop()
