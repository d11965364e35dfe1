"""`headwater trace`: the records behind a record, or the records that depend on it."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format
from headwater.backend.cli.rank_command import rank_and_print
from headwater.backend.cli.trace_command import LIMIT, answer_and_print, asked
from headwater.backend.cli.view_options import Since, Until
from headwater.errors import InvalidQueryError
from headwater.graph.trace import Semantics

app = typer.Typer(add_completion=False)


@app.command()
def trace(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="The dataset: a path that a job read or wrote, a table (db.table), a name or an id; @SNAPSHOT may follow. Or the id of"
            " a task, stage, run, job, pipeline or actor: all records that it wrote.",
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
    limit: Annotated[int, typer.Option(min=0, help="The most records to list.")] = LIMIT,
    on_spark: Annotated[
        str | None,
        typer.Option(
            metavar="MASTER",
            help="Follow records by jobs of Spark on this master (local[*], yarn, spark://…): for millions of them.",
            show_default=False,
        ),
    ] = None,
    rank: Annotated[
        bool, typer.Option("--rank", help="Rank the inputs of an aggregated value of one row by how much it would change without each.")
    ] = False,
    since: Since = None,
    until: Until = None,
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

      headwater trace out/report --where "origin = 'EWR' AND month = 2" --column max_wind_mph --rank --limit 10

      headwater trace job:default:nightly.clean --since 2026-03-01 --until 2026-03-02 --forward
    """
    request = asked(
        dataset, where=where, rows=row or (), column=column, semantics=semantics, forward=forward, to=to, as_of=as_of, limit=limit
    )
    if rank:
        if forward or to or as_of or on_spark or since or until or semantics is not Semantics.INFLUENCE:
            raise InvalidQueryError("A ranking is of the inputs of one row now.", field="rank", hint="Give --column, and --where or --row.")
        rank_and_print(request, format=format, home=home)
        return
    answer_and_print(request, format=format, home=home, on_spark=on_spark, since=since, until=until)
