"""Converts jobs to Marquez's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.compat.marquez.facts import NEVER, Stated, by_id, facets, when_stated
from headwater.backend.compat.marquez.request import MarquezRequest
from headwater.backend.compat.marquez.run_shape import bodies_of_runs, job_version
from headwater.backend.projection.facets import mapping, text
from headwater.graph.model import EdgeKind, Node, NodeKind, parse_id
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.stores import Direction

_LATEST = 10  # number of runs in a job, as in Marquez


async def bodies_of_jobs(ask: MarquezRequest, jobs: Sequence[Node], *, runs: bool = False) -> list[dict[str, Any]]:
    """Convert jobs to Marquez's form, in order. With `runs`, each job has its latest runs, otherwise only the last one."""
    ids = [job.id for job in jobs]
    stated = await when_stated(ask, ids)
    read = await _datasets(ask, ids, Direction.UPSTREAM)
    written = await _datasets(ask, ids, Direction.DOWNSTREAM)
    last = by_id(await ask.graph.get(ask.tenant, [str(job.properties["lastRun"]) for job in jobs if "lastRun" in job.properties]))
    latest = {id_: (await ask.graph.latest(ask.tenant, id_, NodeKind.RUN, first=_LATEST)).nodes for id_ in ids} if runs else {}
    every = last | by_id(run for those in latest.values() for run in those)
    run_bodies = dict(zip(every, await bodies_of_runs(ask, list(every.values())), strict=True))
    return [
        {
            **_body(ask, job, stated.get(job.id, NEVER), read[job.id], written[job.id]),
            "latestRun": run_bodies.get(str(job.properties.get("lastRun"))),
            "latestRuns": [run_bodies[run.id] for run in latest[job.id]] if runs else None,
        }
        for job in jobs
    ]


def dataset_id(dataset: str) -> dict[str, str]:
    namespace, name = parse_id(dataset)[1]
    return {"namespace": namespace, "name": name}


def _body(ask: MarquezRequest, job: Node, stated: Stated, read: Sequence[str], written: Sequence[str]) -> dict[str, Any]:
    namespace, name = parse_id(job.id)[1]
    about = descriptions_of(job)
    parent = next((parse_id(each)[1][1] for each in stated.containers if each.startswith(f"{NodeKind.PIPELINE}:")), None)
    return {
        "id": {"namespace": namespace, "name": name},
        "type": job_type(job.properties),
        "name": name,
        "simpleName": name.removeprefix(f"{parent}.") if parent else name,
        "parentJobName": parent,
        "parentJobUuid": None,
        "createdAt": stated.created,
        "updatedAt": stated.updated,
        "namespace": namespace,
        "inputs": [dataset_id(dataset) for dataset in read],
        "outputs": [dataset_id(dataset) for dataset in written],
        "location": text(mapping(job.properties.get("sourceCodeLocation")).get("url")),
        "description": about.description,
        "facets": facets(ask, job.properties),
        "currentVersion": job_version(namespace, name),
        "labels": [],
        "tags": list(about.tags),
    }


async def _datasets(ask: MarquezRequest, jobs: Sequence[str], direction: Direction) -> Mapping[str, list[str]]:
    kind = EdgeKind.READS if direction is Direction.UPSTREAM else EdgeKind.WRITES
    found: dict[str, set[str]] = {job: set() for job in jobs}
    for edge in await ask.graph.neighbours(ask.tenant, jobs, direction=direction, kinds=[kind]):
        job, dataset = (edge.dst, edge.src) if direction is Direction.UPSTREAM else (edge.src, edge.dst)
        if dataset.startswith(f"{NodeKind.DATASET}:"):
            found[job].add(dataset)
    return {job: sorted(datasets) for job, datasets in found.items()}


def job_type(properties: Mapping[str, Any]) -> str:
    """Return BATCH, STREAM or SERVICE. A job without a stated type is a batch job."""
    stated = mapping(properties.get("jobType"))
    kinds = {str(stated.get("processingType")).upper(), str(stated.get("jobType")).upper()}
    return "STREAM" if kinds & {"STREAMING", "STREAM"} else "SERVICE" if "SERVICE" in kinds else "BATCH"
