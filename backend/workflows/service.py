"""The workflows of one home: check, apply, run, and describe them.

One process at a time runs a workflow. A run of a task reads exactly the blocks that its plan names, writes to a separate folder, and is
committed by one transaction of the ledger. The outputs of a failed run never become visible.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from headwater.backend.rerun.shadow_lineage import MakeDelivery
from headwater.backend.workflows.arrivals import SourceWatch
from headwater.backend.workflows.checks import home_problems, is_below_root, with_real_paths
from headwater.backend.workflows.ledger import Ledger, Run, RunState
from headwater.backend.workflows.model import Production, Workflow, parse_workflow
from headwater.backend.workflows.recovery import finish_run, finish_runs, hold_run
from headwater.backend.workflows.sources import find_new_block
from headwater.backend.workflows.status import TaskStatus, describe_tasks
from headwater.backend.workflows.structure import order_tasks, structure_problems
from headwater.backend.workflows.task_run import TaskRun
from headwater.errors import HeadwaterError, NotFoundError, UnavailableError
from headwater.graph.records import DataRoots
from headwater.graph.yaml_reader import parse_document, read_document
from headwater.spark_listener.lineage.parents import new_run_id
from headwater.spark_listener.registry import Registry

_POLL = 0.2  # seconds between two attempts to lock a workflow


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one task. `state` is `complete`, `failed`, or None for a task without unread blocks.

    `reads` has the numbers of the read blocks by channel and mode. `writes` has the number of the new block of each output.
    """

    task: str
    state: str | None
    run: str | None = None
    reads: Mapping[str, Mapping[str, Sequence[int]]] | None = None
    writes: Mapping[str, int] | None = None
    error: str | None = None


