"""Compares the tasks of each stage of a run: how uneven a stage is, and which tasks stand out among their siblings.

The numbers are those that the graph has of a task: the rows and bytes that it recorded, and its duration. Few tasks with little work are
normal: a partition may be empty, and the last split of a file is short. So only tasks with more than their siblings are suspects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from headwater.graph.culprits.outliers import LEAST_RUNS, Suspect, find_outliers
from headwater.graph.model import EdgeKind, Node, NodeKind, kind_of
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.suspects.metrics import Metrics, seconds_of

_ERROR_RATE = 0.005  # the chance that a healthy run has a suspect task
_LEAST_RATIO = 2.0  # of a suspect's value to the median of its siblings
_BEYOND_EARLIER = 1.5  # of this ratio to the largest one in earlier runs
_LEAST = {"rows": 1_000.0, "bytes": 2.0**20, "seconds": 10.0}  # smaller tasks are no suspects: a first task of 2 s may be a warm-up
_MOST_TASKS = 20_000  # limit of tasks that are read for one comparison


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a run: its place among the stages of the run, and its tasks that succeeded."""

    name: str
    tasks: Sequence[Node]

    def values(self, metric: str) -> list[tuple[str, float]]:
        """Return the values of a metric by the id of the task."""
        return [(task.id, value) for task in self.tasks if (value := _value(task, metric)) is not None]


@dataclass(frozen=True, slots=True)
class TaskSuspect:
    """A task whose value is unlikely among its siblings."""

    task: str
    suspect: Suspect


async def stages_of_runs(graph: GraphStore, tenant: str, runs: Sequence[str]) -> dict[str, list[Stage]]:
    """Return the stages of runs, in their order."""
    stages = await _contained(graph, tenant, runs, NodeKind.STAGE)
    ids = [stage.id for found in stages.values() for stage in found]
    tasks = await _contained(graph, tenant, ids, NodeKind.TASK)
    return {run: _ordered(found, tasks) for run, found in stages.items()}


def skew_of(stages: Sequence[Stage]) -> Metrics:
    """Return for each stage the rows of its largest task, for each row of a mean task: large if one key has many rows."""
    skew: Metrics = {}
    for stage in stages:
        rows = [value for _, value in stage.values("rows")]
        if len(rows) > 1 and any(rows):
            skew[f"rows of the largest task of {stage.name}, for each row of a mean task"] = max(rows) / fmean(rows)
    return skew


def find_task_suspects(stages: Sequence[Stage], earlier: Sequence[Sequence[Stage]]) -> tuple[list[TaskSuspect], int]:
    """Return the tasks that stand out, and the number of comparisons. `earlier` has the stages of earlier runs."""
    tested = [(stage, metric, values) for stage in stages for metric in _LEAST if len(values := stage.values(metric)) >= LEAST_RUNS]
    found: list[TaskSuspect] = []
    for stage, metric, values in tested:
        numbers = [value for _, value in values]
        usual = _largest_ratios(earlier, stage.name, metric)
        for outlier in find_outliers(numbers, _ERROR_RATE / len(tested)):
            ratio = outlier.value / max(outlier.expected, 1e-9)
            if outlier.value < _LEAST[metric] or ratio < _LEAST_RATIO or ratio < _BEYOND_EARLIER * max(usual, default=0.0):
                continue
            name = f"{metric} of a task of {stage.name}"
            suspect = Suspect(name, outlier.value, outlier.expected, outlier.low, outlier.high, outlier.chance, len(values) - 1)
            found.append(TaskSuspect(values[outlier.place][0], suspect))
    return found, len(tested)


def _largest_ratios(runs: Sequence[Sequence[Stage]], name: str, metric: str) -> list[float]:
    """Return for each run the ratio of the largest task of a stage to the median."""
    values = [[value for _, value in stage.values(metric)] for stages in runs for stage in stages if stage.name == name]
    return [max(each) / max(median(each), 1e-9) for each in values if each]


def _value(task: Node, metric: str) -> float | None:
    if metric == "seconds":
        return seconds_of(task.properties)
    value = task.properties.get(metric)
    return float(value) if isinstance(value, int) and value >= 0 else None


def _ordered(stages: Sequence[Node], tasks: Mapping[str, Sequence[Node]]) -> list[Stage]:
    """Return the stages with tasks. Spark numbers stages across all runs of an application, so the order names them."""
    used = sorted((stage for stage in stages if stage.id in tasks), key=lambda stage: (stage.properties.get("ordinal", 0), stage.id))
    return [Stage(f"stage {place} of {len(used)}", tasks[stage.id]) for place, stage in enumerate(used, 1)]


async def _contained(graph: GraphStore, tenant: str, containers: Sequence[str], kind: NodeKind) -> dict[str, list[Node]]:
    edges = await graph.neighbours(tenant, containers, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS]) if containers else []
    parents = {edge.dst: edge.src for edge in edges if kind_of(edge.dst) is kind}
    found: dict[str, list[Node]] = defaultdict(list)
    for node in await graph.get(tenant, sorted(parents)[:_MOST_TASKS]):
        if node.properties.get("state", "COMPLETE") == "COMPLETE":
            found[parents[node.id]].append(node)
    return dict(found)
