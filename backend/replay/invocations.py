"""From the graph: who feeds an output, and how each of those programs was started.

A job is replayed as its last run was started: the application run above it carries the `headwater_invocation` facet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.backend.replay.model import Invocation
from headwater.backend.replay.plan import Flow
from headwater.errors import UnsupportedError
from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.stores import Direction, GraphStore

_FACET = "headwater_invocation"
_DEPTH, _LIMIT = 200, 100_000


@dataclass(frozen=True, slots=True)
class Upstream:
    """Everything that feeds one output: a flow a job, how application runs were started, and their names."""

    flows: Sequence[Flow]
    invocations: Mapping[str, Invocation]
    names: Mapping[str, str]

    def invocation(self, application: str) -> Invocation:
        """How an application was started.

        Raises:
            UnsupportedError: nobody recorded it.
        """
        found = self.invocations.get(application)
        if found is None:
            raise UnsupportedError(
                f"{self.names.get(application, application)} was not run under `headwater run`, so nobody knows how to start it.",
                hint="Run it once with `headwater run`.",
            )
        return found


async def upstream_of(graph: GraphStore, tenant: str, output: str) -> Upstream:
    """All flows that lead to the dataset `output`."""
    reached = await graph.reach(
        tenant, [output], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS, EdgeKind.WRITES], depth=_DEPTH, limit=_LIMIT
    )
    jobs = {node.id: node for node in reached.nodes if node.kind is NodeKind.JOB}
    datasets = {node.id for node in reached.nodes if node.kind is NodeKind.DATASET}
    application_of = await _applications(graph, tenant, jobs)
    reads: dict[str, set[str]] = {}
    writes: dict[str, set[str]] = {}
    for edge in reached.edges:
        if edge.kind is EdgeKind.READS and edge.dst in jobs and edge.src in datasets:
            reads.setdefault(edge.dst, set()).add(edge.src)
        if edge.kind is EdgeKind.WRITES and edge.src in jobs and edge.dst in datasets:
            writes.setdefault(edge.src, set()).add(edge.dst)
    flows = [Flow(application_of[job], frozenset(reads.get(job, ())), frozenset(writes.get(job, ()))) for job in sorted(jobs)]
    runs = {node.id: node for node in await graph.get(tenant, sorted({flow.application for flow in flows}))}
    names = {application: jobs[job].name for job, application in application_of.items()}
    return Upstream(flows, {one: invocation for one, run in runs.items() if (invocation := _invocation(run))}, names)


async def _applications(graph: GraphStore, tenant: str, jobs: Mapping[str, Node]) -> dict[str, str]:
    """For each job the application run above its last run, or the run itself, or (a job that nobody ran) the job."""
    last = {job: str(node.properties.get("lastRun") or "") for job, node in jobs.items()}
    runs = {node.id: node for node in await graph.get(tenant, sorted({run for run in last.values() if run}))}
    return {job: str(runs[run].properties.get("parentRun") or run) if run in runs else job for job, run in last.items()}


def _invocation(run: Node) -> Invocation | None:
    facet: Any = run.properties.get(_FACET)
    if not isinstance(facet, Mapping) or not facet.get("script") or not facet.get("script_sha256"):
        return None  # a notebook or a shell: there is no script to start
    return Invocation(
        run=run.id,
        argv=[str(word) for word in facet["argv"]],
        working_directory=str(facet["working_directory"]),
        script=str(facet["script"]),
        script_sha256=str(facet["script_sha256"]),
        environment={str(name): str(value) for name, value in (facet.get("environment") or {}).items()},
    )
