"""Finds the failed run that a question is about, its error, and the registered program that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.backend.rerun.replay.invocations import check, register_command
from headwater.backend.rerun.replay.model import Invocation
from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.ledger import SET_ASIDE
from headwater.graph.model import Node, NodeKind, bare_name, node_id, parse_id
from headwater.graph.names import nodes_named
from headwater.graph.standard_facts import failure_of
from headwater.graph.stores import GraphStore
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.trials.failures import TrialFailure, failure_of_text

_FAILED = ("FAIL", "ABORT")
_MOST_RUNS = 1_000  # registered runs, the latest, among which the last failed one is searched


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A failed run, and the run of the application that it belongs to. `failure` is the error that the run states, if it states one."""

    run: Node
    application: Node
    namespace: str
    job: str
    failure: TrialFailure | None

    def invocation(self, registry: Registry) -> Invocation:
        """Return the command that starts the program.

        Raises:
            UnsupportedError: the program is not registered, or changed since.
        """
        program = registry.program(bare_name(self.application.id), self.namespace, self.job)
        if program is None:
            raise UnsupportedError(
                f"The program of job {self.job} (namespace {self.namespace}) is not registered on this home, and nothing else is run.",
                hint=f"Run it here once with `headwater run`, or register it: {register_command(self.namespace, self.job)}",
            )
        invocation = Invocation(
            run=self.application.id, job=self.job, namespace=self.namespace, argv=program.argv, script=program.script,
            working_directory=program.working_directory, script_sha256=program.script_sha256, environment=program.environment,
        )  # fmt: skip
        check(invocation)
        return invocation


async def find_failed_run(graph: GraphStore, tenant: str, registry: Registry, name: str | None) -> FailedRun:
    """Return the failed run with an id, or the last failed run of a job. Without a name, the last failed run of a registered program.

    Raises:
        InvalidQueryError: the run did not fail.
        NotFoundError: there is no such run.
    """
    run = await _last_failed(graph, tenant, registry) if name is None else await _named(graph, tenant, name)
    parent = run.properties.get("parentRun")
    above = await graph.get(tenant, [str(parent)]) if parent else []
    application = above[0] if above else run
    containers = (await graph.ancestors(tenant, [application.id])).get(application.id, [])
    job = next((container for container in containers if container.kind is NodeKind.JOB), None)
    if job is None:
        raise UnsupportedError(f"The job of {application.id} is not known.", hint="Name another run.")
    namespace, job_name = parse_id(job.id)[1]
    stated = failure_of(application.properties) or failure_of(run.properties)
    text = "\n".join(each.text for each in (stated.message, stated.stack_trace) if each) if stated else ""
    return FailedRun(run, application, namespace, job_name, failure_of_text(text) if text else None)


async def find_set_aside(graph: GraphStore, tenant: str, name: str) -> tuple[Node, Mapping[str, Any]] | None:
    """Return a run that set records aside, with its facet: the run with an id, or the last run of a job. None if it set none aside."""
    found = await nodes_named(graph, tenant, name, (NodeKind.RUN, NodeKind.JOB))
    if len(found) != 1:
        return None
    runs = found if found[0].kind is NodeKind.RUN else (await graph.latest(tenant, found[0].id, NodeKind.RUN, first=1)).nodes
    facet = runs[0].properties.get(SET_ASIDE) if runs else None
    return (runs[0], facet) if isinstance(facet, Mapping) else None


async def _named(graph: GraphStore, tenant: str, name: str) -> Node:
    found = await nodes_named(graph, tenant, name, (NodeKind.RUN, NodeKind.JOB))
    if not found:
        raise NotFoundError(
            f"No run or job is named {name}.", hint="`headwater lineage` shows the jobs. Without a name, the last failed run is explained."
        )
    if len(found) > 1:
        raise InvalidQueryError(f"{name} names {', '.join(node.id for node in found)}.", hint="Give the id of one.")
    node = found[0]
    if node.kind is NodeKind.RUN:
        if not _has_failed(node):
            state = str(node.properties.get("state") or "unknown").lower()
            raise InvalidQueryError(f"{node.id} did not fail: its state is {state}.", hint="For a wrong result, use `headwater explain`.")
        return node
    runs = (await graph.latest(tenant, node.id, NodeKind.RUN, first=_MOST_RUNS)).nodes
    failed = next((run for run in runs if _has_failed(run)), None)
    if failed is None:
        raise InvalidQueryError(f"No run of {name} has failed.", hint="For a wrong result, use `headwater explain`.")
    return failed


async def _last_failed(graph: GraphStore, tenant: str, registry: Registry) -> Node:
    ids = [node_id(NodeKind.RUN, run) for run in registry.runs()[-_MOST_RUNS:]]  # the ids of runs begin with their time
    failed: Sequence[Node] = [run for run in await graph.get(tenant, ids) if _has_failed(run)]
    if not failed:
        raise NotFoundError(
            "No run of a program of this home has failed.", hint="`headwater run` registers a program and records its runs."
        )
    return max(failed, key=lambda run: (str(run.properties.get("endedAt") or run.properties.get("startedAt") or ""), run.id))


def _has_failed(run: Node) -> bool:
    return run.properties.get("state") in _FAILED
