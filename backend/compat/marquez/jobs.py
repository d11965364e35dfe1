"""`/api/v1/namespaces/{namespace}/jobs…` and `/api/v1/jobs`: jobs, their versions, their runs.

No index has the states of last runs. A query for jobs in a state reads all jobs, and is refused if there are too
many.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from headwater.backend.compat.marquez.job_shape import bodies_of_jobs
from headwater.backend.compat.marquez.names import JobName, Namespace, Version
from headwater.backend.compat.marquez.namespaces import require_namespace
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, Page, answer, not_found, page_of, subject_router
from headwater.backend.compat.marquez.run_shape import bodies_of_runs, job_version, states_of_runs
from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind, node_id
from headwater.graph.stores.protocol import Listing

router = subject_router()

_WITH_RUNS = 25  # limit of listed jobs with their last runs, which Marquez's page draws
_LOOKED_AT = 20_000  # limit of jobs to read
_PORTION = 1_000


class RunState(StrEnum):
    NEW = "NEW"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    ABORTED = "ABORTED"


States = Annotated[list[RunState] | None, Query(alias="lastRunStates", description="Whose last run is in one of these states.")]


@router.get("/jobs")
async def get_all_jobs(ask: Ask, place: Page, states: States = None) -> Response:
    """The jobs of all namespaces, in order of their ids: `{"jobs": […], "totalCount"}`."""
    return await _jobs(ask, f"{NodeKind.JOB}:", place, states)


@router.get("/namespaces/{namespace}/jobs")
async def get_jobs(namespace: Namespace, ask: Ask, place: Page, states: States = None) -> Response:
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
    """The versions of a job. A job has one here: `{"versions": […]}`."""
    versions = [await _version(ask, await _job(ask, namespace, job))]
    return {"versions": versions[place.offset :][: place.limit], "totalCount": len(versions)}


@router.get("/namespaces/{namespace}/jobs/{job}/versions/{version}")
async def get_version(namespace: Namespace, job: JobName, version: Version, ask: Ask) -> dict[str, Any]:
    """The version of a job."""
    found = await _job(ask, namespace, job)
    if version != job_version(namespace, job):
        raise not_found("Job version", version)
    return await _version(ask, found)


async def _jobs(ask: MarquezRequest, prefix: str, place: Page, states: list[RunState] | None) -> Response:
    if states:
        listing = await _in_states(ask, prefix, place, frozenset(states))
    else:
        listing = await ask.graph.listed(ask.tenant, prefix, first=place.limit, skip=place.offset)
    return await answer(page_of("jobs", await bodies_of_jobs(ask, listing.nodes, runs=len(listing.nodes) <= _WITH_RUNS), listing))


async def _in_states(ask: MarquezRequest, prefix: str, place: Page, states: frozenset[str]) -> Listing:
    """Return a page of the jobs whose last run is in one of the states.

    Raises:
        InvalidQueryError: there are too many jobs to read.
    """
    found: list[Node] = []
    after, looked_at = None, 0
    while page := await ask.graph.listed_after(ask.tenant, prefix, after, first=_PORTION):
        last = {job.id: str(job.properties["lastRun"]) for job in page if "lastRun" in job.properties}
        state = await states_of_runs(ask, list(last.values()))
        found += [job for job in page if state.get(last.get(job.id, "")) in states]
        after, looked_at = page[-1].id, looked_at + len(page)
        if looked_at > _LOOKED_AT:
            raise InvalidQueryError(
                f"There are more than {_LOOKED_AT:,} jobs, and the states of their last runs are in no index.",
                field="lastRunStates",
                hint="Ask for the jobs of one namespace, or without lastRunStates.",
            )
    return Listing(found[place.offset : place.offset + place.limit], len(found))


async def _job(ask: MarquezRequest, namespace: str, job: str) -> Node:
    await require_namespace(ask, namespace)
    found = await ask.graph.get(ask.tenant, [node_id(NodeKind.JOB, namespace, job)])
    if not found:
        raise not_found("Job", job)
    return found[0]


async def _version(ask: MarquezRequest, job: Node) -> dict[str, Any]:
    body = (await bodies_of_jobs(ask, [job]))[0]
    return {
        "id": {**body["id"], "version": body["currentVersion"]},
        "version": body["currentVersion"],
        **{name: body[name] for name in ("name", "createdAt", "namespace", "inputs", "outputs", "location", "latestRun", "facets")},
    }
