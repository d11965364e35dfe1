"""Finds what is unusual about a run, compared with the earlier complete runs of its job and among its own tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.culprits.outliers import LEAST_RUNS, Suspect, find_suspects
from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.stores import GraphStore
from headwater.graph.stores.write_times import with_ends
from headwater.graph.suspects.metrics import metrics_of_runs
from headwater.graph.suspects.tasks import find_task_suspects, skew_of, stages_of_runs

_MOST_JOBS = 100
_MOST_RUNS = 6_000  # limit of runs that are compared for one answer
_PAGE = 200
_MOST_PAGES = 50
_RUNS_WITH_TASKS = 20  # earlier runs whose tasks are compared


@dataclass(frozen=True, slots=True)
class RunReport:
    """The suspects of a run, each with the node that it is about: the run or a task.

    `compared` of `metrics` had enough earlier values among `runs` earlier runs. `siblings` counts the comparisons among tasks.
    """

    job: Node
    run: Node
    suspects: Sequence[tuple[str, Suspect]]
    compared: int
    metrics: int
    runs: int
    siblings: int


async def find_run_suspects(graph: GraphStore, tenant: str, node: Node, *, runs: int, with_columns: bool) -> list[RunReport]:
    """Return a report about a run, or about the last complete run of each job that a job or a pipeline means.

    `with_columns` compares the rates of nulls and of distinct values, too.

    Raises:
        InvalidQueryError: the run is not complete, or its job is not known.
        NotFoundError: no job has a complete run.
    """
    return [
        await _report(graph, tenant, job, run, earlier, with_columns=with_columns)
        for job, run, earlier in await _runs_of(graph, tenant, node, runs)
    ]


async def _report(graph: GraphStore, tenant: str, job: Node, run: Node, earlier: Sequence[Node], *, with_columns: bool) -> RunReport:
    metrics = await metrics_of_runs(graph, tenant, [*earlier, run], with_columns=with_columns)
    near = [each.id for each in earlier[-_RUNS_WITH_TASKS:]]
    stages = await stages_of_runs(graph, tenant, [run.id])
    if run.id in stages:  # the tasks of earlier runs matter only if this run has some
        stages |= await stages_of_runs(graph, tenant, near)
    for identifier, found in stages.items():
        metrics[identifier] |= skew_of(found)
    history: dict[str, list[float]] = defaultdict(list)
    for each in earlier:
        for metric, value in metrics[each.id].items():
            history[metric].append(value)
    present = metrics[run.id]
    tasks, siblings = find_task_suspects(stages.get(run.id, []), [stages[each] for each in near if each in stages])
    suspects = [(run.id, suspect) for suspect in find_suspects(history, present)]
    suspects += [(task.task, task.suspect) for task in tasks]
    compared = sum(len(history[metric]) >= LEAST_RUNS for metric in present)
    return RunReport(job, run, suspects, compared, len(present), len(earlier), siblings)


async def _runs_of(graph: GraphStore, tenant: str, node: Node, count: int) -> list[tuple[Node, Node, list[Node]]]:
    """Return each job that a node means, the run to judge, and earlier complete runs, the oldest first.

    The name of an application means the jobs of its pipeline, too.
    """
    if node.kind is NodeKind.RUN:
        if node.properties.get("state") != "COMPLETE":
            raise InvalidQueryError(f"{node.id} is not complete.", field="name", hint="Only complete runs can be compared.")
        containers = (await graph.ancestors(tenant, [node.id])).get(node.id, [])
        job = next((container for container in containers if container.kind is NodeKind.JOB), None)
        if job is None:
            raise InvalidQueryError(f"The job of {node.id} is not known.", field="name", hint="Name a job.")
        latest = await _latest_runs(graph, tenant, job.id, count + 1, node.id)
        return [(job, node, [run for run in latest if run.id != node.id][:count][::-1])]
    pipeline = node_id(NodeKind.PIPELINE, *parse_id(node.id)[1])
    jobs = (await graph.children(tenant, pipeline, kinds=[NodeKind.JOB], first=_MOST_JOBS)).nodes
    meant = [*([node] if node.kind is NodeKind.JOB else []), *jobs]
    count = min(count, _MOST_RUNS // max(len(meant), 1))
    found = [(job, latest[0], latest[1:][::-1]) for job in meant if (latest := await _latest_runs(graph, tenant, job.id, count + 1, None))]
    if not found:
        raise NotFoundError(f"{node.name} has no complete run.", hint="`headwater lineage` shows the jobs.")
    return found


async def _latest_runs(graph: GraphStore, tenant: str, job: str, count: int, until: str | None) -> list[Node]:
    """Return the latest complete runs of a job, the latest first. With `until`, only the runs that are not later than this one."""
    found: list[Node] = []
    is_reached = until is None
    for page in range(_MOST_PAGES):
        listing = await graph.latest(tenant, job, NodeKind.RUN, first=_PAGE, skip=page * _PAGE)
        for node in await with_ends(graph, tenant, listing.nodes):
            is_reached = is_reached or node.id == until
            if is_reached and node.properties.get("state") == "COMPLETE":
                found.append(node)
        if len(found) >= count or (page + 1) * _PAGE >= listing.total:
            return found[:count]
    raise InvalidQueryError(
        f"The last {_MOST_PAGES * _PAGE:,} runs of {job} do not suffice.", field="name", hint="Name a later run, or fewer runs."
    )
