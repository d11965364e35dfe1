"""`…/lineage`: the programs that read and wrote a dataset and its neighbours, up to a number of levels, in a time window.

A relation is one access by one run. The runs are the program's runs in the window whose events name the dataset. A program
without such a run appears without runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query

from headwater.backend.compat.cdap.entities import dataset_entity, pipelines_of, program_entity
from headwater.backend.compat.cdap.request import Ask, CdapRequest, subject_router
from headwater.errors import InvalidQueryError
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores import Direction

router = subject_router()

_MOST = 2_000  # limit of nodes in an answer
_MOST_RUNS = 1_000  # limit of runs of a program in the window


class Collapse(StrEnum):
    """The key for merging relations."""

    ACCESS = "access"
    RUN = "run"
    COMPONENT = "component"


class Rollup(StrEnum):
    WORKFLOW = "workflow"


@dataclass(frozen=True, slots=True)
class _Relation:
    """An access of a program to a dataset. `run` is empty if no run is known."""

    data: str
    program: str
    access: str
    run: str


@router.get("")
async def get_lineage(
    ask: Ask,
    levels: Annotated[int, Query(ge=1, le=100, description="How many programs deep.")] = 10,
    collapse: Annotated[list[Collapse] | None, Query(description="Put relations together by access, run or component.")] = None,
    rollup: Annotated[Rollup | None, Query(description="`workflow`: pipelines instead of their jobs.")] = None,
) -> dict[str, Any]:
    """`{start, end, relations, data, programs}`."""
    edges = await _around(ask, levels)
    jobs = sorted({_job(edge) for edge in edges})
    pipelines = await pipelines_of(ask.graph, ask.tenant, jobs)
    relations = await _relations(ask, edges, jobs)
    entities = {job: program_entity(job, pipelines.get(job)) for job in jobs}
    if rollup is Rollup.WORKFLOW:
        relations = await _rolled_up(ask, relations, pipelines)
        entities = {
            actor: program_entity(actor, actor if actor in pipelines.values() else None)
            for actor in {relation.program for relation in relations}
        }
    datasets = sorted({relation.data for relation in relations} | {ask.dataset})
    return {
        "start": ask.window.start,
        "end": ask.window.end,
        "relations": _bodies(relations, entities, set(collapse or ())),
        "data": {_data_key(dataset): {"entityId": dataset_entity(dataset)} for dataset in datasets},
        "programs": {_program_key(entity): {"entityId": entity} for entity in entities.values()},
    }


async def _around(ask: CdapRequest, levels: int) -> list[Edge]:
    found: dict[tuple[str, str], Edge] = {}
    for direction in (Direction.UPSTREAM, Direction.DOWNSTREAM):
        seen, waiting = {ask.dataset}, [ask.dataset]
        for _ in range(2 * levels):
            kinds = [EdgeKind.READS, EdgeKind.WRITES]
            edges = await ask.graph.neighbours(ask.tenant, waiting, direction=direction, kinds=kinds) if waiting else []
            passed = [edge for edge in edges if ask.window.touches(edge) and _joins_job_and_dataset(edge)]
            found.update(((edge.src, edge.dst), edge) for edge in passed)
            waiting = sorted({edge.src if direction is Direction.UPSTREAM else edge.dst for edge in passed} - seen)
            seen.update(waiting)
            if len(seen) > _MOST:
                raise InvalidQueryError(
                    f"More than {_MOST:,} datasets and programs are around it.", field="levels", hint="Ask for less levels."
                )
    return [edge for _, edge in sorted(found.items())]


async def _relations(ask: CdapRequest, edges: Sequence[Edge], jobs: Sequence[str]) -> list[_Relation]:
    runs = {job: await runs_in(ask, job) for job in jobs}
    written = {
        version.id
        for version in await ask.graph.get(
            ask.tenant,
            [version_of(edge.dst, run) for edge in edges if edge.kind is EdgeKind.WRITES for run in runs[edge.src]],
        )
    }
    relations = []
    for edge in edges:
        reads = edge.kind is EdgeKind.READS
        data = edge.src if reads else edge.dst
        stated = [
            run for run in runs[_job(edge)] if (f"input:{data}" in run.properties if reads else version_of(data, run) in written)
        ]  # fmt: skip
        known = [parse_id(run.id)[1][0] for run in stated] or [""]
        relations += [_Relation(data, _job(edge), "read" if reads else "write", run) for run in known]
    return relations


async def runs_in(ask: CdapRequest, job: str) -> list[Node]:
    """Return the runs of a job whose first event is in the window.

    Raises:
        InvalidQueryError: the number of runs exceeds the limit.
    """
    listing = await ask.graph.latest(ask.tenant, job, NodeKind.RUN, until=ask.window.until, first=_MOST_RUNS + 1)
    times = {
        edge.dst: edge.first.partition(" ")[0]
        for edge in await ask.graph.neighbours(
            ask.tenant, [run.id for run in listing.nodes], direction=Direction.UPSTREAM, kinds=[EdgeKind.CONTAINS]
        )
        if edge.src == job
    }
    found = [run for run in listing.nodes if ask.window.since <= times.get(run.id, "") < ask.window.until]
    if len(found) > _MOST_RUNS:
        raise InvalidQueryError(f"{job} has more than {_MOST_RUNS:,} runs in this time.", field="start", hint="Ask about a shorter time.")
    return found


async def _rolled_up(ask: CdapRequest, relations: Sequence[_Relation], pipelines: Mapping[str, str]) -> list[_Relation]:
    ids = sorted({node_id(NodeKind.RUN, relation.run) for relation in relations if relation.run})
    parents = {parse_id(run.id)[1][0]: _parent(run) for run in await ask.graph.get(ask.tenant, ids)}
    rolled = [
        _Relation(relation.data, pipelines[relation.program], relation.access, parents.get(relation.run, ""))
        if relation.program in pipelines
        else relation
        for relation in relations
    ]
    return list(dict.fromkeys(rolled))


def _parent(run: Node) -> str:
    parent = run.properties.get("parentRun")
    return parse_id(parent)[1][0] if isinstance(parent, str) else ""


def _bodies(relations: Iterable[_Relation], entities: Mapping[str, Mapping[str, str]], collapse: set[Collapse]) -> list[dict[str, Any]]:
    together: dict[tuple[str, str, str, str], list[_Relation]] = {}
    for relation in relations:
        access = "" if Collapse.ACCESS in collapse else relation.access
        run = "" if Collapse.RUN in collapse else relation.run
        together.setdefault((relation.data, relation.program, access, run), []).append(relation)
    return [
        {
            "data": _data_key(same[0].data),
            "program": _program_key(entities[same[0].program]),
            "accesses": sorted({relation.access for relation in same}),
            "runs": sorted({relation.run for relation in same} - {""}),
            "components": [],
        }
        for _, same in sorted(together.items())
    ]


def _joins_job_and_dataset(edge: Edge) -> bool:
    ends = {edge.src.partition(":")[0], edge.dst.partition(":")[0]}
    return ends == {NodeKind.JOB.value, NodeKind.DATASET.value}


def _job(edge: Edge) -> str:
    return edge.dst if edge.kind is EdgeKind.READS else edge.src


def version_of(dataset: str, run: Node) -> str:
    return node_id(NodeKind.VERSION, *parse_id(dataset)[1], parse_id(run.id)[1][0])


def _data_key(dataset: str) -> str:
    return ".".join(["dataset", *parse_id(dataset)[1]])


def _program_key(entity: Mapping[str, str]) -> str:
    category = "workflows" if entity["type"] == "WORKFLOW" else "spark"
    return ".".join([category, entity["namespace"], entity["application"], entity["program"]])
