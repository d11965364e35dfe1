"""Finds the programs that lead to an output, and the commands that start them.

The graph names the runs and jobs. Anybody who may send events can write to the graph, so nothing in it is ever executed. The programs come
from the registry of the home only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.replay.plan import Flow
from headwater.errors import UnsupportedError
from headwater.graph.model import EdgeKind, NodeKind, bare_name, kind_of, parse_id
from headwater.graph.stores import Direction, GraphStore
from headwater.spark_listener.invocation import script_sha256
from headwater.spark_listener.redact import REDACTED
from headwater.spark_listener.registry import Registry

_DEPTH, _LIMIT = 200, 100_000


@dataclass(frozen=True, slots=True)
class Upstream:
    """The jobs that lead to one output.

    `flows` has a flow for each job. `jobs` maps application runs to the namespace and name of their job. `names` maps them to job names.
    """

    flows: Sequence[Flow]
    jobs: Mapping[str, tuple[str, str]]
    names: Mapping[str, str]

    def writes(self, application: str) -> list[str]:
        return sorted({dataset for flow in self.flows if flow.application == application for dataset in flow.writes})

    def reads(self, application: str) -> list[str]:
        """Return the datasets that an application reads and does not write itself."""
        own = {dataset for flow in self.flows if flow.application == application for dataset in flow.reads}
        return sorted(own - set(self.writes(application)))

    def invocation(self, application: str, registry: Registry, script: Path | None = None) -> Invocation:
        """Return the command that starts the program of an application run. `script` replaces the registered script.

        A registered script that is replaced may have changed.

        Raises:
            UnsupportedError: the program is not registered, or changed since.
            ConfigurationError: the registry cannot be read.
        """
        namespace, job = self.jobs.get(application, ("default", self.names.get(application, application)))
        program = registry.program(bare_name(application), namespace, job)
        if program is None:
            raise UnsupportedError(
                f"The program of job {job} (namespace {namespace}) is not registered on this home, and nothing else is run.",
                hint=f"Run it here once with `headwater run`, or register it: {register_command(namespace, job)}",
            )
        invocation = Invocation(
            run=application, job=job, namespace=namespace, argv=program.argv, working_directory=program.working_directory,
            script=program.script, script_sha256=program.script_sha256, environment=program.environment,
        )  # fmt: skip
        if script is not None:
            digest = script_sha256(str(script))
            invocation = invocation.model_copy(update={"script": str(script), "script_sha256": digest or ""})
        check(invocation)
        return invocation


def check(invocation: Invocation) -> None:
    """Check that a program is unchanged since it was registered.

    Raises:
        UnsupportedError: the script changed or cannot be read, or a secret argument was redacted.
    """
    register = f"register it as it is now: {register_command(invocation.namespace, invocation.job)}"
    if hidden := [name for name, value in invocation.environment.items() if REDACTED in value]:
        raise UnsupportedError(
            f"The variable {hidden[0]} of {invocation.script} held a secret, which was not kept.",
            hint=f"Give Spark its secrets in a file of SPARK_CONF_DIR, and run the program again. Or register it with --env {hidden[0]}.",
        )
    if any(REDACTED in word for word in (*invocation.argv, invocation.script, invocation.working_directory)):
        raise UnsupportedError(
            f"The arguments of {invocation.script} held a secret, which was not kept.", hint=f"To run it with them all, {register}"
        )
    now = script_sha256(invocation.script)
    if now is None:
        raise UnsupportedError(f"{invocation.script} cannot be read any more.", hint=f"Put it back, or {register}")
    if now != invocation.script_sha256:
        raise UnsupportedError(
            f"{invocation.script} has changed since it was registered: its SHA-256 was {invocation.script_sha256}, and is {now}.",
            hint=f"Run it once with `headwater run`, or {register}",
        )


def register_command(namespace: str, job: str) -> str:
    return f"headwater jobs register --namespace {quote(namespace)} {quote(job)} SCRIPT [ARGUMENTS]"


async def upstream_of(graph: GraphStore, tenant: str, output: str) -> Upstream:
    return await _flows(graph, tenant, output, Direction.UPSTREAM)


async def downstream_of(graph: GraphStore, tenant: str, source: str) -> Upstream:
    return await _flows(graph, tenant, source, Direction.DOWNSTREAM)


async def _flows(graph: GraphStore, tenant: str, dataset: str, direction: Direction) -> Upstream:
    reached = await graph.reach(tenant, [dataset], direction=direction, kinds=[EdgeKind.READS, EdgeKind.WRITES], depth=_DEPTH, limit=_LIMIT)
    jobs = {node.id: node for node in reached.nodes if node.kind is NodeKind.JOB}
    datasets = {node.id for node in reached.nodes if node.kind is NodeKind.DATASET}
    last = {job: str(node.properties.get("lastRun") or "") for job, node in jobs.items()}
    application_of = await _applications(graph, tenant, last)
    reads: dict[str, set[str]] = {}
    writes: dict[str, set[str]] = {}
    for edge in reached.edges:
        if edge.kind is EdgeKind.READS and edge.dst in jobs and edge.src in datasets:
            reads.setdefault(edge.dst, set()).add(edge.src)
        if edge.kind is EdgeKind.WRITES and edge.src in jobs and edge.dst in datasets:
            writes.setdefault(edge.src, set()).add(edge.dst)
    flows = [Flow(application_of[job], frozenset(reads.get(job, ())), frozenset(writes.get(job, ())), last[job]) for job in sorted(jobs)]
    names = {application: jobs[job].name for job, application in application_of.items()}
    return Upstream(flows, await _jobs(graph, tenant, sorted(names)), names)


async def _jobs(graph: GraphStore, tenant: str, runs: Sequence[str]) -> dict[str, tuple[str, str]]:
    above = await graph.ancestors(tenant, [run for run in runs if kind_of(run) is NodeKind.RUN])
    found = {run: next((node for node in nodes if node.kind is NodeKind.JOB), None) for run, nodes in above.items()}
    return {run: (parts[0], parts[1]) for run, job in found.items() if job is not None for parts in [parse_id(job.id)[1]]}


async def _applications(graph: GraphStore, tenant: str, last: Mapping[str, str]) -> dict[str, str]:
    runs = {node.id: node for node in await graph.get(tenant, sorted({run for run in last.values() if run}))}
    return {job: str(runs[run].properties.get("parentRun") or run) if run in runs else job for job, run in last.items()}
