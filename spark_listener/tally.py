"""Counters for one application's capture, for the ledger and the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_FOR_SECOND_RUN = 1_000  # outputs; the summary names a few
_SECONDS = ("driver_seconds", "spark_seconds", "planning_seconds", "task_seconds", "thread_seconds")


@dataclass(slots=True)
class Tally:
    """Counters for one application's capture. `associations` are rows of segments; `refused` counts queries by (operator, reason).

    The cost of capture: `loading_seconds` before the program; `driver_seconds` in the hooks, mostly at start and end of Spark, and
    `spark_seconds`, the part of these that Spark needs without capture; `compile_seconds` for the Java classes; `planning_seconds` for
    rewriting plans; `delivery_seconds` at the end of the program. In processor time: `task_seconds` for writing associations,
    `thread_seconds` for the listener's thread.
    """

    queries: int = 0
    rdd_jobs: int = 0  # jobs outside of SQL, including those that are not separate runs
    streams: int = 0
    operations: int = 0  # declared ones
    failed: int = 0
    captured: int = 0
    dropped: int = 0
    associations: int = 0
    bytes: int = 0
    loading_seconds: float = 0.0
    driver_seconds: float = 0.0
    spark_seconds: float = 0.0
    planning_seconds: float = 0.0
    delivery_seconds: float = 0.0
    task_seconds: float = 0.0
    thread_seconds: float = 0.0
    traceable: tuple[str, str] | None = None  # the last output with record lineage
    for_second_run: dict[str, set[str]] = field(
        default_factory=dict
    )  # inputs by the path of an output with records that a second run may find
    found_again_in: dict[str, set[str]] = field(
        default_factory=dict
    )  # by the path of an output: the paths in which its groups can be found again
    overwritten: set[str] = field(default_factory=set)  # the folders that jobs of the home overwrite
    has_program: bool = False  # whether the program can be started again
    began: float = 0.0  # start of the application
    unheard: str | None = None  # why no queries were reported; None: they were
    inputs: set[tuple[str, str]] = field(default_factory=set)
    outputs: set[tuple[str, str]] = field(default_factory=set)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    incomplete: Counter[tuple[str, str]] = field(default_factory=Counter)  # the same for queries with some records missing
    left_out: Counter[str] = field(default_factory=Counter)  # queries that are not separate runs, by kind

    @property
    def hook_seconds(self) -> float:
        return max(0.0, self.driver_seconds - self.spark_seconds)

    def datasets(self, inputs: Iterable[Any], outputs: Iterable[Any]) -> None:
        self.inputs.update((dataset.namespace, dataset.name) for dataset in inputs)
        self.outputs.update((dataset.namespace, dataset.name) for dataset in outputs)

    def spared(self, outputs: Iterable[Any], inputs: Iterable[Any]) -> None:
        """Note outputs whose records the mode left out and a second run may capture."""
        read = {dataset.name for dataset in inputs}
        for dataset in outputs:
            if dataset.name in self.for_second_run or len(self.for_second_run) < _MOST_FOR_SECOND_RUN:
                self.for_second_run.setdefault(dataset.name, set()).update(read)

    def left_groups(self, output: str, manifest: Mapping[str, Any]) -> None:
        """Note that a trace computes groups of an output again from the sources of a capture."""
        if any("derived" in boundary for boundary in manifest.get("boundaries") or ()):
            names = {source["dataset"]["name"] for source in manifest["sources"] if source["dataset"]["namespace"] == "file"}
            self.found_again_in.setdefault(output, set()).update(names)

    def problems(self, problems: Iterable[Mapping[str, Any]]) -> None:
        """Count the reasons why a query lacks record lineage, or some of it."""
        distinct = {(str(one.get("operator") or ""), str(one.get("reason") or ""), one.get("kind")) for one in problems}
        for operator, reason, kind in distinct:
            if kind in {"missing", "influence"}:
                self.incomplete[operator, reason] += 1
            elif kind != "superset":
                self.refused[operator, reason] += 1

    def capture(self, manifest: Mapping[str, Any]) -> None:
        cost = manifest.get("cost") or {}
        self.planning_seconds += float(cost.get("planning_ms", 0.0)) / 1000
        self.task_seconds += float(cost.get("tasks_ms", 0.0)) / 1000
        if manifest.get("status") == "refused":
            return
        self.traceable = (str(manifest["sink"]["dataset"]["namespace"]), str(manifest["sink"]["dataset"]["name"]))
        self.captured += 1
        self.associations += sum(int(segment.get("rows", 0)) for segment in manifest.get("segments", ()))
        self.bytes += sum(int(segment.get("bytes", 0)) for segment in manifest.get("segments", ()))

    def add(self, other: Tally) -> None:
        for name in ("queries", "rdd_jobs", "streams", "operations", "failed", "captured", "dropped", "associations", "bytes", *_SECONDS):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.traceable = other.traceable or self.traceable
        self.unheard = other.unheard or self.unheard
        self.inputs |= other.inputs
        self.outputs |= other.outputs
        self.for_second_run |= other.for_second_run
        self.began = self.began or other.began
        self.overwritten |= other.overwritten
        for output, paths in other.found_again_in.items():
            self.found_again_in.setdefault(output, set()).update(paths)
        self.has_program = self.has_program or other.has_program
        self.refused += other.refused
        self.incomplete += other.incomplete
        self.left_out += other.left_out
