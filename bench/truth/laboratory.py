"""A Spark application with capture in one of its sessions, and the store into which its captures are published."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from bench.spark.session import BRIEFLY, start
from bench.truth.layouts import Files, named
from bench.truth.published import publish
from bench.truth.scans import Scans, records_by_scan
from bench.truth.values import Written
from headwater.graph.records import AssociationStore
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.settings import load_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TENANT = "default"
_EVERYTHING = 1 << 40


@dataclass(frozen=True)
class Ran:
    """An executed query: its id in Spark, the URI and rows of its answer, and its capture, if there is one."""

    execution: int
    out: str
    answer: Sequence[Written]
    capture: Mapping[str, Any] | None


class Laboratory:
    """Three Spark sessions over the same tables, as a context manager. Only `captured` has capture; `plain` and `replayed` have none."""

    def __init__(self, folder: Path, tables: Mapping[str, Path], layout: Files, *, mode: str = "active") -> None:
        self._folder = folder
        self._mode = mode
        self.layout = layout
        self.plain = start(folder, memory="2g", java=f"{BRIEFLY} -Dderby.system.home={folder}", conf=layout.conf)
        self.tables = layout.prepared(self.plain, tables)
        layout.register(self.plain)
        self.replayed, self.captured = self.plain.newSession(), self.plain.newSession()
        for session in (self.replayed, self.captured):
            layout.register(session)
        budget = load_settings({}, mode=mode, home=str(folder)).derivation_budget
        self._bridge = Bridge.install(self.captured, mode=mode, segments=str(folder / "segments"), budget=budget, readable=layout.readable)
        self._store = AssociationStore(folder / "associations", sources=layout.sources())

    def run(self, session: SparkSession, text: str, name: str) -> Ran:
        """Run a query and write its answer."""
        frame = named(session.sql(text))
        self.layout.make_room(frame, name)
        self._drain()
        out = self.layout.write(frame, name)
        ends = [event for event in self._drain() if event["event"] == "query_end" and _writes(event)]
        if len(ends) != 1:
            raise RuntimeError(f"one write has {len(ends)} ends")
        answer = list(self.layout.answer(self.plain, out, frame))
        return Ran(
            execution=self.layout.execution(self.plain, int(ends[0]["execution"])), out=out, answer=answer, capture=ends[0].get("capture")
        )

    def publish(self, capture: Mapping[str, Any]) -> None:
        """Store the associations of a capture, so that they can be traced."""
        segments = self._folder / "segments"
        publish(self._store, _TENANT, capture, segments, mode=self._mode)
        shutil.rmtree(segments / capture["capture"], ignore_errors=True)  # the folder is missing if no rows flowed

    def trace(self, out: str, file: str, row: int, semantics: Semantics) -> TraceAnswer:
        request = TraceRequest(dataset=out.removeprefix("file:"), rows=[(file, row)], semantics=semantics, values=False, limit=_EVERYTHING)
        return asyncio.run(trace(None, self._store, _TENANT, request))

    def scans(self, capture: str, file: str, row: int, semantics: Semantics) -> Scans:
        """Return the traced records, scan by scan."""
        return records_by_scan(self._store, _TENANT, capture, file, row, semantics)

    def forget(self, capture: str) -> None:
        self._store.drop(_TENANT, capture)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None) -> None:
        self._bridge.close()
        self._store.close()
        self.plain.stop()

    def _drain(self) -> list[dict[str, Any]]:
        self._bridge.flush()
        events: list[dict[str, Any]] = []
        while batch := self._bridge.drain(0):
            events += batch
        return events


def _writes(end: Mapping[str, Any]) -> bool:
    """Whether a query wrote rows. Creating a table for them is a separate command."""
    sink = (end.get("plan") or {}).get("sink") or {}
    return bool(sink) and not sink.get("only_change")
