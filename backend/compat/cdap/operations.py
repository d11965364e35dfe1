"""`…/lineage/fields/{field}/operations`: the operations that made a field, or that made other fields from it.

Each program reads datasets, transforms fields, and writes a dataset. A transformation has OpenLineage's name
(IDENTITY, AGGREGATION, FILTER, …), or UNKNOWN if no event states one. Programs with the same operations are listed together.
Operations that a program recorded for a run (`recorder`) are shown unchanged, with the mark `declared`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headwater.backend.compat.cdap.entities import endpoint, pipelines_of, program_entity
from headwater.backend.compat.cdap.fields import Field, Way, column_of, steps
from headwater.backend.compat.cdap.request import Ask, CdapRequest, Directions, subject_router
from headwater.backend.ingest.intake.recorded_operations import EndPoint, operations_about, recorded_of
from headwater.errors import InvalidQueryError
from headwater.graph.model import Edge, NodeKind, node_id, parse_id
from headwater.graph.stores import Direction
from headwater.graph.views.fields import operations_of

router = subject_router()

_MOST_RUNS = 200  # limit of runs of a program whose recordings are read
_TOGETHER = 10  # limit of recordings in memory at a time, because each may have megabytes
_MOST_OPERATIONS = 20_000  # limit of recorded operations to search
Transformation = tuple[str, str, str]  # a transformation: its name, its description, and its output column


@dataclass(slots=True)
class Recorded:
    """The runs that recorded the same operations, and the time of the last of them, in seconds since 1970."""

    at: int = 0
    runs: list[str] = field(default_factory=list)


@router.get("/fields/{field}/operations")
async def get_operations(ask: Ask, field: Field, direction: Way = Directions.BOTH) -> dict[str, Any]:
    """Return a list of `{programs, operations}` for `incoming` and `outgoing`."""
    column = await column_of(ask, field)
    body: dict[str, Any] = {}
    if direction is not Directions.OUTGOING:
        body["incoming"] = await _programs(ask, await steps(ask, [column], Direction.UPSTREAM), field, incoming=True)
    if direction is not Directions.INCOMING:
        body["outgoing"] = await _programs(ask, await steps(ask, [column], Direction.DOWNSTREAM), field, incoming=False)
    return body


async def _programs(ask: CdapRequest, edges: Sequence[Edge], field: str, *, incoming: bool) -> list[dict[str, Any]]:
    by_job: dict[tuple[str | None, bool], dict[Transformation, set[str]]] = {}
    for edge in edges:
        for operation in operations_of(edge):
            made = (operation.subtype or operation.type, operation.description or "", edge.dst)
            by_job.setdefault((operation.job, operation.declared), {}).setdefault(made, set()).add(edge.src)
    jobs = sorted({job for job, _ in by_job if job})
    pipelines, executed = await pipelines_of(ask.graph, ask.tenant, jobs), await _executed(ask, jobs)
    same: dict[str, list[dict[str, Any]]] = {}
    for (job, declared), done in sorted(by_job.items(), key=lambda each: (each[0][0] or "", each[0][1])):
        recorded = await recorded_by(ask, job, field, incoming=incoming) if job and declared else {}
        told = {operations: one.at for operations, one in recorded.items()}
        for operations, at in told.items() or [(json.dumps(derived_operations(done)), executed.get(job or "", 0))]:
            program = [{"program": program_entity(job, pipelines.get(job)), "lastExecutedTimeInSeconds": at}] if job else []
            same.setdefault(json.dumps([json.loads(operations), declared]), []).extend(program)
    found = [(programs, *json.loads(told)) for told, programs in same.items()]
    return [
        {"programs": programs, "operations": operations} | ({"declared": True} if declared else {})
        for programs, operations, declared in found
    ]


async def recorded_by(ask: CdapRequest, job: str, field: str, *, incoming: bool) -> dict[str, Recorded]:
    """Return the operations about a field that the latest runs of a program in the window recorded, as JSON texts with their runs.

    Raises:
        InvalidQueryError: the runs recorded more operations than the limit.
    """
    endpoint = EndPoint(namespace=ask.namespace, name=ask.name)
    found: dict[str, Recorded] = {}
    count = 0
    for skip in range(0, _MOST_RUNS, _TOGETHER):
        listing = await ask.graph.latest(ask.tenant, job, NodeKind.RUN, until=ask.window.until, first=_TOGETHER, skip=skip)
        for run in listing.nodes:
            at = str(run.properties.get("updatedAt", ""))
            operations = recorded_of(run.properties) if ask.window.since <= at < ask.window.until else []
            count += len(operations)
            if count > _MOST_OPERATIONS:
                raise InvalidQueryError(
                    f"The runs of {job} recorded more than {_MOST_OPERATIONS:,} operations in this time.", field="start",
                    hint="Ask about a shorter time.",
                )  # fmt: skip
            if about := operations_about(operations, endpoint, field, incoming=incoming):
                told = json.dumps([operation.model_dump(by_alias=True, exclude_none=True) for operation in about])
                one = found.setdefault(told, Recorded())
                one.at = max(one.at, int(datetime.fromisoformat(at).timestamp()))
                one.runs.append(parse_id(run.id)[1][0])
        if skip + _TOGETHER >= listing.total:
            break
    return found


async def _executed(ask: CdapRequest, jobs: Sequence[str]) -> dict[str, int]:
    """Return the time at which the last run of each job began, in seconds since 1970."""
    last = {job.id: str(job.properties["lastRun"]) for job in await ask.graph.get(ask.tenant, jobs) if "lastRun" in job.properties}
    runs = {run.id: run.properties for run in await ask.graph.get(ask.tenant, sorted(set(last.values())))}
    began = {job: runs.get(run, {}).get("startedAt") or runs.get(run, {}).get("updatedAt") for job, run in last.items()}
    return {job: int(datetime.fromisoformat(at).timestamp()) for job, at in began.items() if isinstance(at, str)}


def derived_operations(made: Mapping[Transformation, set[str]]) -> list[dict[str, Any]]:
    """Return the operations of a program. Each one comes after the operations that made its input fields."""
    sources = sorted({column for columns in made.values() for column in columns})
    read: dict[str, list[str]] = {}
    for column in sources:
        read.setdefault(_dataset(column), []).append(parse_id(column)[1][2])
    operations: list[dict[str, Any]] = [
        {"name": _reading(dataset), "description": "", "inputs": {"endPoint": endpoint(dataset)}, "outputs": {"fields": fields}}
        for dataset, fields in sorted(read.items())
    ]
    written: dict[str, list[dict[str, str]]] = {}
    for number, ((name, description, target), columns) in enumerate(sorted(made.items()), start=1):
        unique, field = f"{name} {number}", parse_id(target)[1][2]
        inputs = [{"origin": _reading(_dataset(column)), "name": parse_id(column)[1][2]} for column in sorted(columns)]
        operations.append({"name": unique, "description": description, "inputs": {"fields": inputs}, "outputs": {"fields": [field]}})
        written.setdefault(_dataset(target), []).append({"origin": unique, "name": field})
    operations += [
        {"name": f"Write {_name(dataset)}", "description": "", "inputs": {"fields": fields}, "outputs": {"endPoint": endpoint(dataset)}}
        for dataset, fields in sorted(written.items())
    ]
    return operations


def _reading(dataset: str) -> str:
    return f"Read {_name(dataset)}"


def _name(dataset: str) -> str:
    return ":".join(parse_id(dataset)[1])


def _dataset(column: str) -> str:
    return node_id(NodeKind.DATASET, *parse_id(column)[1][:2])
