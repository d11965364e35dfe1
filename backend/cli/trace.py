"""`headwater trace`: which records a record came from, or what became of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.names import dataset_name
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, emit_json
from headwater.backend.cli.view_options import local_end
from headwater.errors import InvalidQueryError
from headwater.graph.trace import AsOf, Semantics, TraceAnswer, TracedRecord, TraceRequest
from headwater.graphql.values import to_json

app = typer.Typer(add_completion=False)
_PLACE = ("dataset", "file", "row", "line", "grain")


@app.command()
def trace(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="The dataset: a path that a job read or wrote, a table (db.table), a name or an id; @SNAPSHOT may follow.",
        ),
    ],
    where: Annotated[
        str | None, typer.Option(help="Trace the records that this SQL predicate (DuckDB) selects.", show_default=False)
    ] = None,
    row: Annotated[list[str] | None, typer.Option(help="A record as FILE:N, N from 0; may be repeated.", show_default=False)] = None,
    column: Annotated[
        str | None, typer.Option(help="The column to explain. Narrows a witness, never an influence.", show_default=False)
    ] = None,
    semantics: Annotated[Semantics, typer.Option(help="influence: all that had a part; witness: what suffices.")] = Semantics.INFLUENCE,
    forward: Annotated[bool, typer.Option("--forward", help="Trace downstream: find what was made from the records.")] = False,
    to: Annotated[
        str | None, typer.Option(metavar="DATASET", help="Stop at this dataset, which need not be a source.", show_default=False)
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|RUN|VERSION",
            help="The dataset as it was: at a date or an instant, as a run left or read it, or at a table's snapshot.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="The most records to list.")] = 10_000,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Find the records behind a record, or those that it touched.

    An answer says whether it is exact, and what is missing.

    For example:

      headwater trace out/report --where "origin = 'EWR' AND month = 2" --column max_wind_mph --semantics witness

      headwater trace raw/weather.csv --row raw/weather.csv:1009 --forward

      headwater trace out/report --where "month = 2" --to raw/weather.csv --format csv

      headwater trace out/report --as-of 2026-03-01 --where true
    """
    if where is None and not row:
        raise InvalidQueryError("No record is chosen.", hint="""Say which: --where "origin = 'EWR'" (DuckDB SQL), or --row FILE:N.""")
    rows = [reference(text) for text in row or ()]
    request = TraceRequest(
        dataset=dataset, where=where, rows=rows, column=column, semantics=semantics, forward=forward, to=to, limit=limit,
        as_of=_here(as_of),
    )  # fmt: skip
    answer = asyncio.run(_ask(request, home))
    if format is Format.JSON:
        emit_json(as_json(answer))
    elif format is Format.CSV:
        names = list(dict.fromkeys(name for record in answer.records for name in record.values))
        emit([{**_place(record), **record.values} for record in answer.records], columns=[*_PLACE, *names], format=format)
    else:
        from headwater.backend.cli.trace_story import print_story

        print_story(request, answer)


def _here(as_of: str | None) -> str | None:
    """A date or an instant that somebody wrote on this machine, in UTC; what else names a version as it is."""
    if as_of is None or as_of.isdecimal():
        return as_of
    try:
        return local_end(as_of)
    except InvalidQueryError:
        return as_of


async def _ask(request: TraceRequest, home: Path | None) -> TraceAnswer:
    async with open_answers(home) as answers:
        return await answers.trace(request)


def as_json(answer: TraceAnswer) -> dict[str, Any]:
    """The answer in the form that scripts rely on."""
    incomplete = [{"what": item.what, "reason": item.reason, "effect": item.effect} for item in answer.incomplete]
    if answer.total > len(answer.records):
        reason = f"{len(answer.records)} of {answer.total} records are listed"
        incomplete.append({"what": "limit", "reason": reason, "effect": "missing"})
    return {
        "semantics": answer.semantics.value,
        "exact": answer.exact,
        "records": [_record(record) for record in answer.records],
        "path": [
            {
                "job": hop.job,
                "run": hop.run,
                "output": dataset_name(hop.output),
                "inputs": [dataset_name(source) for source in hop.inputs],
                "operations": list(hop.operations),
                "expressions": [
                    {"operator": step.operator, "made": {made.column: made.expression for made in step.made}, "by": list(step.by)}
                    for step in hop.expressions
                ],
                "records": hop.records,
                "grain": hop.grain.value,
            }
            for hop in answer.path
        ],
        "incomplete": incomplete,
        "found_again": [
            {"operator": item.operator, "estimated_ms": round(item.estimated_ms, 1), "took_ms": round(item.took_ms, 1)}
            for item in answer.found_again
        ],
        "storage": {"requests": answer.storage_requests, "bytes": answer.storage_bytes},
        **({} if answer.as_of is None else {"as_of": _version(answer.as_of)}),
    }


def _version(version: AsOf) -> dict[str, Any]:
    return {"at": version.at, "runs": [run.partition(":")[2] for run in version.runs], "is_read": version.is_read}


def _record(record: TracedRecord) -> dict[str, Any]:
    place = _place(record)
    if record.line is None:
        del place["line"]
    return {**place, "values": to_json(record.values)}


def _place(record: TracedRecord) -> dict[str, Any]:
    return {
        "dataset": dataset_name(record.dataset),
        "file": record.file,
        "row": record.row,
        "line": record.line,
        "grain": record.grain.value,
    }


def reference(text: str) -> tuple[str, int]:
    """A record written as FILE:N. Raises `InvalidQueryError` where it is not."""
    file, colon, number = text.rpartition(":")
    if not colon or not file or not number.isdecimal():
        raise InvalidQueryError(f"{text!r} names no record.", hint="Write FILE:N, N counted from 0: --row raw/weather.csv:1009")
    return file, int(number)
