"""`headwater export prov`: provenance as a file that any tool reads which knows PROV."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import note
from headwater.errors import ConfigurationError, InvalidQueryError
from headwater.graph.model import NodeKind
from headwater.graph.prov import export_dataset, export_records, export_run
from headwater.graph.trace import Semantics, TraceRequest

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Write provenance as PROV-JSON.")


@app.callback()
def _export() -> None:
    """Write what is known, for other tools."""


@app.command()
def prov(
    target: Annotated[str, typer.Argument(metavar="RUN|DATASET", help="A run's id, or a dataset's path, name or id.")],
    where: Annotated[
        str | None, typer.Option(help="Export the trace of these records: DuckDB SQL over the columns.", show_default=False)
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column to explain; narrows a witness.", show_default=False)] = None,
    semantics: Annotated[Semantics, typer.Option(help="influence: all that had a part; witness: what suffices.")] = Semantics.INFLUENCE,
    forward: Annotated[bool, typer.Option("--forward", help="Export what was made of the records.")] = False,
    to: Annotated[str | None, typer.Option(metavar="DATASET", help="Stop the trace at this dataset.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; standard output if not given.", show_default=False)
    ] = None,
    home: Home = None,
) -> None:
    """Write a run, a dataset's lineage or a record trace as PROV-JSON.

    The mapping is in docs/guide/prov.md. No value of a record is exported.

    For example:

      headwater export prov out/report -o report.prov.json

      headwater export prov out/report --where "origin = 'EWR' AND month = 2" --column max_wind_mph --semantics witness
    """
    if where is None and (column or forward or to or semantics is Semantics.WITNESS):
        raise InvalidQueryError("--column, --semantics, --forward and --to are about a record trace.", field="where", hint="Add --where.")
    request = TraceRequest(dataset=target, where=where, column=column, semantics=semantics, forward=forward, to=to)
    text = asyncio.run(_export_text(request, home))
    if output is None:
        typer.echo(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{output} cannot be written: {error.strerror}.", hint="Name another file with -o.") from error
    note(f"Wrote {output}.")


async def _export_text(request: TraceRequest, home: Path | None) -> str:
    async with open_answers(home) as answers:
        if request.where is not None:
            document = await export_records(answers.graph, answers.tenant, answers.trace, request)
        else:
            node = await answers.find(request.dataset, NodeKind.RUN, NodeKind.DATASET)
            export = export_run if node.kind is NodeKind.RUN else export_dataset
            document = await export(answers.graph, answers.tenant, node.id)
    return str(document.serialize(indent=1))
