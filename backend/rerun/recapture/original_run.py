"""Finds the run that wrote a dataset last, and its application, in the graph.

Anybody who may send events can write to the graph. The graph therefore selects only a registered program, and the run that gets the
lineage. It never decides what is executed or which files are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name, node_id, parse_id
from headwater.graph.stores import Direction
from headwater.paths import partition_pairs

if TYPE_CHECKING:
    from headwater.graph.prov import GraphReader

_MOST_JOBS = 1_000  # limit of jobs that wrote one dataset
_MOST_VERSIONS = 20_000  # limit of versions to search for the writer of a partition
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class OriginalRun:
    """The run that wrote a dataset last. `job` is its namespace and name, `application` the node of its application's run.

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
        return bare_name(self.run)

    @property
    def began_ms(self) -> int:
        """Return the start of the application in milliseconds since the epoch. All of its reads came later."""
        return _milliseconds(self.began)

    @property
    def ended_ms(self) -> int:
        return _milliseconds(self.ended)


async def last_writer(graph: GraphReader, tenant: str, dataset: str, within: str = "") -> OriginalRun:
    """Return the run that completed last among the writers of a dataset, or of its partition `within`.

    Raises:
        NotFoundError: no known run wrote the dataset or the partition.
        UnsupportedError: the times of the run are unknown, or the dataset has too many versions.
    """
    if within:
        return await _last_writer_of(graph, tenant, dataset, within)
    reached = await graph.reach(tenant, [dataset], direction=Direction.UPSTREAM, kinds=[EdgeKind.WRITES], depth=1, limit=_MOST_JOBS)
    jobs = [node for node in reached.nodes if node.kind is NodeKind.JOB]
    complete = sorted({str(job.properties["lastComplete"]) for job in jobs if "lastComplete" in job.properties})
    namespace, name = parse_id(dataset)[1]
    runs = [run for run in await graph.get(tenant, complete) if run.kind is NodeKind.RUN]
    wrote = {
        node.id for node in await graph.get(tenant, [node_id(NodeKind.VERSION, namespace, name, bare_name(run.id)) for run in runs])
    }  # runs of a job may write different datasets
    runs = [run for run in runs if node_id(NodeKind.VERSION, namespace, name, bare_name(run.id)) in wrote]
    if not runs:
        raise NotFoundError(
            f"No run that completed is known to have written {name}.", hint="`headwater lineage` shows the jobs around a dataset."
        )
    last = max(runs, key=lambda run: (str(run.properties.get("endedAt") or ""), run.id))
    return await _original(graph, tenant, dataset, last)


async def _last_writer_of(graph: GraphReader, tenant: str, dataset: str, within: str) -> OriginalRun:
    asked, found, cursor, seen = partition_pairs(within), list[str](), None, 0
    while cursor is not None or not seen:
        page = await graph.children(tenant, dataset, kinds=[NodeKind.VERSION], first=_PAGE, after=cursor)
        found += [node_id(NodeKind.RUN, parse_id(node.id)[1][2]) for node in page.nodes if _may_write(node, asked)]
        cursor, seen = page.cursor, seen + _PAGE
        if cursor is not None and seen >= _MOST_VERSIONS:
            raise UnsupportedError(
                f"{bare_name(dataset)} has more than {_MOST_VERSIONS:,} versions, so the writer of {within} is not known."
            )
    runs: list[Node] = []
    for start in range(0, len(found), _PAGE):
        runs += [run for run in await graph.get(tenant, found[start : start + _PAGE]) if run.properties.get("state") == "COMPLETE"]
    if not runs:
        raise NotFoundError(
            f"No run that completed is known to have written {within} of {bare_name(dataset)}.",
            hint="`headwater lineage` shows the jobs around a dataset.",
        )
    return await _original(graph, tenant, dataset, max(runs, key=lambda run: (str(run.properties.get("endedAt") or ""), run.id)))


def _may_write(version: Node, asked: Mapping[str, str]) -> bool:
    """Whether a version may contain a partition. Versions that state no partitions may."""
    stated = version.properties.get("subset")
    condition = stated.get("outputCondition") if isinstance(stated, Mapping) else None
    partitions = condition.get("partitions") if isinstance(condition, Mapping) else None
    if not isinstance(partitions, list):
        return True
    written = [part["dimensions"] for part in partitions if isinstance(part, Mapping) and isinstance(part.get("dimensions"), Mapping)]
    return any(all(str(pairs.get(column, value)) == value for column, value in asked.items()) for pairs in written)


async def job_of(graph: GraphReader, tenant: str, run: str) -> tuple[str, str] | None:
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
