"""`headwater compare`: what changed between two runs of a job whose results differ."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.culprit_lines import line
from headwater.backend.cli.display_names import dataset_of, job_of
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, emit_json, note, progress
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.rerun.comparison.attribution import compare_runs
from headwater.backend.rerun.comparison.report import Cause, Comparison, Result, Verdict
from headwater.backend.workspace import Workspace
from headwater.errors import UnsupportedError
from headwater.graph.model.ids import dataset_name
from headwater.graph.trace.questions import DirectQuestions

app = typer.Typer(add_completion=False)

_SHOWN = 5  # rows that are printed of each dataset


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="RUN_A", help="The id of a complete run.")],
    second: Annotated[str, typer.Argument(metavar="RUN_B", help="The id of another complete run of the same job.")],
    script: Annotated[
        list[Path] | None, typer.Option(help="A file with the text of an earlier script, found by its hash. Repeatable.")
    ] = None,
    replays: Annotated[
        bool, typer.Option(help="Test each change by replays. With --no-replays, state the changes, and run nothing.")
    ] = True,
    seconds: Annotated[float, typer.Option(min=1, help="Time limit of the replays.")] = 600.0,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Attribute the difference between the results of two runs to what changed between them.

    Possible causes are inputs, code, arguments, environment, settings, versions, and nondeterminism. The program of RUN_B runs again
    with one part of RUN_A at a time, into a shadow folder, which is then deleted. Each cause is verified in this way, or stated with
    the reason why it cannot be tested.

    For example:

      headwater versions out/report

      headwater compare run:01a22530-0390-73bc-bbf1-749dfd42cbf6 run:01a22530-9a2e-759a-891d-4ca90aca451b
    """
    if os.environ.get("HEADWATER_URL") and home is None:
        raise UnsupportedError("The comparison starts programs on this machine; it works on a home.", hint="Name one with --home.")
    asyncio.run(_compare(first, second, script or [], seconds, format, home, replays=replays))


async def _compare(
    first: str, second: str, scripts: list[Path], seconds: float, format: Format, home: Path | None, *, replays: bool
) -> None:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.take_in()
        began = time.monotonic()
        with progress() as bars:
            task = bars.add_task("comparing", total=None)

            def advance(text: str) -> None:
                bars.update(task, description=text)

            questions = DirectQuestions(workspace.graph, workspace.records)
            found = await compare_runs(
                workspace, DEFAULT_TENANT, first, second, questions, scripts=scripts, replays=replays, seconds=seconds, progress=advance
            )
        took = time.monotonic() - began
    if format is Format.JSON:
        emit_json(_as_json(found, took))
    elif format is Format.CSV:
        emit([_row(cause) for cause in found.causes], columns=_COLUMNS, format=format)
    else:
        _print(found, took)


_COLUMNS = ("cause", "verdict", "rows", "what changed")


def _as_json(found: Comparison, seconds: float) -> dict[str, Any]:
    results = [asdict(result) | {"differences": [each.model_dump() for each in result.differences]} for result in found.results]
    return asdict(found) | {"results": results, "seconds": round(seconds, 1)}


def _print(found: Comparison, seconds: float) -> None:
    line(f"{job_of(found.job)}: {found.first} (A) and {found.second} (B)")
    for result in found.results:
        _print_result(result)
    for cause in found.causes:
        _print_cause(cause)
    if found.trials:
        line(f"{_verdict(found)}  ({found.trials} trials, {seconds:.0f} s)")
    for text in found.notes:
        note(text, label="note")


def _print_cause(cause: Cause) -> None:
    rows = "" if cause.rows is None else f": {cause.rows:,} row{'' if cause.rows == 1 else 's'}"
    line(f"  {cause.kind:<15} {cause.verdict}{rows}")
    for text in _sentences(cause):
        line(f"      {text}")


def _print_result(result: Result) -> None:
    name = dataset_of(dataset_name(result.dataset))
    if result.rows is None:
        line(f"{name}: how many rows differ is not known: {result.reason}.")
        return
    line(f"{name}: {result.rows:,} row{'' if result.rows == 1 else 's'} differ{'s' if result.rows == 1 else ''}.")
    for each in result.differences[:_SHOWN]:
        line(f"    A  {_values(each.before)}")
        line(f"    B  {_values(each.after)}")
    if result.rows > _SHOWN:
        line(f"    … and {result.rows - _SHOWN:,} more (--format json lists up to 100)")
    if result.reason:
        note(f"{name}: {result.reason}", label="note")


def _values(row: Any) -> str:
    return "no such row" if row is None else ", ".join(f"{name} {'NULL' if value is None else value}" for name, value in row.items())


def _row(cause: Cause) -> dict[str, Any]:
    return {"cause": str(cause.kind), "verdict": str(cause.verdict), "rows": cause.rows, "what changed": "\n".join(_sentences(cause))}


def _sentences(cause: Cause) -> list[str]:
    what = [*cause.changes, *([cause.reason] if cause.reason else [])]
    return [*what, "with the part of A alone, B gives the result of A"] if cause.is_whole else what


def _verdict(found: Comparison) -> str:
    verified = [str(cause.kind) for cause in found.causes if cause.verdict is Verdict.VERIFIED]
    names = ", ".join(verified) if verified else "none"
    together = {
        True: "All changes together give the result of A.",
        False: "All changes that a replay can make do not give the result of A.",
        None: "The result of A is not there, so whether this is all of the difference is not known.",
    }[found.together]
    return f"Verified causes: {names}. {together}"
