"""Finds two runs of a job, and what the graph knows of each: the program, the files that it read and wrote, the plan, the versions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.backend.rerun.replay.kinds import Sources
from headwater.backend.rerun.replay.starting_point import files_read, is_below, parse_file
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError
from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name, node_id, parse_id
from headwater.graph.names import nodes_named
from headwater.graph.records import FileBlock
from headwater.graph.standard_facts import input_sizes_of, output_sizes_of
from headwater.graph.stores import Direction
from headwater.spark_listener.registry import Program, Registry

_MOST_JOBS = 1_000
_MOST_RUNS = 200  # of a job, up to the end of an application, that are searched for the runs of the application
_EXPRESSION_NUMBER = re.compile(r"#\d+L?")


@dataclass(frozen=True, slots=True)
class Written:
    """A dataset that a run wrote: its files, and the number of rows. `files` is empty, and `rows` is None, if they are not known."""

    files: frozenset[FileBlock]
    rows: int | None


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run of an application.

    `reads` maps each dataset that it read and did not write to the files, if they are known. `rows_read` are the stated numbers of rows.
    `plans` maps the name of a query to the lines of its plan. `facts` are the properties of the run. `program` is the registered program.
    """

    run: str
    namespace: str
    job: str
    facts: Mapping[str, Any]
    program: Program | None
    reads: Mapping[str, frozenset[FileBlock] | None]
    rows_read: Mapping[str, int]
    writes: Mapping[str, Written]
    plans: Mapping[str, Sequence[str]]

    @property
    def started_at(self) -> str:
        return str(self.facts.get("startedAt") or self.facts.get("endedAt") or "")

    def fact(self, facet: str, name: str) -> Any:
        """Return a value that the run states in a facet, or None."""
        value = self.facts.get(facet)
        return value.get(name) if isinstance(value, Mapping) else None


async def find_compared_runs(first: str, second: str, sources: Sources, registry: Registry) -> tuple[ComparedRun, ComparedRun]:
    """Return two complete runs of one job. The name of a query's run means the run of its application.

    Raises:
        InvalidQueryError: they are runs of two jobs, or the same run, or a run is not complete.
        NotFoundError: there is no such run.
    """
    nodes = [await _application(name, sources) for name in (first, second)]
    if nodes[0].id == nodes[1].id:
        raise InvalidQueryError(f"{first} and {second} belong to one run of the program, {nodes[0].id}.", hint="Name two runs.")
    jobs = [await _job(node, sources) for node in nodes]
    if jobs[0] != jobs[1]:
        names = [parse_id(job)[1][1] for job in jobs]
        raise InvalidQueryError(
            f"{nodes[0].id} is a run of the job {names[0]}, and {nodes[1].id} of the job {names[1]}.",
            hint="Name two runs of one job. `headwater versions DATASET` lists the runs that wrote a dataset.",
        )
    for node in nodes:
        if node.properties.get("state") != "COMPLETE":
            state = str(node.properties.get("state") or "not known").lower()
            raise InvalidQueryError(
                f"{node.id} is not complete: its state is {state}, so it has no result to compare.",
                hint="For a run that failed, use `headwater why`.",
            )
    return await _describe(nodes[0], jobs[0], sources, registry), await _describe(nodes[1], jobs[1], sources, registry)


async def _application(name: str, sources: Sources) -> Node:
    found = await nodes_named(sources.graph, sources.tenant, name, (NodeKind.RUN,))
    if not found:
        raise NotFoundError(f"No run is named {name}.", hint="`headwater versions DATASET` lists the runs that wrote a dataset.")
    if len(found) > 1:
        raise InvalidQueryError(f"{name} names {', '.join(node.id for node in found)}.", hint="Give the id of one.")
    parent = found[0].properties.get("parentRun")
    above = await sources.graph.get(sources.tenant, [str(parent)]) if parent else []
    return above[0] if above else found[0]


async def _job(run: Node, sources: Sources) -> str:
    containers = (await sources.graph.ancestors(sources.tenant, [run.id])).get(run.id, [])
    job = next((container.id for container in containers if container.kind is NodeKind.JOB), None)
    if job is None:
        raise InvalidQueryError(f"The job of {run.id} is not known.", hint="Name another run.")
    return job


