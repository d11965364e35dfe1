"""The metrics of runs: numbers that a healthy run has in common with the earlier runs of its job.

The graph states them: times of runs, sizes of what they read and wrote, and quality metrics of columns. Nothing is read from data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, kind_of, parse_id
from headwater.graph.model.ids import dataset_name
from headwater.graph.standard_facts import Size, input_sizes_of, size_of_version
from headwater.graph.stores import Direction, GraphStore

_MOST_VERSIONS = 20_000  # limit of versions that are read for one comparison
_RATES = {"nullCount": "nulls", "distinctCount": "distinct values"}
Metrics = dict[str, float]
Sizes = dict[str, Size | None]  # by dataset


async def metrics_of_runs(graph: GraphStore, tenant: str, runs: Sequence[Node], *, with_columns: bool) -> dict[str, Metrics]:
    """Return the metrics of runs by the id of the run. `with_columns` adds the rates of nulls and of distinct values."""
    ids = [run.id for run in runs]
    written = await graph.neighbours(tenant, ids, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
    read = await graph.neighbours(tenant, ids, direction=Direction.UPSTREAM, kinds=[EdgeKind.READS])
    checks = await graph.neighbours(tenant, ids, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CHECKS]) if with_columns else []
    versions = {*(edge.dst for edge in written), *(edge.src for edge in read)}
    wanted = sorted(identifier for identifier in versions if kind_of(identifier) is NodeKind.VERSION)[:_MOST_VERSIONS]
    sizes = {node.id: size_of_version(node) for node in await graph.get(tenant, wanted)}
    outputs, inputs, results = defaultdict[str, Sizes](dict), defaultdict[str, Sizes](dict), _by_run(checks)
    for edge in written:
        if edge.dst in sizes:
            outputs[edge.src][_dataset_of(edge.dst)] = sizes[edge.dst]
    for edge in read:
        if edge.src in sizes:
            inputs[edge.dst][_dataset_of(edge.src)] = sizes[edge.src]
    return {
        run.id: {**_metrics_of(run.properties, inputs[run.id] | _stated_inputs(run), outputs[run.id]), **_rates_of(results[run.id])}
        for run in runs
    }


def seconds_of(properties: Mapping[str, Any]) -> float | None:
    """Return the duration of a run or a task."""
    try:
        begin, end = (datetime.fromisoformat(str(properties[name])) for name in ("startedAt", "endedAt"))
        return max(0.0, (end - begin).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None


def _stated_inputs(run: Node) -> Sizes:
    """Return what the producer states about the inputs of a run. It wins over the size of the version, of which a run may read a part."""
    return {dataset: size for dataset, size in input_sizes_of(run.properties, run.id).items() if size.rows is not None}


def _metrics_of(properties: Mapping[str, Any], read: Sizes, written: Sizes) -> Metrics:
    metrics: Metrics = {}
    seconds = seconds_of(properties)
    if seconds is not None:
        metrics["seconds"] = seconds
    rows_read = [size.rows for size in read.values() if size is not None and size.rows is not None]
    for dataset, size in read.items():
        if size is not None and size.rows is not None:
            name = f"rows read of {_title_of(dataset)}"  # the program's own rows may be several datasets
            metrics[name] = metrics.get(name, 0) + size.rows
    for dataset, size in written.items():
        output = _title_of(dataset)
        if size is not None and size.bytes is not None:
            metrics[f"bytes of {output}"] = size.bytes
        if size is None or size.rows is None:
            continue
        metrics[f"rows of {output}"] = size.rows
        if seconds:
            metrics[f"rows of {output} in each second"] = size.rows / seconds
        if len(rows_read) == len(read) > 0 and sum(rows_read) > 0:
            metrics[f"rows of {output} for each row read"] = size.rows / sum(rows_read)
    return metrics


def _by_run(checks: Sequence[Edge]) -> defaultdict[str, dict[tuple[str, str], Mapping[str, Any]]]:
    """Return the quality metrics of runs: by the run, then by the dataset and the column (empty: of the dataset itself)."""
    found: defaultdict[str, dict[tuple[str, str], Mapping[str, Any]]] = defaultdict(dict)
    for edge in checks:
        *_, column, assertion = parse_id(edge.dst)[1]
        if assertion == "metrics" and "partition" not in edge.properties:
            found[edge.src][_dataset_of(edge.dst), column] = edge.properties
    return found


def _rates_of(results: Mapping[tuple[str, str], Mapping[str, Any]]) -> Metrics:
    rates: Metrics = {}
    for (dataset, column), values in results.items():
        rows = _count(results.get((dataset, ""), {}).get("rowCount"))
        for name, text in _RATES.items():
            count = _count(values.get(name))
            if column and rows and count is not None and count <= rows:
                rates[f"{text} in {column} of {_title_of(dataset)}, for each row"] = count / rows
    return rates


def _title_of(dataset: str) -> str:
    """Return a name that is easy to read: a path, or a name with its platform."""
    _, (namespace, name, *_) = parse_id(dataset)
    return dataset_name(dataset) if namespace in ("file", "local") else f"{name} ({namespace})"


def _count(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _dataset_of(identifier: str) -> str:
    """Return the dataset of a version or of a check."""
    return f"{NodeKind.DATASET}:{':'.join(identifier.split(':')[1:3])}"
