"""`headwater witness`: the smallest set of input records that still gives a row of an output."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import typer

from headwater.backend.cli.blame import search_rows
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format
from headwater.backend.rerun.culprits.wrong_rows import BlameRequest
from headwater.errors import UnsupportedError

app = typer.Typer(add_completion=False)


@app.command()
def witness(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset with the row: a path, a table, a name or an id.")],
    where: Annotated[str, typer.Option(metavar="PREDICATE", help="Selects the row (DuckDB SQL). Of several rows, the first counts.")],
    column: Annotated[
        list[str] | None, typer.Option(help="A column whose value must stay. All columns, if none is named. Repeatable.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Time limit of the trials.")] = 300.0,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Find the smallest set of input records that still gives a row of an output.

    For rows of programs whose functions get many records at once, so that a trace lists all of them. The registered program runs
    again on parts of its input, until the smallest part that still gives an equal row is found. Each run writes into a shadow folder,
    which is then deleted.

    For example:

      headwater witness out/sessions --where "user = 'u17'"

      headwater witness out/sessions --where "user = 'u17'" --column user --column started
    """
    if os.environ.get("HEADWATER_URL") and home is None:
        raise UnsupportedError("The search starts programs on this machine; it works on a home.", hint="Name one with --home.")
    request = BlameRequest(dataset=dataset, where=where, like=column or [])
    asyncio.run(search_rows(request, seconds, format, home))
