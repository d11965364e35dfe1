"""`headwater workflow`: composes registered programs into a workflow, and runs it block by block."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from headwater.backend.audit.log import append_line
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note, report
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.triggers.owners import HOME
from headwater.backend.triggers.store import has_store, open_store
from headwater.backend.workflows import TaskResult, Workflow, Workflows
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidInputError

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Run registered programs block by block.")
T = TypeVar("T")
File = Annotated[Path, typer.Argument(metavar="FILE", help="The YAML file of the workflow.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The workflow's name, as its file states it.")]


@app.callback()
def _group() -> None:
    """Compose registered programs into a workflow. Each task reads the blocks that it has not read, and adds a block when it succeeds."""


@app.command()
def check(file: File, home: Home = None) -> None:
    """Check the file of a workflow, and list everything that keeps it from running on this home. Nothing is changed.

    For example:

      headwater workflow check news.yaml
    """

    async def work(workspace: Workspace) -> int:
        from headwater.backend.triggers.workflow_rules import rule_problems

        workflow, problems = workspace.workflows().check(file)
        problems += rule_problems(workflow)
        for problem in problems:
            report(problem)
        if not problems:
            note(f"The workflow {workflow.name} can be applied. Its tasks run in the order {', '.join(workflow.tasks)}.")
        return len(problems)

    if _with_workspace(home, work):
        raise typer.Exit(1)


@app.command()
def apply(file: File, home: Home = None) -> None:
    """Keep a workflow on this home, in the place of an earlier one of its name. Blocks and cursors stay.

    For example:

      headwater workflow apply news.yaml
    """

    async def work(workspace: Workspace) -> None:
        from headwater.backend.triggers.workflow_rules import rule_problems

        workflows = workspace.workflows()
        if problems := rule_problems(workflows.check(file)[0]):
            raise problems[0]
        workflow = workflows.apply(file)
        line = {
            "who": "home",
            "tenant": DEFAULT_TENANT,
            "what": "workflow.apply",
            "on": [f"workflow {workflow.name}"],
            "decision": "allowed",
        }
        await asyncio.to_thread(append_line, workspace.home.audit, line)
        if names := await _apply_triggers(workspace, workflow):
            note(f"Its triggers are {', '.join(names)}. `headwater serve` drives them.")
        note(f"Applied the workflow {workflow.name}. To run it: headwater workflow run {workflow.name}")

    _with_workspace(home, work)


@app.command()
def run(
    name: Name,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="TASK", help="Run only this task; repeatable.", show_default=False)
    ] = None,
    trigger: Annotated[
        str | None, typer.Option(metavar="TRIGGER", help="Run the tasks of this trigger, as if it fired.", show_default=False)
    ] = None,
    start_over: Annotated[
        bool, typer.Option("--start-over", help="Let the tasks read everything again, and replace what they wrote.")
    ] = False,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Run the tasks of a workflow that have something new to read, in order.

    Each task gets the blocks that it has to read, and writes to a shadow folder. When it succeeds, its output becomes a new block and its
    cursors advance, in one transaction. When it fails, nothing changes.

    For example:

      headwater workflow run news

      headwater workflow run news --task tagging

      headwater workflow run news --trigger night
    """
    if task and trigger:
        raise InvalidInputError("Either --task or --trigger chooses the tasks.", field="trigger", hint="Leave one of them out.")

    async def work(workspace: Workspace) -> list[TaskResult]:
        workflows = workspace.workflows()
        try:
            return await asyncio.to_thread(
                workflows.run, name, tasks=task, trigger=trigger, starts_over=start_over, changed=lambda result: _show(result, workflows)
            )
        finally:
            await workspace.settle()

    results = _with_workspace(home, work)
    emit([_row(result) for result in results], columns=("task", "state", "read", "wrote"), format=format)
    if any(result.error for result in results):
        raise typer.Exit(1)


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The workflow; all by default.", show_default=False)] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Show the tasks of workflows: the last run of each, and the blocks that it has not read yet.

    For example:

      headwater workflow status news
    """

    async def work(workspace: Workspace) -> list[dict[str, Any]]:
        workflows = workspace.workflows()
        names = [name] if name is not None else list(workflows.ledger.workflows())
        return [row for each in names for row in await asyncio.to_thread(_status_rows, workflows, each)]

    rows = _with_workspace(home, work)
    if format is Format.TABLE:
        rows = [{**row, "error": (row["error"] or "").partition("\n")[0]} for row in rows]
    columns = ("workflow", "task", "state", "ended", "runs", "unread", "wrote", "error")
    emit(rows, columns=columns, format=format, empty="No workflow is applied. `headwater workflow apply` adds one.")


def _status_rows(workflows: Workflows, name: str) -> list[dict[str, Any]]:
    state = workflows.status(name)
    return [
        {
            "workflow": name, "task": task.task, "state": task.state, "ended": task.ended_at, "runs": task.runs,
            "unread": _text(task.unread), "wrote": _text(task.last_blocks), "error": task.error,
        }
        for task in state
    ]  # fmt: skip


async def _apply_triggers(workspace: Workspace, workflow: Workflow) -> list[str]:
    if not workflow.triggers and not has_store(workspace.settings):
        return []
    from headwater.backend.triggers.actions import Site
    from headwater.backend.triggers.service import Triggers
    from headwater.backend.triggers.workflow_rules import apply_rules

    await workspace.take_in()
    store = open_store(workspace.settings)
    try:
        names = await apply_rules(Triggers(store, Site(workspace)), DEFAULT_TENANT, workflow, HOME)
    finally:
        store.close()
    return names


def _with_workspace(home: Path | None, work: Callable[[Workspace], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            return await work(workspace)

    return asyncio.run(opened())


def _show(result: TaskResult, workflows: Workflows) -> None:
    if result.error is not None:
        note(f"{result.task} failed: {result.error}", label="error")
    for warning in workflows.warnings:
        note(warning, label="warning")
    workflows.warnings.clear()


def _row(result: TaskResult) -> dict[str, Any]:
    read = [
        f"{channel} ({mode}): {_numbers(numbers)}" for channel, modes in (result.reads or {}).items() for mode, numbers in modes.items()
    ]
    return {
        "task": result.task, "state": result.state or "nothing to do", "read": "; ".join(read), "wrote": _text(result.writes or {}),
        "run": result.run, "error": result.error,
    }  # fmt: skip


def _text(numbers: Any) -> str:
    return "; ".join(f"{channel}: {number}" for channel, number in numbers.items())


def _numbers(numbers: Any) -> str:
    if not numbers:
        return "none"
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
