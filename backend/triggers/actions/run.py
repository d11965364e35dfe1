"""`run`: run a registered program with record capture, with its registered arguments, folder and environment variables.

The program writes to its usual places. The output of a failed run stays as the program leaves it. Spark publishes
the files of a job when the job commits. The execution is the parent of the run, so effects of the run count in the chain of causes.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.backend.rerun.replay.invocations import check
from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.replay.process_wait import in_thread_left_behind
from headwater.backend.rerun.replay.runner import ReplayFailedError, run_program, story
from headwater.backend.rerun.runners import ProgramRunner, Runners
from headwater.backend.triggers.actions.action import PARENT, Order, Site
from headwater.backend.triggers.conditions import NameLookup
from headwater.backend.triggers.conditions.condition import refuse_unknown, text_of
from headwater.backend.triggers.model import FactKind
from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.access.scopes import Scope
from headwater.graph.model import EdgeKind, NodeKind, node_id
from headwater.graph.stores import Direction, GraphStore
from headwater.spark_listener.registry import Program, Registry

KEPT_SECONDS = 30 * 86_400.0  # how long the log of a failed program is kept


class Run:
    repeats = False

    async def check(self, stated: Mapping[str, Any], known: NameLookup, site: Site, tenant: str) -> Mapping[str, Any]:  # noqa: ARG002
        refuse_unknown(stated, ("job", "namespace"), "run")
        if tenant != DEFAULT_TENANT:
            raise UnsupportedError(f"The tenant {tenant} has no programs on this service.", hint="Programs belong to the home.")
        parts = {"job": text_of(stated, "job", "run"), "namespace": str(stated.get("namespace", "default"))}
        check(_invocation(_program(site.workspace.registry, parts)))
        return parts

    def retry_seconds(self, parts: Mapping[str, Any], site: Site) -> float:  # noqa: ARG002
        return 0.0

    def needs(self, parts: Mapping[str, Any]) -> frozenset[Scope]:  # noqa: ARG002
        return frozenset({Scope.REPLAY})

    def is_possible(self, parts: Mapping[str, Any], site: Site) -> bool:
        return bool(_candidates(site.workspace.registry, parts))

    async def run(self, parts: Mapping[str, Any], order: Order, site: Site) -> str:
        invocation = _invocation(_program(site.workspace.registry, parts))
        check(invocation)
        home = site.workspace.home
        folder = home.replays / f"trigger-{order.key}"
        await asyncio.to_thread(_make_folder, folder)
        log = folder / "program.log"
        parent = f"{PARENT}/{order.trigger}/{order.key}"
        variables = {"HEADWATER_HOME": str(home.path), "OPENLINEAGE_PARENT_ID": parent, "OPENLINEAGE_ROOT_PARENT_ID": parent}
        runner = await asyncio.to_thread(lambda: Runners.of_home(home.path).of_program(invocation.namespace, invocation.job))
        code = await in_thread_left_behind(_run, invocation, log, variables, runner)
        if code:
            raise ReplayFailedError(story(invocation, code, log), hint=f"The whole log is {log}.")
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return "the program ended"

    async def effects(self, parts: Mapping[str, Any], graph: GraphStore, tenant: str) -> Sequence[tuple[FactKind, str]]:
        """Return the job's runs, the runs of jobs within it, and the datasets that these jobs wrote in the past."""
        owners = [node_id(kind, parts["namespace"], parts["job"]) for kind in (NodeKind.JOB, NodeKind.PIPELINE)]
        jobs = list(owners)
        for owner in owners:
            page = await graph.children(tenant, owner, kinds=[NodeKind.JOB], first=1_000)
            jobs += [node.id for node in page.nodes]
        written = await graph.neighbours(tenant, jobs, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
        datasets = sorted({edge.dst for edge in written if edge.dst.startswith(f"{NodeKind.DATASET}:")})
        found = [(FactKind.RUN, job) for job in jobs]
        return found + [(kind, dataset) for dataset in datasets for kind in (FactKind.VERSION, FactKind.CHECK)]

    def describe(self, parts: Mapping[str, Any]) -> str:
        return f"run the program of {parts['job']}"


def _make_folder(folder: Path) -> None:
    """Make the folder of an execution. Folders of executions older than 30 days are removed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.parent.glob("trigger-*"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(old, ignore_errors=True)


def _run(invocation: Invocation, log: Path, variables: Mapping[str, str], runner: ProgramRunner) -> int:
    return run_program(invocation, None, log, capturing=variables, runner=runner)


def _candidates(registry: Registry, parts: Mapping[str, Any]) -> list[Program]:
    """Return the program that the operator registered for a job, else the programs that runs of the job registered, the latest last."""
    if (program := registry.program("", parts["namespace"], parts["job"])) is not None:
        return [program]
    known = [(at, one) for one, at in registry.programs() if (one.namespace, one.job) == (parts["namespace"], parts["job"])]
    return [program for _, program in sorted(known, key=lambda pair: pair[0])]


def _program(registry: Registry, parts: Mapping[str, Any]) -> Program:
    """Return the program of a job. If several scripts ran under the name of the job, none is chosen."""
    programs = _candidates(registry, parts)
    if not programs:
        names = sorted({one.job for one, _ in registry.programs() if one.namespace == parts["namespace"]})
        known = f"Registered are {', '.join(names[:5])}. " if names else ""
        raise NotFoundError(
            f"No program is registered for the job {parts['job']} (namespace {parts['namespace']}) on this home.",
            hint=f"{known}Run it once with `headwater run`, or register it: headwater jobs register {parts['job']} SCRIPT.",
        )
    if len(scripts := sorted({program.script for program in programs})) > 1:
        raise InvalidQueryError(
            f"Several programs ran as the job {parts['job']}: {', '.join(scripts[:5])}.",
            hint=f"Give each program an `appName`, or choose one: headwater jobs register {parts['job']} SCRIPT.",
        )
    return programs[-1]


def _invocation(program: Program) -> Invocation:
    return Invocation(
        run="", job=program.job, namespace=program.namespace, argv=program.argv, working_directory=program.working_directory,
        script=program.script, script_sha256=program.script_sha256, environment=program.environment,
    )  # fmt: skip
