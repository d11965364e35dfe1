"""`headwater blame`: the smallest set of input records that makes rows of an output wrong."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.culprit_lines import line, print_records, print_verdict
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, count, emit_json, note, progress
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.rerun.culprits.blame import BlameReport
from headwater.backend.rerun.culprits.origins import find_origins
from headwater.backend.rerun.culprits.search import blame_records, find_wrong_result
from headwater.backend.rerun.culprits.wrong_rows import BlameRequest, WrongRows
from headwater.backend.workspace import Workspace
from headwater.errors import UnsupportedError
from headwater.graph.trace import TracedRecord
from headwater.graph.trace.questions import DirectQuestions

app = typer.Typer(add_completion=False)

_LISTED = 1_000
_BLAME = ("The record to blame:", "The {} records to blame together:", "the programs make a wrong row")
_WITNESS = ("The record that gives the row:", "The {} records that give the row together:", "the programs make such a row")


@app.command()
def blame(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset with wrong rows: a path, a table, a name or an id.")],
    assertion: Annotated[
        str | None, typer.Option("--assert", metavar="PREDICATE", help="What must be true of each row (DuckDB SQL).")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="PREDICATE", help="Selects the wrong rows (DuckDB SQL), in place of an assertion.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Time limit of the trials.")] = 300.0,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Find the smallest set of input records that makes rows of an output wrong.

    The registered programs run again on parts of their input, until the smallest part that still gives a wrong row is found. The
    search begins with the records behind the first wrong row. Each run writes into a shadow folder, which is then deleted. The data
    that the programs made is never touched.

    For example:

      headwater blame out/report --assert "max_wind_mph < 250"

      headwater blame out/report --where "carrier = 'UA' AND flights < 0" --seconds 900
    """
    if os.environ.get("HEADWATER_URL") and home is None:
        raise UnsupportedError("The search starts programs on this machine; it works on a home.", hint="Name one with --home.")
    asyncio.run(search_rows(BlameRequest(dataset=dataset, assertion=assertion, where=where), seconds, format, home))


async def search_rows(request: BlameRequest, seconds: float, format: Format, home: Path | None) -> None:
    """Search for the records behind the rows of a request, and print them."""
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.take_in()
        began = time.monotonic()
        questions = DirectQuestions(workspace.graph, workspace.records)
        wrong = await find_wrong_result(workspace, DEFAULT_TENANT, request, questions)
        with progress() as bars:
            task = bars.add_task("running the programs again", total=None)

            def advance(trials: int, left: int) -> None:
                bars.update(task, description=f"{trials} trials, {left:,} records left")

            report = await blame_records(workspace, DEFAULT_TENANT, wrong, seconds=seconds, progress=advance)
        origins = await find_origins(questions, DEFAULT_TENANT, report.records)
        took = time.monotonic() - began
    if format is Format.JSON:
        emit_json(_as_json(wrong, report, origins, took))
    else:
        _print(request, wrong, report, origins, took)


def _as_json(wrong: WrongRows, report: BlameReport, origins: Sequence[TracedRecord], seconds: float) -> dict[str, Any]:
    return {
        "dataset": wrong.read_as.dataset,
        "wrong": {"total": wrong.total, "file": wrong.file, "row": wrong.row, "values": dict(wrong.values)},
        "records": [
            {"file": file, "row": row, "values": report.values.get((file, row), {})} for file, row in report.records.slice(0, _LISTED)
        ],
        "count": len(report.records),
        "minimal": report.is_minimal,
        "problem": report.problem,
        "origins": [{"file": one.file, "row": one.row, "values": dict(one.values)} for one in origins],
        "notes": [*wrong.notes, *report.notes],
        "trials": report.trials,
        "seconds": round(seconds, 1),
    }


def _print(request: BlameRequest, wrong: WrongRows, report: BlameReport, origins: Sequence[TracedRecord], seconds: float) -> None:
    kind = "wrong row" if request.like is None else "such row"
    line(f"{request.dataset} has {count(wrong.total, kind)}. The first is {wrong.file} row {wrong.row}:")
    for column, value in wrong.values.items():
        line(f"    {column}  {'NULL' if value is None else value}")
    if report.problem is not None:
        line(f"No record was found: {report.problem}.  ({report.trials} trials, {seconds:.0f} s)")
    else:
        one, many, does = _BLAME if request.like is None else _WITNESS
        print_records(report.records, report.values, origins, one=one, many=many)
        print_verdict(report.records, report.trials, seconds, is_minimal=report.is_minimal, does=does)
    for text in (*wrong.notes, *report.notes):
        note(text, label="note")
