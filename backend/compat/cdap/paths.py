"""`/v3/namespaces/{namespace}/datasets/{dataset}/fields/{field}/lineage`: the chains of operations that made a field, with their runs.

The first design of CDAP's field-level lineage has this path; CDAP 6 has `/lineage/fields/{field}`. Each chain lists its operations in
order: read, transformations, write. An operation comes after the operations that made its input fields.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter

from headwater.backend.compat.cdap.datasets import runs_in, version_of
from headwater.backend.compat.cdap.entities import pipelines_of, program_entity
from headwater.backend.compat.cdap.fields import Field, column_of, steps
from headwater.backend.compat.cdap.operations import Transformation, derived_operations, recorded_by
from headwater.backend.compat.cdap.request import Ask, CdapRequest
from headwater.graph.model import parse_id
from headwater.graph.stores import Direction
from headwater.graph.views.fields import operations_of

router = APIRouter(prefix="/v3/namespaces/{namespace}/datasets/{dataset}/fields", tags=["cdap"])


@router.get("/{field}/lineage")
async def get_paths(ask: Ask, field: Field) -> dict[str, Any]:
    """`{startTimeInSeconds, endTimeInSeconds, paths}`; a path is `{programs, runs, path}`, and `declared` if a program recorded it."""
    column = await column_of(ask, field)
    made: dict[tuple[str | None, bool], dict[Transformation, set[str]]] = {}
    for edge in await steps(ask, [column], Direction.UPSTREAM):
        for operation in operations_of(edge):
            step = (operation.subtype or operation.type, operation.description or "", edge.dst)
            made.setdefault((operation.job, operation.declared), {}).setdefault(step, set()).add(edge.src)
    pipelines = await pipelines_of(ask.graph, ask.tenant, sorted({job for job, _ in made if job}))
    paths: list[dict[str, Any]] = []
    for (job, declared), done in sorted(made.items(), key=lambda each: (each[0][0] or "", each[0][1])):
        programs = [program_entity(job, pipelines.get(job))] if job else []
        recorded = await recorded_by(ask, job, field, incoming=True) if job and declared else {}
        for operations, by in recorded.items():
            paths.append({"programs": programs, "runs": sorted(by.runs), "path": json.loads(operations), "declared": True})
        if not recorded:
            runs = await _writers(ask, job) if job else []
            paths.append({"programs": programs, "runs": runs, "path": derived_operations(done)})
    return {"startTimeInSeconds": ask.window.start, "endTimeInSeconds": ask.window.end, "paths": paths}


async def _writers(ask: CdapRequest, job: str) -> list[str]:
    runs = await runs_in(ask, job)
    written = {version.id for version in await ask.graph.get(ask.tenant, [version_of(ask.dataset, run) for run in runs])}
    return sorted(parse_id(run.id)[1][0] for run in runs if version_of(ask.dataset, run) in written)
