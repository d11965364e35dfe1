"""`headwater why`: the error of a failed run, and the input record at which it failed."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.culprit_lines import line, print_records, print_verdict
from headwater.backend.cli.display_names import job_of
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit_json, note, progress
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.projection.facets import objects
from headwater.backend.rerun.culprits.crash import CrashReport
from headwater.backend.rerun.culprits.failed_runs import FailedRun, find_failed_run, find_set_aside
from headwater.backend.rerun.culprits.origins import find_origins
from headwater.backend.rerun.culprits.search import explain_failure
from headwater.backend.workspace import Workspace
from headwater.errors import UnsupportedError
from headwater.graph.ledger import FAILED, set_aside_text
from headwater.graph.model import Node
from headwater.graph.trace import TracedRecord

app = typer.Typer(add_completion=False)


@app.command()
def why(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A failed run by its id, or a job. The last failed run, if it is left out.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Time limit of the search for the record.")] = 300.0,
    search: Annotated[bool, typer.Option(help="Search for the record. With --no-search, show the error only, and run nothing.")] = True,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Name the input record at which a run failed.

    The registered program runs again on parts of its input, until the smallest part that still fails is found. Each run writes into
    a shadow folder, which is then deleted. The data that the program made is never touched.

    For a run that set failing records aside (`spark.headwater.skipFailing`), the command lists these records, and runs nothing.

    For example:

      headwater why

      headwater why nightly_report --seconds 600
    """
    if os.environ.get("HEADWATER_URL") and home is None:
        raise UnsupportedError("The search starts programs on this machine; it works on a home.", hint="Name one with --home.")
    asyncio.run(_why(run, seconds, search, format, home))


async def _why(name: str | None, seconds: float, search: bool, format: Format, home: Path | None) -> None:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.take_in()
        set_aside = None if name is None else await find_set_aside(workspace.graph, DEFAULT_TENANT, name)
        if set_aside is not None:
            run, facet = set_aside
            if run.properties.get("state") not in FAILED or not search:
                emit_json({"run": run.id, "setAside": facet}) if format is Format.JSON else _print_set_aside(run, facet)
                return
            _print_set_aside(run, facet)
        failed = await find_failed_run(workspace.graph, DEFAULT_TENANT, workspace.registry, name)
        began = time.monotonic()
        report: CrashReport | None = None
        origins: Sequence[TracedRecord] = ()
        if search:
            with progress() as bars:
                task = bars.add_task("running the program again", total=None)

                def advance(trials: int, left: int) -> None:
                    bars.update(task, description=f"{trials} trials, {left:,} records left")

                report = await explain_failure(workspace, failed, seconds=seconds, progress=advance)
            origins = await find_origins(workspace, DEFAULT_TENANT, report.records)
        took = time.monotonic() - began
    if format is Format.JSON:
        emit_json(_as_json(failed, report, origins, took))
    else:
        _print(failed, report, origins, took)


def _as_json(failed: FailedRun, report: CrashReport | None, origins: Sequence[TracedRecord], seconds: float) -> dict[str, Any]:
    failure = failed.failure
    answer: dict[str, Any] = {
        "run": failed.run.id, "job": failed.job,
        "error": {"kind": failure.kind, "message": failure.message, "function": failure.function} if failure else None,
    }  # fmt: skip
    if report is None:
        return answer
    return answer | {
        "records": [
            {"file": file, "row": row, "values": report.values.get((file, row), {})} for file, row in report.records.slice(0, 1_000)
        ],
        "count": len(report.records),
        "minimal": report.is_minimal,
        "problem": report.problem,
        "step": report.repeated.place if report.repeated else None,
        "origins": [{"file": one.file, "row": one.row, "values": dict(one.values)} for one in origins],
        "notes": list(report.notes),
        "trials": report.trials,
        "seconds": round(seconds, 1),
    }


def _print(failed: FailedRun, report: CrashReport | None, origins: Sequence[TracedRecord], seconds: float) -> None:
    line(f"{job_of(failed.job)} failed: {_message(failed)}  ({failed.run.id})")
    repeated = report.repeated if report else None
    if repeated and repeated.place:
        line(f"  step      {repeated.place}")
    if function := (repeated.function if repeated else "") or (failed.failure.function if failed.failure else ""):
        line(f"  function  {function}")
    if report is None:
        return
    if report.problem is not None:
        line(f"No record was found: {report.problem}.  ({report.trials} trials, {seconds:.0f} s)")
    else:
        print_records(report.records, report.values, origins, one="The record that fails:", many="The {} records that fail together:")
        print_verdict(report.records, report.trials, seconds, is_minimal=report.is_minimal, does="the program fails in the same way")
    for text in report.notes:
        note(text, label="note")


def _print_set_aside(run: Node, facet: Mapping[str, Any]) -> None:
    """Print the records that a run set aside, by reference. Any producer may have stated the facet."""
    line(f"{run.name or run.id}: {set_aside_text(facet) or 'nothing was set aside'}  ({run.id})")
    records = objects(facet.get("records"))
    for record in records:
        places = [_place(place) for place in objects(record.get("places"))]
        where = " and ".join(places) or f"a row of stage {record.get('stage')}, partition {record.get('partition')}; no capture names it"
        line(f"  {where}")
        at = [str(record[member]) for member in ("function", "step") if record.get(member)]
        line(f"    {record.get('error')}" + (f" in {', '.join(at)}" if at else ""))
    count = facet.get("count")
    if isinstance(count, int) and count > len(records):
        line(f"  … and {count - len(records):,} more, which are not listed")


def _place(place: Mapping[str, Any]) -> str:
    if "row" in place:
        return f"{str(place.get('file')).removeprefix('file:')} row {place['row']}"
    if "file" in place:
        file = str(place["file"]).removeprefix("file:")
        return f"{file} record {place.get('record')} of the part that begins at byte {place.get('start')}"
    record = place.get("record", place.get("reference"))
    return f"{place.get('of', 'an input')} record {record}" + (f" of partition {place['split']}" if "split" in place else "")


def _message(failed: FailedRun) -> str:
    failure = failed.failure
    if failure is None:
        return "the run states no error"
    return f"{failure.kind}: {failure.message}" if failure.message else failure.kind
