"""`/api/v1/namespaces/{namespace}/jobs…` and `/api/v1/jobs`: jobs, their versions, their runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from headwater.backend.api.marquez.asking import Ask, Asked, Page, answer, not_found, page_of, subject_router
from headwater.backend.api.marquez.job_shape import bodies_of_jobs
from headwater.backend.api.marquez.names import JobName, Namespace, Version
from headwater.backend.api.marquez.namespaces import require_namespace
from headwater.backend.api.marquez.run_shape import bodies_of_runs, job_version
from headwater.errors import UnsupportedError
from headwater.graph.model import Node, NodeKind, node_id

router = subject_router()

States = Annotated[
    list[str] | None, Query(alias="lastRunStates", description="Not supported: jobs are not kept by the state of their runs.")
]


@router.get("/jobs")
async def get_all_jobs(ask: Ask, place: Page, states: States = None) -> dict[str, Any]:
    """The jobs of all namespaces, in order of their ids: `{"jobs": […], "totalCount"}`."""
    return await _jobs(ask, f"{NodeKind.JOB}:", place, states)


@router.get("/namespaces/{namespace}/jobs")
async def get_jobs(namespace: Namespace, ask: Ask, place: Page, states: States = None) -> dict[str, Any]:
    """The jobs of a namespace, in order of their ids."""
    await require_namespace(ask, namespace)
    return await _jobs(ask, node_id(NodeKind.JOB, namespace, ""), place, states)


@router.get("/namespaces/{namespace}/jobs/{job}")
async def get_job(namespace: Namespace, job: JobName, ask: Ask) -> dict[str, Any]:
    """One job, with its last ten runs."""
    return (await bodies_of_jobs(ask, [await _job(ask, namespace, job)], runs=True))[0]


@router.get("/namespaces/{namespace}/jobs/{job}/runs")
async def get_runs(namespace: Namespace, job: JobName, ask: Ask, place: Page) -> Response:
    """The runs of a job, latest first: `{"runs": […], "totalCount"}`."""
    found = await _job(ask, namespace, job)
    listing = await ask.graph.latest(ask.tenant, found.id, NodeKind.RUN, first=place.limit, skip=place.offset)
    return await answer(page_of("runs", await bodies_of_runs(ask, listing.nodes), listing))


@router.get("/namespaces/{namespace}/jobs/{job}/versions")
async def get_versions(namespace: Namespace, job: JobName, ask: Ask, place: Page) -> dict[str, Any]:
    """The versions of a job, of which it has one: `{"versions": […]}`."""
    versions = [await _version(ask, await _job(ask, namespace, job))]
    return {"versions": versions[place.offset :][: place.limit], "totalCount": len(versions)}


@router.get("/namespaces/{namespace}/jobs/{job}/versions/{version}")
async def get_version(namespace: Namespace, job: JobName, version: Version, ask: Ask) -> dict[str, Any]:
    """The version of a job."""
    found = await _job(ask, namespace, job)
    if version != job_version(namespace, job):
        raise not_found("Job version", version)
    return await _version(ask, found)


async def _jobs(ask: Asked, prefix: str, place: Page, states: list[str] | None) -> dict[str, Any]:
    if states:
        raise UnsupportedError("Jobs cannot be listed by the states of their last runs.", hint="Ask without lastRunStates.")
    listing = await ask.graph.listed(ask.tenant, prefix, first=place.limit, skip=place.offset)
    return page_of("jobs", await bodies_of_jobs(ask, listing.nodes), listing)


async def _job(ask: Asked, namespace: str, job: str) -> Node:
    await require_namespace(ask, namespace)
    found = await ask.graph.get(ask.tenant, [node_id(NodeKind.JOB, namespace, job)])
    if not found:
        raise not_found("Job", job)
    return found[0]


async def _version(ask: Asked, job: Node) -> dict[str, Any]:
    body = (await bodies_of_jobs(ask, [job]))[0]
    return {
        "id": {**body["id"], "version": body["currentVersion"]},
        "version": body["currentVersion"],
        **{name: body[name] for name in ("name", "createdAt", "namespace", "inputs", "outputs", "location", "latestRun", "facets")},
    }