class Workflows:
    """The workflows of a home.

    `folder` is for the runs, `ledger` is the file of the ledger. `has_roots` is true if the operator set data roots.
    """

    def __init__(
        self, folder: Path, ledger: Path, registry: Registry, sources: DataRoots, make_delivery: MakeDelivery, *, has_roots: bool
    ) -> None:
        self._folder = folder
        self.ledger = Ledger(ledger)
        self._registry = registry
        self._sources = sources
        self._make_delivery = make_delivery
        self._has_roots = has_roots
        self.warnings: list[str] = []

    def check(self, file: Path) -> tuple[Workflow, list[HeadwaterError]]:
        """Parse a workflow's file, and return the workflow with the errors that keep it from running. Nothing is changed.

        Raises:
            InvalidInputError: the file is not a workflow.
        """
        _, document = read_document(file)
        return self._check(parse_workflow(document, file.absolute().parent), file.absolute().parent)

    def apply(self, file: Path) -> Workflow:
        """Store the workflow of a file. A workflow of the same name is replaced; its blocks and cursors stay.

        Raises:
            InvalidInputError: the file is not a workflow, or cannot run here.
            UnsupportedError: a program cannot be run.
            UnavailableError: the workflow is running.
        """
        text, document = read_document(file)
        folder = file.absolute().parent
        workflow, problems = self._check(parse_workflow(document, folder), folder)
        if problems:
            raise _summarize(problems)
        with self._locked(workflow.name):
            written = workflow.written
            channels = {name: (str(channel.path), name in written) for name, channel in workflow.channels.items()}
            self.ledger.apply(workflow.name, text, str(folder), channels, {task.name: task.reads for task in workflow.tasks.values()})
            self._registry.add_roots(path for path, _ in channels.values())
        return workflow

    def get(self, name: str) -> Workflow:
        known = self.ledger.workflows()
        if name not in known:
            raise NotFoundError(
                f"There is no workflow {name!r}.", hint=f"Applied are: {', '.join(known) or 'none'}. `headwater workflow apply` adds one."
            )
        text, folder, _ = known[name]
        return order_tasks(with_real_paths(parse_workflow(parse_document(text), Path(folder))))

    def run(
        self,
        name: str,
        *,
        tasks: Sequence[str] | None = None,
        trigger: str | None = None,
        starts_over: bool = False,
        patience: float = 0.0,
        variables: Mapping[str, str] | None = None,
        began: Callable[[], None] = lambda: None,
        changed: Callable[[TaskResult], None] = lambda _: None,
    ) -> list[TaskResult]:
        """Run the tasks of a workflow that have unread blocks, in order. A failed task ends the run.

        Args:
            name: the workflow.
            tasks: the tasks to run, all by default.
            trigger: a trigger of the workflow that names the tasks to run.
            starts_over: the tasks read everything again, and their outputs replace their channels.
            patience: seconds to wait for another process that runs the workflow.
            variables: further environment variables of the programs, which name the root of their run.
            began: called when the checks have passed and the workflow is locked.
            changed: called with each result.

        Raises:
            NotFoundError: there is no such workflow, task or trigger.
            UnavailableError: the workflow is already running.
            SourceUnavailableError: the folder of a source is gone.
        """
        workflow = self.get(name)
        if trigger is not None:
            if trigger not in workflow.triggers:
                known = ", ".join(workflow.triggers) or "none"
                raise NotFoundError(f"The workflow {name} has no trigger {trigger}.", hint=f"Its triggers are {known}.")
            tasks = workflow.triggers[trigger].run
        if unknown := [task for task in tasks or () if task not in workflow.tasks]:
            raise NotFoundError(f"The workflow {name} has no task {unknown[0]}.", hint=f"Its tasks are {', '.join(workflow.tasks)}.")
        _, problems = self._check(workflow, Path(self.ledger.workflows()[name][1]))
        if problems:
            raise _summarize(problems)
        parent = {**_parent(name), **(variables or {})}
        results: list[TaskResult] = []
        with self._locked(name, patience) as folder:
            began()
            self.warnings = finish_runs(self.ledger, name, folder, self._make_delivery)
            self._take_arrivals(workflow)
            for task in workflow.tasks.values():
                if tasks is not None and task.name not in tasks:
                    continue
                result = self._run_task(workflow, task.name, folder, parent, starts_over=starts_over)
                results.append(result)
                changed(result)
                if result.state == RunState.FAILED:
                    break
        return results

    def has_work(self, name: str, tasks: Sequence[str], watch: SourceWatch) -> bool:
        """Whether a run of some tasks may have something to read: files arrived in a source, or a block is unread. Nothing is changed.

        Raises:
            NotFoundError: there is no such workflow.
            HeadwaterError: a source cannot be read.
        """
        workflow = self.get(name)
        chosen = [workflow.tasks[task] for task in tasks if task in workflow.tasks]
        sources = dict.fromkeys(channel for task in chosen for channel in task.reads if channel not in workflow.written)
        for channel in sources:
            numbers = [block.sequence for block in self.ledger.block_numbers(name, channel)]
            if watch.has_changes(workflow.channels[channel].path, self.ledger.files(name, channel, numbers)):
                return True
        return any(TaskRun.plan(workflow, task, self.ledger, starts_over=False) is not None for task in chosen)

    def status(self, name: str) -> list[TaskStatus]:
        """Return the state of each task. Runs that a crash interrupted are finished first, unless the workflow is running.

        Raises:
            NotFoundError: there is no such workflow.
        """
        workflow = self.get(name)
        self.recover(name)
        return describe_tasks(workflow, self.ledger)

    def recover(self, name: str) -> list[str]:
        """Finish runs that a crash interrupted, unless the workflow is running. Returns warnings.

        If there are none, the workflow is not locked. A query of the state therefore never prevents another process from starting a run.
        """
        if not self.ledger.unfinished(name):
            return []
        try:
            with self._locked(name) as folder:
                return finish_runs(self.ledger, name, folder, self._make_delivery)
        except UnavailableError:
            return []

    def _check(self, workflow: Workflow, folder: Path) -> tuple[Workflow, list[HeadwaterError]]:
        problems: list[HeadwaterError] = list(structure_problems(workflow))
        if problems:
            return workflow, problems
        workflow = order_tasks(with_real_paths(workflow))
        root = None if self._has_roots else os.path.realpath(folder)
        return workflow, list(home_problems(workflow, self._registry, self.ledger, is_below_root(self._sources, root)))

    def _take_arrivals(self, workflow: Workflow) -> None:
        for channel in workflow.channels.values():
            if channel.name in workflow.written:
                continue
            blocks = self.ledger.block_numbers(workflow.name, channel.name)
            last = self.ledger.last_read(workflow.name, channel.name)
            known, read = (
                self.ledger.files(workflow.name, channel.name, [block.sequence for block in blocks if block.sequence <= until])
                for until in (blocks[-1].sequence if blocks else 0, last)
            )
            is_unread_base = bool(blocks) and blocks[0].mode is Production.BASE and blocks[0].sequence > last
            block, replaces = find_new_block(channel.path, known, None if is_unread_base else read)
            if block is not None or replaces:
                self.ledger.add_source_block(workflow.name, channel.name, block, in_place_of_blocks_after=last if replaces else None)

    def _run_task(self, workflow: Workflow, name: str, folder: Path, parent: Mapping[str, str], *, starts_over: bool) -> TaskResult:
        planned = TaskRun.plan(workflow, workflow.tasks[name], self.ledger, starts_over=starts_over)
        if planned is None:
            return TaskResult(name, None)
        identifier = new_run_id().replace("-", "")
        run = Run(identifier, workflow.name, name, RunState.RUNNING, _now(), reads=planned.reads, shadow=str(planned.shadow(identifier)))
        place = folder / identifier
        with hold_run(place) as holding:
            self.ledger.start(run)
            try:
                planned.execute(run, place, self._registry, parent, holding)
            except (HeadwaterError, OSError) as failure:
                self.ledger.fail(identifier, str(failure))
            except BaseException:
                self.ledger.fail(identifier, "The run was interrupted. Nothing was committed.")
                raise
        (run,) = [each for each in self.ledger.unfinished(workflow.name) if each.id == identifier]
        self.warnings += finish_run(self.ledger, run, place, self._make_delivery)
        if run.state is RunState.FAILED:
            return TaskResult(name, RunState.FAILED, identifier, planned.reads, None, run.error)
        return TaskResult(name, RunState.COMPLETE, identifier, planned.reads, planned.writes)

    @contextmanager
    def _locked(self, name: str, patience: float = 0.0) -> Iterator[Path]:
        """Lock a workflow, and yield the folder for its runs.

        Raises:
            UnavailableError: another process holds the lock.
        """
        folder = self._folder / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            deadline = time.monotonic() + patience
            while not _take(lock):
                if time.monotonic() >= deadline:
                    raise UnavailableError(f"The workflow {name} runs now.", hint="Try again when it has ended.")
                time.sleep(_POLL)
            yield folder / "runs"


def _take(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _parent(workflow: str) -> dict[str, str]:
    values = {"RUN_ID": new_run_id(), "JOB_NAME": workflow, "JOB_NAMESPACE": "default"}
    return {f"OPENLINEAGE_PARENT_{name}": value for name, value in values.items()}


def _summarize(problems: Sequence[HeadwaterError]) -> HeadwaterError:
    if len(problems) > 1:
        rest = f"{len(problems) - 1} more problem{'s' if len(problems) > 2 else ''}: `headwater workflow check` lists them."
        problems[0].hint = f"{problems[0].hint} {rest}" if problems[0].hint else rest
    return problems[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
