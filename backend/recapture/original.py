"""The run that wrote a dataset last, and its application, from the graph.

Anybody who may send events can write to the graph. The graph selects a registered program and the run that gets the lineage. It never
decides what is executed or which files are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name, node_id, parse_id
from headwater.graph.stores import Direction

if TYPE_CHECKING:
    from headwater.graph.prov import GraphReader

_MOST_JOBS = 1_000  # that wrote one dataset


@dataclass(frozen=True, slots=True)
class OriginalRun:
    """The run that wrote a dataset last: `job` is its namespace and name, `application` the node of the application's run.

    `began` is the start of the application. `started` and `ended` belong to the run.
    """

    dataset: str
    run: str
    job: tuple[str, str]
    application: str
    began: str
    started: str
    ended: str

    @property
    def run_id(self) -> str:
        """The id of the run, as OpenLineage has it."""
        return bare_name(self.run)

    @property
    def began_ms(self) -> int:
        """Start of the application in milliseconds since the epoch. Its reads came later."""
        return _milliseconds(self.began)

    @property
    def ended_ms(self) -> int:
        """End of the run in milliseconds since the epoch."""
        return _milliseconds(self.ended)


async def last_writer(graph: GraphReader, tenant: str, dataset: str) -> OriginalRun:
    """Return the run that wrote a dataset and completed last.

    Raises:
        NotFoundError: no known run wrote the dataset.
        UnsupportedError: the times of the run are not known.
    """
    reached = await graph.reach(tenant, [dataset], direction=Direction.UPSTREAM, kinds=[EdgeKind.WRITES], depth=1, limit=_MOST_JOBS)
    jobs = [node for node in reached.nodes if node.kind is NodeKind.JOB]
    complete = sorted({str(job.properties["lastComplete"]) for job in jobs if "lastComplete" in job.properties})
    namespace, name = parse_id(dataset)[1]
    runs = [run for run in await graph.get(tenant, complete) if run.kind is NodeKind.RUN]
    wrote = {
        node.id for node in await graph.get(tenant, [node_id(NodeKind.VERSION, namespace, name, bare_name(run.id)) for run in runs])
    }  # a job may write other datasets in other runs
    runs = [run for run in runs if node_id(NodeKind.VERSION, namespace, name, bare_name(run.id)) in wrote]
    if not runs:
        raise NotFoundError(
            f"No run that completed is known to have written {name}.", hint="`headwater lineage` shows the jobs around a dataset."
        )
    last = max(runs, key=lambda run: (str(run.properties.get("endedAt") or ""), run.id))
    return await _original(graph, tenant, dataset, last)


async def job_of(graph: GraphReader, tenant: str, run: str) -> tuple[str, str] | None:
    """Return the namespace and name of a run's job, or None."""
    above = (await graph.ancestors(tenant, [run])).get(run, [])
    parts = next((parse_id(node.id)[1] for node in above if node.kind is NodeKind.JOB), None)
    return None if parts is None else (parts[0], parts[1])


async def _original(graph: GraphReader, tenant: str, dataset: str, run: Node) -> OriginalRun:
    started, ended = run.properties.get("startedAt"), run.properties.get("endedAt")
    job = await job_of(graph, tenant, run.id)
    application = str(run.properties.get("parentRun") or run.id)
    began = next((node.properties.get("startedAt") for node in await graph.get(tenant, [application])), None)
    if not isinstance(began, str) or not isinstance(started, str) or not isinstance(ended, str) or job is None:
        raise UnsupportedError(f"When run {bare_name(run.id)} of {dataset} began and ended is not known.")
    return OriginalRun(dataset, run.id, job, application, began, started, ended)


def _milliseconds(instant: str) -> int:
    return int(datetime.fromisoformat(instant).timestamp() * 1000)
