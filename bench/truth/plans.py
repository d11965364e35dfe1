"""Compares executed plans: operators and join strategies, pushed filters, rows read."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE = 120

# Filters and projections may be combined differently, at the same cost.
_KEPT = (
    "Scan",
    "Join",
    "Aggregate",
    "Exchange",
    "Window",
    "Sort",
    "Union",
    "Expand",
    "Generate",
    "Limit",
    "Ordered",
    "EvalPython",
    "Reused",
)


@dataclass(frozen=True)
class Executed:
    """The comparable parts of an executed plan, as multisets because order is irrelevant."""

    operators: Counter[str]
    pushed: Counter[str]
    read: Counter[tuple[str, int]]


def executed(spark: SparkSession, execution: int) -> Executed:
    """Return the parts of an execution, from Spark's own listener."""
    store = spark._jsparkSession.sharedState().statusStore()  # noqa: SLF001  # PySpark has no public way to it
    text = str(ended(store, execution).physicalPlanDescription())
    return Executed(operators=Counter(_operators(text)), pushed=Counter(_pushed(text)), read=Counter(_read(store, execution)))


def ended(store: Any, execution: int) -> Any:
    """Wait for the record of Spark's own listener about an execution. It aggregates metrics in the background, with a short delay."""
    until = time.monotonic() + _PATIENCE
    while (kept := store.execution(execution).get()).metricValues() is None:
        if time.monotonic() > until:
            raise TimeoutError(f"Spark has not summed up the metrics of its execution {execution} in {_PATIENCE} seconds.")
        time.sleep(0.01)
    return kept


def differences(without: Executed, captured: Executed) -> list[str]:
    return [
        *_between("operator", without.operators, captured.operators),
        *_between("pushed", without.pushed, captured.pushed),
        *_between("read", without.read, captured.read),
    ]


def _operators(text: str) -> Iterable[str]:
    adaptive = re.search(r"== (?:Final|Current) Plan ==(.*?)== Initial Plan ==", text, re.DOTALL)
    tree = adaptive[1] if adaptive else text.split("\n\n", maxsplit=1)[0]
    for line in tree.splitlines():
        if "(unknown)" in line:
            continue  # part of a logical plan that was empty and did not run
        name = re.sub(r"[^A-Za-z ]", "", re.sub(r"Statistics.*", "", line)).strip()
        if any(kept in name for kept in _KEPT):
            yield name


def _pushed(text: str) -> Iterable[str]:
    for line in text.splitlines():
        if line.startswith(("PushedFilters", "PartitionFilters", "Batched")):
            yield re.sub(r"#\d+L?", "", line)


def _read(store: Any, execution: int) -> Iterable[tuple[str, int]]:
    metrics = store.executionMetrics(execution)
    nodes = store.planGraph(execution).allNodes()
    for place in range(nodes.size()):
        node = nodes.apply(place)
        name = str(node.name())
        if not name.startswith("Scan"):
            continue
        for number in range(node.metrics().size()):
            metric = node.metrics().apply(number)
            if metric.name() == "number of output rows":
                counted = metrics.get(metric.accumulatorId())
                yield name.strip(), int(str(counted.get()).replace(",", "")) if counted.isDefined() else 0


def _between(what: str, without: Counter[Any], captured: Counter[Any]) -> Iterable[str]:
    for entry, count in sorted((without - captured).items(), key=str):
        yield f"{what} only without capture: {entry} ×{count}"
    for entry, count in sorted((captured - without).items(), key=str):
        yield f"{what} only with capture: {entry} ×{count}"
