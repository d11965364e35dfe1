"""`headwater clean`: leaves out the records behind the worst rows of a result, and shows the result before and after."""

from __future__ import annotations

import asyncio
import os
import runpy
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.culprit_lines import line
from headwater.backend.cli.display_names import dataset_of
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, count, emit, emit_json, note, progress
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.rerun.cleaning.clean import Cleaned, CleanPlan, CleanRequest, QualitySummary, plan_cleaning, run_cleaning
from headwater.backend.rerun.replay.model import Limits
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.model.ids import dataset_name
from headwater.graph.trace.questions import DirectQuestions
from headwater.graph.trace.ranked_rows import Quality

app = typer.Typer(add_completion=False)

_STEPS = ("dataset", "records", "shared", "overlap", "note")
_QUALITIES = ("result", "rows", "bad", "least", "median", "mean")


@app.command()
def clean(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The result to clean: a path, a table, a name or an id.")],
    quality: Annotated[
        str, typer.Option(metavar="EXPRESSION", help="The quality of a row, higher is better: DuckDB SQL, or FILE.py:FUNCTION.")
    ],
    below: Annotated[float | None, typer.Option(help="Rows of a lower quality are bad, all others are good.", show_default=False)] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of the worst and of the best rows, without --below.")] = 10,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Name the records to leave out, and run nothing.")] = False,
    time_limit: Annotated[float | None, typer.Option(min=1, help="Time limit of the replay in seconds.", show_default=False)] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Leave out the records behind the worst rows of a result, and compare its quality before and after.

    Ranks the rows by their quality, and traces the worst and the best to each dataset above. The records behind the worst rows alone
    are left out at the step where the two overlap least. The programs run again without them, into a shadow folder. The real data
    stays as it is, until you commit the replay.

    For example:

      headwater clean out/contigs --quality "coverage" --below 3

      headwater clean out/contigs --quality quality.py:score --count 20 --dry-run
    """
    if os.environ.get("HEADWATER_URL") and home is None:
        raise UnsupportedError("A cleaning starts programs on this machine; it works on a home.", hint="Name one with --home.")
    request = CleanRequest(dataset=dataset, quality=load_quality(quality), below=below, count=count)
    asyncio.run(_clean(request, Limits(seconds=time_limit), format, home, dry_run=dry_run))


def load_quality(text: str) -> Quality:
    """Return the quality that a text names: an expression, or a function of a file of this machine.

    Raises:
        InvalidQueryError: the file cannot be loaded, or has no such function.
    """
    file, separator, name = text.rpartition(":")
    if not separator or not file.endswith(".py"):
        return text
    try:
        function = runpy.run_path(file).get(name)
    except Exception as error:
        raise InvalidQueryError(f"{file} cannot be loaded: {type(error).__name__}: {error}.", field="quality") from error
    if not callable(function):
        raise InvalidQueryError(f"{file} has no function {name}.", field="quality", hint="It takes the values of a row by column.")
    scores: Callable[[Mapping[str, Any]], float | None] = function
    return scores


async def _clean(request: CleanRequest, limits: Limits, format: Format, home: Path | None, *, dry_run: bool) -> None:
    cleaned: Cleaned | None = None
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.take_in()
        with progress() as bars:
            task = bars.add_task("tracing the worst and the best rows", total=None)

            def advance(text: str) -> None:
                bars.update(task, description=text)

            plan = await plan_cleaning(workspace, DEFAULT_TENANT, request, DirectQuestions(workspace.graph, workspace.records))
            if not dry_run:
                cleaned = await run_cleaning(
                    workspace, workspace.replays(), DEFAULT_TENANT, request, plan, limits=limits, by=machine_user(), progress=advance
                )
    if format is Format.JSON:
        emit_json(_as_json(plan, cleaned))
    else:
        _print(plan, cleaned, format)


def _as_json(plan: CleanPlan, cleaned: Cleaned | None) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "dataset": plan.read_as.dataset,
        "worst": [asdict(row) for row in plan.worst],
        "best": [asdict(row) for row in plan.best],
        "steps": [asdict(step) | {"overlap": round(step.overlap, 4)} for step in plan.steps],
        "left_out": [{"file": file, "row": row} for file, row in plan.records],
        "before": asdict(plan.before),
        "notes": list(plan.notes),
    }
    if cleaned is not None:
        replay = cleaned.replay
        answer |= {"after": asdict(cleaned.after), "replay": replay.id, "differing": replay.differing, "replay_notes": replay.notes}
    return answer


def _print(plan: CleanPlan, cleaned: Cleaned | None, format: Format) -> None:
    steps = [
        {
            "dataset": dataset_of(dataset_name(step.dataset)), "records": step.worst or None, "shared": step.shared if step.worst else None,
            "overlap": round(step.overlap, 3) if step.worst else None, "note": step.reason,
        }
        for step in plan.steps
    ]  # fmt: skip
    emit(steps, columns=_STEPS, format=format, title="Records behind the worst rows, and how many are shared with the best")
    rows = [_row("before", plan.before), *([_row("after", cleaned.after)] if cleaned is not None else [])]
    emit(rows, columns=_QUALITIES, format=format)
    chosen = dataset_of(dataset_name(plan.steps[0].dataset))
    verb = "to leave out" if cleaned is None else "left out"
    line(f"{count(len(plan.records), 'record')} of {chosen} {verb}.")
    for text in (*plan.notes, *(cleaned.replay.notes if cleaned is not None else ())):
        note(text, label="note")
    if cleaned is not None:
        note(f"`headwater replay commit {cleaned.replay.id}` puts the clean result in place; `headwater replay --remove` deletes it.")


def _row(name: str, summary: QualitySummary) -> dict[str, Any]:
    return {
        "result": name, "rows": summary.rows, "bad": summary.below, "least": _short(summary.least), "median": _short(summary.middle),
        "mean": _short(summary.mean),
    }  # fmt: skip


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