async def _describe(run: Node, job: str, sources: Sources, registry: Registry) -> ComparedRun:
    namespace, name = parse_id(job)[1]
    queries = await _queries(run, job, sources)
    writes = await _writes(queries, sources)
    read_files = await files_read(sources, [query.id for query, _ in queries])
    files = frozenset(file for found in read_files.values() for file in found)
    reads: dict[str, frozenset[FileBlock] | None] = {}
    rows: dict[str, int] = {}
    plans: dict[str, list[str]] = {}
    for query, name_of_query in queries:
        operators = await _operators(query.id, sources)
        plans.setdefault(name_of_query, []).extend(_plan(operators))
        stated = [name.removeprefix("input:") for name in query.properties if name.startswith("input:dataset:")]
        for dataset in {*stated, *(str(each.properties["dataset"]) for each in operators if each.properties.get("dataset"))}:
            if dataset not in writes:
                reads[dataset] = frozenset(file for file in files if _contains(dataset, file)) or None
        for dataset, size in input_sizes_of(query.properties, query.id).items():
            if size.rows is not None:
                rows[dataset] = max(size.rows, rows.get(dataset, 0))
    program = registry.program(bare_name(run.id), namespace, name)
    return ComparedRun(run.id, namespace, name, run.properties, program, reads, rows, writes, plans)


async def _queries(run: Node, job: str, sources: Sources) -> list[tuple[Node, str]]:
    """Return the run itself and the runs of its queries, with the names of their jobs."""
    pipeline = node_id(NodeKind.PIPELINE, *parse_id(job)[1])
    jobs = (await sources.graph.children(sources.tenant, pipeline, kinds=[NodeKind.JOB], first=_MOST_JOBS)).nodes
    end = str(run.properties.get("endedAt") or "") or None
    moments = [(each.id, end) for each in jobs]
    latest = await sources.graph.latest_at(sources.tenant, moments, NodeKind.RUN, first=_MOST_RUNS) if moments else {}
    found = [(run, parse_id(job)[1][1])]
    for (query_job, _), runs in latest.items():
        found += [(each, parse_id(query_job)[1][1]) for each in runs if each.properties.get("parentRun") == run.id]
    return found


async def _writes(queries: Sequence[tuple[Node, str]], sources: Sources) -> dict[str, Written]:
    runs = [query.id for query, _ in queries]
    edges = await sources.graph.neighbours(sources.tenant, runs, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
    files = [file for edge in edges if (file := parse_file(edge.dst)) is not None]
    versions = {edge.dst for edge in edges if edge.dst.startswith(f"{NodeKind.VERSION}:")}
    datasets = {node_id(NodeKind.DATASET, *parse_id(version)[1][:2]) for version in versions}
    rows: dict[str, int] = {}
    for run in runs:
        for dataset, size in (await output_sizes_of(sources.graph, sources.tenant, run)).items():
            if size.rows is not None:
                rows[dataset] = rows.get(dataset, 0) + size.rows
    return {each: Written(frozenset(file for file in files if _contains(each, file)), rows.get(each)) for each in sorted(datasets)}


async def _operators(run: str, sources: Sources) -> list[Node]:
    edges = await sources.graph.neighbours(sources.tenant, [run], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS])
    prefix = f"{NodeKind.OPERATOR}:"
    return await sources.graph.get(sources.tenant, [edge.dst for edge in edges if edge.dst.startswith(prefix)])


def _plan(operators: Sequence[Node]) -> list[str]:
    """Return the lines of a plan without the numbers that Spark gives to expressions, because each session counts anew."""
    ordered = sorted(operators, key=lambda node: int(node.properties.get("ordinal") or 0))
    return [_EXPRESSION_NUMBER.sub("", str(node.properties.get("text") or node.name)) for node in ordered]


def _contains(dataset: str, file: FileBlock) -> bool:
    try:
        return is_below(file, dataset)
    except HeadwaterError:  # a table of a database
        return False
