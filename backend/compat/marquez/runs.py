"""`/api/v1/jobs/runs/{id}` and its facets."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query

from headwater.backend.compat.marquez.facts import facets
from headwater.backend.compat.marquez.names import RunId
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, not_found, subject_router
from headwater.backend.compat.marquez.run_shape import bodies_of_runs
from headwater.graph.model import EdgeKind, Node, NodeKind, node_id
from headwater.graph.stores import Direction

router = subject_router()


class FacetsOf(StrEnum):
    """The node with the requested facets: the run, or its job."""

    RUN = "run"
    JOB = "job"


@router.get("/jobs/runs/{run}")
async def get_run(run: RunId, ask: Ask) -> dict[str, Any]:
    """One run."""
    return (await bodies_of_runs(ask, [await _run(ask, run)]))[0]


@router.get("/jobs/runs/{run}/facets")
async def get_facets(run: RunId, ask: Ask, kind: Annotated[FacetsOf, Query(alias="type", description="Whose facets.")]) -> dict[str, Any]:
    """The facets of a run, or those of its job as they are now: `{"runId", "facets"}`."""
    found = await _run(ask, run)
    if kind is FacetsOf.JOB:
        edges = await ask.graph.neighbours(ask.tenant, [found.id], direction=Direction.UPSTREAM, kinds=[EdgeKind.CONTAINS])
        jobs = await ask.graph.get(ask.tenant, sorted(edge.src for edge in edges if edge.src.startswith(f"{NodeKind.JOB}:")))
        return {"runId": run, "facets": {name: facet for job in jobs for name, facet in facets(ask, job.properties).items()}}
    return {"runId": run, "facets": facets(ask, found.properties)}


async def _run(ask: MarquezRequest, run: str) -> Node:
    found = await ask.graph.get(ask.tenant, [node_id(NodeKind.RUN, run)])
    if not found:
        raise not_found("Run", run)
    return found[0]
