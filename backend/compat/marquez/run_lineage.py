"""`GET /api/v1/runlineage/upstream`: the runs that wrote the versions that a run read, and their upstream runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query

from headwater.backend.compat.marquez.request import Ask, not_found, subject_router
from headwater.backend.compat.marquez.run_shape import bodies_of_runs
from headwater.graph.model import NodeKind, node_id, run_key

router = subject_router()

_MOST = 500  # limit of runs in an answer


@router.get("/runlineage/upstream")
async def get_upstream(
    ask: Ask,
    run: Annotated[str, Query(alias="runId", description="The id of a run.")],
    depth: Annotated[int, Query(ge=0, le=100, description="How many runs deep.")] = 20,
) -> dict[str, Any]:
    """The runs, nearest first, each with its job and the versions that it read: `{"runs": […], "truncated"}`.

    `truncated` counts runs that were found and left out.
    """
    start = node_id(NodeKind.RUN, run_key(run))
    seen, waiting, runs = {start}, [start], list[dict[str, Any]]()
    truncated = 0
    for _ in range(depth + 1):
        found = await bodies_of_runs(ask, await ask.graph.get(ask.tenant, waiting))
        runs += found
        read = {version["datasetVersionId"]["version"] for one in found for version in one["inputDatasetVersions"]}
        fresh = sorted({node_id(NodeKind.RUN, writer) for writer in read} - seen)
        seen.update(fresh)
        waiting = fresh[: _MOST - len(runs)]
        truncated += len(fresh) - len(waiting)
        if not waiting:
            break
    if not runs:
        raise not_found("Run", run)
    return {"runs": [_summary(one) for one in runs], "truncated": truncated}


def _summary(run: dict[str, Any]) -> dict[str, Any]:
    return {
        "job": run["jobVersion"],
        "run": {"id": run["id"], "start": run["startedAt"], "end": run["endedAt"], "status": run["state"]},
        "inputs": [
            {**version["datasetVersionId"], "producedByRunId": version["datasetVersionId"]["version"]}
            for version in run["inputDatasetVersions"]
        ],
    }
