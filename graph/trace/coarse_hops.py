"""Continues a trace by dataset where record lineage is missing (another system, mode coarse, a refused query).

The trace follows the data flows of the graph from there. The answer reports the datasets of these hops as a superset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from headwater.graph.ledger import FAILED, SKIP_FAILING, ledger_of
from headwater.graph.model import EdgeKind, NodeKind, node_id, parse_id, run_key
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.trace.answer import Grain, Hop
from headwater.graph.trace.session import Session

_MOST_REASONS = 3
_MOST_FOLDERS = 32
_BATCH = 1_000  # jobs per query to the graph


@dataclass
class CoarseLineage:
    """Hops by dataset. `datasets` are their ends; the other fields are the datasets in between.

    `reasons` states for each job why its lineage is coarse.
    """

    hops: list[Hop] = field(default_factory=list)
    datasets: set[str] = field(default_factory=set)
    passed_datasets: set[str] = field(default_factory=set)
    left_datasets: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)

    def report(self, session: Session) -> None:
        """Add each job with coarse lineage to the answer's reasons for a superset."""
        for hop in self.hops:
            reason = f" (its last run says: {self.reasons[hop.job]})" if hop.job in self.reasons else ""
            session.report(
                hop.job, f"its lineage is known by datasets only{reason}, so every record of them may have had a part", "superset"
            )


async def follow_datasets(
    graph: GraphStore,
    tenant: str,
    datasets: Collection[str],
    *,
    forward: bool,
    target: str | None,
    followed_jobs: Callable[[str], Mapping[str, Collection[str]]] | None = None,
) -> CoarseLineage:
    """Follow datasets through the graph.

    `followed_jobs` returns the jobs through which records of a dataset were already traced, each with its runs with a refused query.
    """
    lineage = CoarseLineage()
    neighbours: dict[str, set[str]] = {}
    queue, visited = sorted(datasets), set(datasets)
    while queue:
        dataset = queue.pop(0)
        skipped_jobs: Collection[str] = ()
        if followed_jobs is not None and dataset in datasets and dataset != target:
            skipped_jobs = await _keep_traced_jobs(graph, tenant, dataset, await asyncio.to_thread(followed_jobs, dataset))
        job_datasets = [] if dataset == target else await _read_neighbours(graph, tenant, dataset, skipped_jobs, forward=forward)
        if not job_datasets:
            if dataset not in datasets:
                lineage.datasets.add(dataset)
            continue
        if dataset in datasets:
            lineage.left_datasets.add(dataset)
        neighbours[dataset] = set().union(*(datasets_of_job for _, datasets_of_job in job_datasets))
        for job, datasets_of_job in job_datasets:
            inputs, output = ([dataset], datasets_of_job) if forward else (sorted(datasets_of_job), {dataset})
            lineage.hops += [Hop(job, "", end, inputs, (), 0, Grain.DATASET) for end in sorted(output)]
            lineage.passed_datasets |= datasets_of_job
            queue += sorted(datasets_of_job - visited)
            visited |= datasets_of_job
    circles = _find_endless_datasets(neighbours)
    lineage.left_datasets -= circles  # the answer ends at their records, and nothing more is known
    lineage.datasets |= circles - set(datasets)
    if lineage.hops:
        lineage.reasons = await _read_reasons(graph, tenant, {hop.job for hop in lineage.hops})
    return lineage


async def _keep_traced_jobs(graph: GraphStore, tenant: str, dataset: str, refused_runs: Mapping[str, Collection[str]]) -> set[str]:
    """Return the jobs whose runs read a dataset with record lineage only.

    Several queries with one output are one job, and a later run of a job may have none. So the runs with a refused query and the last run
    of each job count, if they state the dataset as an input.
    """
    if not refused_runs:
        return set()
    last_runs = {job.id: str(job.properties.get("lastRun") or "") for job in await graph.get(tenant, sorted(refused_runs))}
    refused = {job: {node_id(NodeKind.RUN, run_key(run)) for run in runs} for job, runs in refused_runs.items()}
    asked = sorted({run for runs in refused.values() for run in runs} | {run for run in last_runs.values() if run})
    runs = {run.id: run.properties for run in await graph.get(tenant, asked)} if asked else {}
    reads = f"input:{dataset}"
    coarse = {
        job
        for job in refused_runs
        if any(run not in runs or reads in runs[run] for run in refused[job]) or _is_coarse(runs.get(last_runs.get(job, ""), {}), reads)
    }
    return refused_runs.keys() - coarse


def _is_coarse(run: Mapping[str, Any], reads: str) -> bool:
    return reads in run and run.get("state") == "COMPLETE" and "capture" not in run


