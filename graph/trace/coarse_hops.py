"""Coarse hops: links by dataset, for steps without record lineage (another system, mode coarse, a refused query).

The trace continues from the dataset through the graph's flows. The answer names the datasets of these hops as a superset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from headwater.graph.ledger import FAILED, ledger_of
from headwater.graph.model import EdgeKind, NodeKind, node_id, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.trace.answer import Grain, Hop
from headwater.graph.trace.session import Session

_MOST_REASONS = 3
_MOST_FOLDERS = 32
_BATCH = 1_000  # jobs per query to the graph


@dataclass
class Lifted:
    """Coarse hops and the datasets around them: their ends (`datasets`), the datasets passed, and the datasets that were left.

    `reasons` states for each job why its lineage is coarse.
    """

    hops: list[Hop] = field(default_factory=list)
    datasets: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)

    def say(self, session: Session) -> None:
        """Report in the answer the precision that is lost by these hops."""
        for hop in self.hops:
            reason = f" (its last run says: {self.reasons[hop.job]})" if hop.job in self.reasons else ""
            session.say(hop.job, f"its lineage is known by datasets only{reason}, so every record of them may have had a part", "superset")


async def lift(
    graph: GraphStore,
    tenant: str,
    datasets: Collection[str],
    *,
    forward: bool,
    to: str | None,
    taken_by: Callable[[str], Collection[str]] | None = None,
) -> Lifted:
    """Follow datasets through the graph. `taken_by` returns the jobs through which the records of a dataset have been followed already."""
    lifted = Lifted()
    beyond: dict[str, set[str]] = {}
    waiting, seen = sorted(datasets), set(datasets)
    while waiting:
        dataset = waiting.pop(0)
        followed = await asyncio.to_thread(taken_by, dataset) if taken_by is not None and dataset != to else ()
        found = [] if dataset == to else await _beyond(graph, tenant, dataset, followed, forward=forward)
        if not found:
            if dataset not in datasets:
                lifted.datasets.add(dataset)
            continue
        if dataset in datasets:
            lifted.left.add(dataset)
        beyond[dataset] = set().union(*(others for _, others in found))
        for job, others in found:
            inputs, output = ([dataset], others) if forward else (sorted(others), {dataset})
            lifted.hops += [Hop(job, "", end, inputs, (), 0, Grain.DATASET) for end in sorted(output)]
            lifted.passed |= others
            waiting += sorted(others - seen)
            seen |= others
    circles = _without_end(beyond)
    lifted.left -= circles  # the answer ends at their records, and nothing more is known
    lifted.datasets |= circles - set(datasets)
    if lifted.hops:
        lifted.reasons = await _reasons(graph, tenant, {hop.job for hop in lifted.hops})
    return lifted


def _without_end(beyond: Mapping[str, Collection[str]]) -> set[str]:
    """Return the datasets of cycles without an exit: a job that reads its own output, or several jobs that feed each other."""
    before: dict[str, list[str]] = {}
    for dataset, others in beyond.items():
        for other in others:
            before.setdefault(other, []).append(dataset)
    ends = [other for other in before if other not in beyond]
    with_end = set(ends)
    while ends:
        further = [dataset for dataset in before.get(ends.pop(), ()) if dataset not in with_end]
        with_end.update(further)
        ends += further
    trapped = {dataset: sum(one not in with_end for one in before.get(dataset, ())) for dataset in beyond if dataset not in with_end}
    first = [dataset for dataset, count in trapped.items() if not count]
    while first:  # drop the datasets that lead into a cycle but are not part of one
        dataset = first.pop()
        del trapped[dataset]
        for other in beyond[dataset]:
            trapped[other] -= 1
            first += [other] if not trapped[other] else []
    return set(trapped)


async def _beyond(graph: GraphStore, tenant: str, dataset: str, followed: Collection[str], *, forward: bool) -> list[tuple[str, set[str]]]:
    """Return the jobs that wrote a dataset, each with its inputs (forward: that read it, each with its outputs).

    Jobs that wrote or read a parent folder of the dataset count too. The jobs in `followed` are left out.
    """
    near = Direction.DOWNSTREAM if forward else Direction.UPSTREAM
    first, second = (EdgeKind.READS, EdgeKind.WRITES) if forward else (EdgeKind.WRITES, EdgeKind.READS)
    edges = await graph.neighbours(tenant, [dataset, *_folders_above(dataset)], direction=near, kinds=[first])
    others: dict[str, set[str]] = {edge.dst if forward else edge.src: set() for edge in edges}
    jobs = sorted(job for job in others if job.startswith("job:") and job not in followed)
    for begin in range(0, len(jobs), _BATCH):
        for edge in await graph.neighbours(tenant, jobs[begin : begin + _BATCH], direction=near, kinds=[second]):
            job, other = (edge.src, edge.dst) if forward else (edge.dst, edge.src)
            if other.startswith("dataset:"):
                others[job].add(other)
    never = await _never_completed(graph, tenant, [job for job in jobs if others[job]])
    return [(job, others[job]) for job in jobs if others[job] and job not in never]


async def _never_completed(graph: GraphStore, tenant: str, jobs: Sequence[str]) -> set[str]:
    """Return the jobs whose last run failed and that have no completed run. Nothing that they read or wrote lasts.

    A run that failed after its commit has a capture, and counts.
    """
    nodes = await graph.get(tenant, jobs) if jobs else []
    last = {job.id: str(job.properties["lastRun"]) for job in nodes if "lastRun" in job.properties and "lastComplete" not in job.properties}
    runs = await graph.get(tenant, sorted(set(last.values()))) if last else []
    failed = {run.id for run in runs if run.properties.get("state") in FAILED and "capture" not in run.properties}
    return {job for job, run in last.items() if run in failed}


def _folders_above(dataset: str) -> list[str]:
    """Return the datasets that may contain the one at a path, such as `/mid` for `/mid/k=1`.

    A job that wrote or read such a folder may have read or written the dataset as well.
    """
    kind, parts = parse_id(dataset)
    if kind != NodeKind.DATASET or len(parts) != 2:
        return []
    namespace, name = parts
    if namespace != "file" and "://" not in namespace:
        return []  # a name with slashes need not be a path
    above = [str(folder) for folder in PurePosixPath(name).parents if folder.name]
    return [node_id(NodeKind.DATASET, namespace, folder) for folder in above[:_MOST_FOLDERS]]


async def _reasons(graph: GraphStore, tenant: str, jobs: Collection[str]) -> dict[str, str]:
    """Return the reasons why records were not followed through jobs, from the ledger of each job's last run.

    Jobs without a reason are left out.
    """
    last = {job.id: str(job.properties["lastRun"]) for job in await graph.get(tenant, sorted(jobs)) if "lastRun" in job.properties}
    runs = {run.id: run for run in await graph.get(tenant, sorted(last.values()))} if last else {}
    refusals = {job: _refusals(runs[run].properties) for job, run in last.items() if run in runs}
    return {job: "; ".join(reasons) for job, reasons in refusals.items() if reasons}


def _refusals(run: Mapping[str, Any]) -> list[str]:
    """Return the reasons in the ledger of a run why it has no records."""
    refused = [problem for problem in ledger_of(run).problems if problem.kind == "refused"]
    return [f"{problem.operator}: {problem.reason}" if problem.operator else problem.reason for problem in refused[:_MOST_REASONS]]
