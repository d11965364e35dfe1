"""Runs as Marquez tells them.

A run reads a version of each input: the one that a capture knows of, else the last one that was complete when the run began. An input
without a known version is not listed. A version's id is that of the run that wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from headwater.backend.api.marquez.asking import Asked
from headwater.backend.api.marquez.facts import NEVER, Stated, by_id, facets, when_stated
from headwater.backend.projection.facets import facets_of, mapping
from headwater.graph.model import EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores import Direction

_STATES = {"START": "RUNNING", "RUNNING": "RUNNING", "COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
_INPUT = "input:"
_LOOKED_AT = 20  # versions of an input: the last ones may be of runs that did not complete


async def tell_runs(ask: Asked, runs: Sequence[Node]) -> list[dict[str, Any]]:
    """Runs in Marquez's form, in their order."""
    stated = await when_stated(ask, [run.id for run in runs])
    inputs = await _inputs(ask, runs)
    outputs = await _outputs(ask, runs)
    return [_told(ask, run, stated.get(run.id, NEVER), inputs[run.id], outputs[run.id]) for run in runs]


def job_version(namespace: str, name: str) -> str:
    """The one version that a job has here: the graph keeps what a job reads and writes, not how that changed."""
    return str(uuid5(NAMESPACE_URL, node_id(NodeKind.JOB, namespace, name)))


def version_id(version: str) -> dict[str, str]:
    """A version as Marquez names it, of its node's id."""
    namespace, name, run = parse_id(version)[1]
    return {"namespace": namespace, "name": name, "version": run}


def _told(ask: Asked, run: Node, stated: Stated, inputs: list[Any], outputs: list[Any]) -> dict[str, Any]:
    about = run.properties
    nominal = mapping(about.get("nominalTime"))
    job = next((parse_id(each)[1] for each in stated.containers if each.startswith(f"{NodeKind.JOB}:")), None)
    return {
        "id": parse_id(run.id)[1][0],
        "createdAt": stated.created,
        "updatedAt": about.get("updatedAt") or stated.updated,
        "nominalStartTime": nominal.get("nominalStartTime"),
        "nominalEndTime": nominal.get("nominalEndTime"),
        "state": _STATES.get(str(about.get("state")), "NEW"),
        "startedAt": about.get("startedAt"),
        "endedAt": about.get("endedAt"),
        "durationMs": _milliseconds(about.get("startedAt"), about.get("endedAt")),
        "args": {},
        "jobVersion": {"namespace": job[0], "name": job[1], "version": job_version(*job)} if job else None,
        "inputDatasetVersions": inputs,
        "outputDatasetVersions": outputs,
        "facets": facets(ask, about),
    }


async def _inputs(ask: Asked, runs: Sequence[Node]) -> Mapping[str, list[Any]]:
    read: dict[str, dict[str, str]] = {run.id: {} for run in runs}  # run → dataset → version
    for edge in await ask.graph.neighbours(ask.tenant, list(read), direction=Direction.UPSTREAM, kinds=[EdgeKind.READS]):
        if edge.src.startswith(f"{NodeKind.VERSION}:"):
            read[edge.dst][_dataset_of(edge.src)] = edge.src
    told: dict[str, list[Any]] = {run.id: [] for run in runs}
    for run in runs:
        known = read[run.id]
        about = {name.removeprefix(_INPUT): mapping(value) for name, value in run.properties.items() if name.startswith(_INPUT)}
        for dataset in sorted(known.keys() | about.keys()):
            version = known.get(dataset) or await _version_then(ask, run, dataset)
            if version is not None:
                of_run = facets(ask, mapping(about.get(dataset, {}).get("inputFacets")))
                told[run.id].append({"datasetVersionId": version_id(version), "facets": of_run})
    return told


async def _version_then(ask: Asked, run: Node, dataset: str) -> str | None:
    """The last version of a dataset that was complete when a run began."""
    began = run.properties.get("startedAt") or run.properties.get("endedAt")
    if not isinstance(began, str) or not dataset.startswith(f"{NodeKind.DATASET}:"):
        return None
    found = await ask.graph.latest(ask.tenant, dataset, NodeKind.VERSION, until=began, first=_LOOKED_AT)
    own = parse_id(run.id)[1][0]
    there = [
        (written, version.id)
        for version in found.nodes
        if isinstance(written := version.properties.get("writtenAt"), str) and written <= began and parse_id(version.id)[1][2] != own
    ]
    return max(there)[1] if there else None


async def _outputs(ask: Asked, runs: Sequence[Node]) -> Mapping[str, list[Any]]:
    edges = await ask.graph.neighbours(ask.tenant, [run.id for run in runs], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
    written = sorted((edge.src, edge.dst) for edge in edges if edge.dst.startswith(f"{NodeKind.VERSION}:"))
    versions = by_id(await ask.graph.get(ask.tenant, [version for _, version in written]))
    told: dict[str, list[Any]] = {run.id: [] for run in runs}
    for run, version in written:
        told[run].append({"datasetVersionId": version_id(version), "facets": facets(ask, facets_of(versions[version].properties))})
    return told


def _dataset_of(version: str) -> str:
    return node_id(NodeKind.DATASET, *parse_id(version)[1][:2])


def _milliseconds(began: Any, ended: Any) -> int | None:
    if not isinstance(began, str) or not isinstance(ended, str):
        return None
    return round((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() * 1000)
