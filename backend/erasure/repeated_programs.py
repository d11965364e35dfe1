"""Registers the runs of an erasure's replay as runs of the programs that it repeated, so that a later replay or erasure can repeat them."""

from __future__ import annotations

from headwater.backend.rerun.replay.lineage import Lineage
from headwater.backend.rerun.replay.model import Replay
from headwater.graph.model import NodeKind, bare_name, node_id
from headwater.graph.stores import GraphStore
from headwater.spark_listener.registry import Program, Registry


async def register_runs(graph: GraphStore, registry: Registry, tenant: str, replay: Replay, lineage: Lineage) -> None:
    """Register the application runs of a committed replay. Can be repeated.

    The n-th run of a job in the replay has the command of the n-th step with this job. If the numbers differ, nothing is registered for the
    job, and a later erasure names its outputs.
    """
    runs = await graph.get(tenant, sorted({node_id(NodeKind.RUN, writer.run) for writer in lineage.writers}))
    applications = {str(run.properties.get("parentRun") or run.id) for run in runs}
    nodes = {node.id: node for node in await graph.get(tenant, sorted(applications))}
    above = await graph.ancestors(tenant, sorted(nodes))
    of_job: dict[str, list[tuple[str, str]]] = {}
    for identifier, node in nodes.items():
        job = next((one.id for one in above.get(identifier, ()) if one.kind is NodeKind.JOB), None)
        if job is not None:
            of_job.setdefault(job, []).append((str(node.properties.get("startedAt") or ""), identifier))
    steps: dict[str, list[Program]] = {}
    for step in replay.steps:
        made = step.invocation
        program = Program(
            namespace=made.namespace, job=made.job, argv=made.argv, script=made.script, script_sha256=made.script_sha256,
            working_directory=made.working_directory, environment=made.environment,
        )  # fmt: skip
        steps.setdefault(node_id(NodeKind.JOB, made.namespace, made.job), []).append(program)
    for job, found in of_job.items():
        programs = steps.get(job, [])
        if len(programs) != len(found):
            continue
        for program, (_, application) in zip(programs, sorted(found), strict=True):
            registry.register(program, bare_name(application))
