"""Where record lineage ends but the graph knows more: a coarse hop (another system, mode coarse, a refused query).

The trace then lifts to the dataset and goes on through the graph's flows. What is found so is a superset of containers, and said.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from headwater.graph.model import EdgeKind
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.trace.answer import Grain, Hop

_DEPTH = 64
_LIMIT = 10_000
_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)


@dataclass
class Lifted:
    """Coarse hops, the datasets at which they end, those from which they left, and how many nodes a limit kept out."""

    hops: list[Hop] = field(default_factory=list)
    datasets: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)


async def closure(graph: GraphStore | None, tenant: str, dataset: str, direction: Direction) -> set[str]:
    """The datasets that flows lead to from (or to) a dataset, itself among them."""
    if graph is None:
        return {dataset}
    reached = await graph.reach(tenant, [dataset], direction=direction, kinds=_FLOWS, depth=_DEPTH, limit=_LIMIT)
    return {dataset, *(node.id for node in reached.nodes if node.id.startswith("dataset:"))}


async def lift(
    graph: GraphStore, tenant: str, datasets: Collection[str], *, forward: bool, to: str | None, skip: Collection[tuple[str, str]]
) -> Lifted:
    """Go on from datasets at the grain of datasets. `skip` are (job, dataset) pairs that the records have been through already."""
    lifted = Lifted()
    waiting, seen = sorted(datasets), set(datasets)
    while waiting:
        dataset = waiting.pop(0)
        found = [] if dataset == to else await _beyond(graph, tenant, dataset, forward=forward)
        found = [(job, others) for job, others in found if (job, dataset) not in skip]
        if not found:
            if dataset not in datasets:
                lifted.datasets.add(dataset)
            continue
        if dataset in datasets:
            lifted.left.add(dataset)
        for job, others in found:
            inputs, output = ([dataset], others) if forward else (sorted(others), {dataset})
            lifted.hops += [Hop(job, "", end, inputs, (), 0, Grain.DATASET) for end in sorted(output)]
            lifted.passed |= others
            waiting += sorted(others - seen)
            seen |= others
    return lifted


async def _beyond(graph: GraphStore, tenant: str, dataset: str, *, forward: bool) -> list[tuple[str, set[str]]]:
    """The jobs that wrote a dataset with what they read (forward: that read it, with what they wrote)."""
    near = Direction.DOWNSTREAM if forward else Direction.UPSTREAM
    first, second = (EdgeKind.READS, EdgeKind.WRITES) if forward else (EdgeKind.WRITES, EdgeKind.READS)
    edges = await graph.neighbours(tenant, [dataset], direction=near, kinds=[first])
    jobs = sorted({edge.dst if forward else edge.src for edge in edges} - {dataset})
    jobs = [job for job in jobs if job.startswith("job:")]
    found: list[tuple[str, set[str]]] = []
    for job in jobs:
        flows = await graph.neighbours(tenant, [job], direction=near, kinds=[second])
        others = {edge.dst if forward else edge.src for edge in flows} - {job}
        others = {other for other in others if other.startswith("dataset:")}
        if others:
            found.append((job, others))
    return found