def _find_endless_datasets(neighbours: Mapping[str, Collection[str]]) -> set[str]:
    """Return the datasets of cycles without an exit, such as the output that a job reads again."""
    predecessors: dict[str, list[str]] = {}
    for dataset, successors in neighbours.items():
        for successor in successors:
            predecessors.setdefault(successor, []).append(dataset)
    ends = [successor for successor in predecessors if successor not in neighbours]
    with_end = set(ends)
    while ends:
        freed_datasets = [dataset for dataset in predecessors.get(ends.pop(), ()) if dataset not in with_end]
        with_end.update(freed_datasets)
        ends += freed_datasets
    open_exits = {
        dataset: sum(successor not in with_end for successor in predecessors.get(dataset, ()))
        for dataset in neighbours
        if dataset not in with_end
    }
    first = [dataset for dataset, count in open_exits.items() if not count]
    while first:  # drop the datasets that lead into a cycle but are not part of one
        dataset = first.pop()
        del open_exits[dataset]
        for successor in neighbours[dataset]:
            open_exits[successor] -= 1
            first += [successor] if not open_exits[successor] else []
    return set(open_exits)


async def _read_neighbours(
    graph: GraphStore, tenant: str, dataset: str, skipped_jobs: Collection[str], *, forward: bool
) -> list[tuple[str, set[str]]]:
    direction = Direction.DOWNSTREAM if forward else Direction.UPSTREAM
    first, second = (EdgeKind.READS, EdgeKind.WRITES) if forward else (EdgeKind.WRITES, EdgeKind.READS)
    edges = await graph.neighbours(tenant, [dataset, *_list_parent_folders(dataset)], direction=direction, kinds=[first])
    datasets_by_job: dict[str, set[str]] = {edge.dst if forward else edge.src: set() for edge in edges}
    jobs = sorted(job for job in datasets_by_job if job.startswith("job:") and job not in skipped_jobs)
    for begin in range(0, len(jobs), _BATCH):
        for edge in await graph.neighbours(tenant, jobs[begin : begin + _BATCH], direction=direction, kinds=[second]):
            job, neighbour = (edge.src, edge.dst) if forward else (edge.dst, edge.src)
            if neighbour.startswith("dataset:"):
                datasets_by_job[job].add(neighbour)
    uncompleted_jobs = await _find_uncompleted_jobs(graph, tenant, [job for job in jobs if datasets_by_job[job]])
    return [(job, datasets_by_job[job]) for job in jobs if datasets_by_job[job] and job not in uncompleted_jobs]


async def _find_uncompleted_jobs(graph: GraphStore, tenant: str, jobs: Sequence[str]) -> set[str]:
    """Return the jobs whose last run failed and that have no completed run. Their reads and writes do not count.

    A run that failed after its commit has a capture, and is not returned.
    """
    nodes = await graph.get(tenant, jobs) if jobs else []
    last_runs = {
        job.id: str(job.properties["lastRun"]) for job in nodes if "lastRun" in job.properties and "lastComplete" not in job.properties
    }
    runs = await graph.get(tenant, sorted(set(last_runs.values()))) if last_runs else []
    failed = {run.id for run in runs if run.properties.get("state") in FAILED and "capture" not in run.properties}
    return {job for job, run in last_runs.items() if run in failed}


def _list_parent_folders(dataset: str) -> list[str]:
    kind, parts = parse_id(dataset)
    if kind != NodeKind.DATASET or len(parts) != 2:
        return []
    namespace, name = parts
    if namespace != "file" and "://" not in namespace:
        return []  # a name with slashes need not be a path
    folders = [str(folder) for folder in PurePosixPath(name).parents if folder.name]
    return [node_id(NodeKind.DATASET, namespace, folder) for folder in folders[:_MOST_FOLDERS]]


async def _read_reasons(graph: GraphStore, tenant: str, jobs: Collection[str]) -> dict[str, str]:
    last_runs = {job.id: str(job.properties["lastRun"]) for job in await graph.get(tenant, sorted(jobs)) if "lastRun" in job.properties}
    runs = {run.id: run for run in await graph.get(tenant, sorted(last_runs.values()))} if last_runs else {}
    refusals = {job: _read_refusals(runs[run].properties) for job, run in last_runs.items() if run in runs}
    return {job: "; ".join(reasons) for job, reasons in refusals.items() if reasons}


def _read_refusals(run: Mapping[str, Any]) -> list[str]:
    refused = [problem for problem in ledger_of(run).problems if problem.kind == "refused" or problem.operator == SKIP_FAILING]
    return [f"{problem.operator}: {problem.reason}" if problem.operator else problem.reason for problem in refused[:_MOST_REASONS]]
