"""Converts runs to Marquez's form.

A run reads one version of each input: the version in its capture, or else the last version that was complete when the run began.
An input without a known version is not listed. A version has the id of the run that wrote it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from headwater.backend.compat.marquez.facts import NEVER, Stated, by_id, facets, when_stated
from headwater.backend.compat.marquez.request import MarquezRequest, require_fewer
from headwater.backend.projection.facets import facets_of, mapping
from headwater.graph.model import EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores import Direction
from headwater.graph.stores.protocol import Moment
from headwater.graph.stores.write_times import with_ends

_STATES = {"START": "RUNNING", "RUNNING": "RUNNING", "COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
_INPUT = "input:"
_LOOKED_AT = 20  # limit of versions of a dataset to read
_PORTION = 2_000  # limit of inputs whose versions are in memory at a time


async def bodies_of_runs(ask: MarquezRequest, runs: Sequence[Node]) -> list[dict[str, Any]]:
    stated = await when_stated(ask, [run.id for run in runs])
    inputs = await _inputs(ask, runs)
    outputs = await _outputs(ask, runs)
    # In a thread, because this would block the event loop.
    return await asyncio.to_thread(lambda: [_body(ask, run, stated.get(run.id, NEVER), inputs[run.id], outputs[run.id]) for run in runs])


async def states_of_runs(ask: MarquezRequest, runs: Sequence[str]) -> Mapping[str, str]:
    return {run.id: _state(run) for run in await ask.graph.get(ask.tenant, runs)}


def job_version(namespace: str, name: str) -> str:
    """Return the version id of a job. There is one, because the graph has only the present inputs and outputs of a job."""
    return str(uuid5(NAMESPACE_URL, node_id(NodeKind.JOB, namespace, name)))


def version_id(version: str) -> dict[str, str]:
    namespace, name, run = parse_id(version)[1]
    return {"namespace": namespace, "name": name, "version": run}


def _body(ask: MarquezRequest, run: Node, stated: Stated, inputs: list[Any], outputs: list[Any]) -> dict[str, Any]:
    about = run.properties
    nominal = mapping(about.get("nominalTime"))
    job = next((parse_id(each)[1] for each in stated.containers if each.startswith(f"{NodeKind.JOB}:")), None)
    return {
        "id": parse_id(run.id)[1][0],
        "createdAt": stated.created,
        "updatedAt": about.get("updatedAt") or stated.updated,
        "nominalStartTime": nominal.get("nominalStartTime"),
        "nominalEndTime": nominal.get("nominalEndTime"),
        "state": _state(run),
        "startedAt": about.get("startedAt"),
        "endedAt": about.get("endedAt"),
        "durationMs": _milliseconds(about.get("startedAt"), about.get("endedAt")),
        "args": {},
        "jobVersion": {"namespace": job[0], "name": job[1], "version": job_version(*job)} if job else None,
        "inputDatasetVersions": inputs,
        "outputDatasetVersions": outputs,
        "facets": facets(ask, about),
    }


def _state(run: Node) -> str:
    return _STATES.get(str(run.properties.get("state")), "NEW")


async def _inputs(ask: MarquezRequest, runs: Sequence[Node]) -> Mapping[str, list[Any]]:
    read: dict[str, dict[str, str]] = {run.id: {} for run in runs}  # run → dataset → version
    for edge in await ask.graph.neighbours(ask.tenant, list(read), direction=Direction.UPSTREAM, kinds=[EdgeKind.READS]):
        if edge.src.startswith(f"{NodeKind.VERSION}:"):
            read[edge.dst][_dataset_of(edge.src)] = edge.src
    about = {
        run.id: {name.removeprefix(_INPUT): mapping(value) for name, value in run.properties.items() if name.startswith(_INPUT)}
        for run in runs
    }
    unknown = {run.id: [dataset for dataset in about[run.id] if dataset not in read[run.id]] for run in runs}
    versions = await _versions_then(ask, runs, unknown)
    by_run: dict[str, list[Any]] = {run.id: [] for run in runs}
    for run in runs:
        for dataset in sorted(read[run.id].keys() | about[run.id].keys()):
            version = read[run.id].get(dataset) or versions.get((run.id, dataset))
            if version is not None:
                of_run = facets(ask, mapping(about[run.id].get(dataset, {}).get("inputFacets")))
                by_run[run.id].append({"datasetVersionId": version_id(version), "facets": of_run})
    return by_run


async def _versions_then(ask: MarquezRequest, runs: Sequence[Node], datasets: Mapping[str, Sequence[str]]) -> Mapping[tuple[str, str], str]:
    """Return the last version that was complete when a run began, by run and dataset."""
    began = {run.id: run.properties.get("startedAt") or run.properties.get("endedAt") for run in runs}
    asked: list[tuple[str, str, str]] = []  # run, dataset, when the run began
    for run, those in datasets.items():
        if isinstance(when := began[run], str):
            asked += [(run, dataset, when) for dataset in those if dataset.startswith(f"{NodeKind.DATASET}:")]
    require_fewer(len(asked), "inputs", len(runs))
    asked.sort(key=lambda one: one[1:])  # sorted by dataset and time, so that versions between two instants are read once
    by_run: dict[tuple[str, str], str] = {}
    for start in range(0, len(asked), _PORTION):
        portion = asked[start : start + _PORTION]
        moments = sorted({(dataset, when) for _, dataset, when in portion})
        found = await latest_versions(ask, moments)
        by_run |= await asyncio.to_thread(_complete, portion, found)
    return by_run


async def latest_versions(ask: MarquezRequest, moments: Sequence[Moment]) -> Mapping[Moment, Sequence[Node]]:
    """Return the last versions of datasets at instants. Several are returned, because the last run may not have completed."""
    found = await ask.graph.latest_at(ask.tenant, moments, NodeKind.VERSION, first=_LOOKED_AT)
    versions = by_id(await with_ends(ask.graph, ask.tenant, list(by_id(node for nodes in found.values() for node in nodes).values())))
    return {moment: [versions[node.id] for node in nodes] for moment, nodes in found.items()}


def _complete(asked: Sequence[tuple[str, str, str]], found: Mapping[Moment, Sequence[Node]]) -> dict[tuple[str, str], str]:
    versions = {(run, dataset): _last(found[dataset, when], when, parse_id(run)[1][0]) for run, dataset, when in asked}
    return {pair: version for pair, version in versions.items() if version is not None}


def _last(versions: Sequence[Node], when: str, own: str) -> str | None:
    """Return the version that was completed last before an instant. The run's own output does not count."""
    there = [
        (written, version.id)
        for version in versions
        if isinstance(written := version.properties.get("writtenAt"), str) and written <= when and parse_id(version.id)[1][2] != own
    ]
    return max(there)[1] if there else None


async def _outputs(ask: MarquezRequest, runs: Sequence[Node]) -> Mapping[str, list[Any]]:
    edges = await ask.graph.neighbours(ask.tenant, [run.id for run in runs], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
    written = sorted((edge.src, edge.dst) for edge in edges if edge.dst.startswith(f"{NodeKind.VERSION}:"))
    versions = by_id(await ask.graph.get(ask.tenant, [version for _, version in written]))
    by_run: dict[str, list[Any]] = {run.id: [] for run in runs}
    for run, version in written:
        by_run[run].append({"datasetVersionId": version_id(version), "facets": facets(ask, facets_of(versions[version].properties))})
    return by_run


def _dataset_of(version: str) -> str:
    return node_id(NodeKind.DATASET, *parse_id(version)[1][:2])


def _milliseconds(began: Any, ended: Any) -> int | None:
    if not isinstance(began, str) or not isinstance(ended, str):
        return None
    return round((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() * 1000)
