"""`headwater export`: writes provenance as a PROV file, and the contents of the graph for other catalogs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.document_output import put_out
from headwater.backend.cli.export_catalogs import datahub, openmetadata
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import note
from headwater.backend.cli.view_options import (
    AsOf,
    Between,
    Depth,
    Ends,
    Levels,
    Masks,
    Opened,
    Since,
    Until,
    find_target,
    with_ids,
)
from headwater.backend.exports.provenance import Exported
from headwater.errors import HeadwaterError, InvalidQueryError
from headwater.graph.prov import ProvFormat
from headwater.graph.stores import Direction
from headwater.graph.trace import Semantics, TraceRequest
from headwater.graph.views import ViewOptions

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Write what is known for other tools.")


@app.callback()
def _group() -> None:
    """Export provenance and lineage for other tools."""


app.command()(datahub)
app.command()(openmetadata)


@app.command()
def prov(
    target: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A path, a name or an id: of a dataset, run, column, job.", show_default=False)
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="Export the trace of the records that this SQL predicate (DuckDB) selects.", show_default=False)
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column to explain; narrows a witness.", show_default=False)] = None,
    semantics: Annotated[Semantics, typer.Option(help="influence: all that had a part; witness: what suffices.")] = Semantics.INFLUENCE,
    forward: Annotated[bool, typer.Option("--forward", help="Trace downstream: export what was made from the records.")] = False,
    to: Annotated[str | None, typer.Option(metavar="DATASET", help="Stop the trace at this dataset.", show_default=False)] = None,
    view: Annotated[bool, typer.Option("--view", help="Export the view around it; any option of a view asks for that too.")] = False,
    direction: Annotated[Direction | None, typer.Option(help="Direction of the view.", show_default="both")] = None,
    depth: Annotated[int | None, Depth] = None,
    level: Levels = None,
    open: Opened = None,
    mask: Masks = None,
    ends: Ends = False,
    between: Between = None,
    as_of: AsOf = None,
    since: Since = None,
    until: Until = None,
    format: Annotated[ProvFormat, typer.Option("--format", "-f", help="Notation to write.")] = ProvFormat.JSON,
    check: Annotated[bool, typer.Option("--check", help="Check the export against PROV-CONSTRAINTS before writing it.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; standard output if not given.", show_default=False)
    ] = None,
    home: Home = None,
) -> None:
    """Write the provenance of a run, a dataset with its upstream lineage, a column, records, or a view, as W3C PROV.

    The notations are PROV-JSON (json), PROV-N (n), PROV-XML (xml), PROV-O in Turtle or TriG, and PROV-JSONLD
    (jsonld). The mapping is in docs/guide/prov.md. An export never contains the value of a record. Of nodes that a
    view masks it contains the number only. A document of any size is written as a stream; --check holds it in memory.

    For example:

      headwater export prov out/report -o report.prov.json

      headwater export prov out/report --format trig -o report.trig

      headwater export prov out/report --where "origin = 'EWR' AND month = 2" --column max_wind_mph --semantics witness

      headwater export prov out/report --direction upstream --level platform --mask 'name=*tmp*' --as-of 2026-03-01
    """
    options = ViewOptions(
        view=view, direction=direction, depth=depth, levels=level or (), open=open or (), masks=mask or (), ends=ends,
        between=between or (), as_of=as_of, since=since, until=until,
    )  # fmt: skip
    if where is None and (column or forward or to or semantics is Semantics.WITNESS):
        raise InvalidQueryError("--column, --semantics, --forward and --to are about a record trace.", field="where", hint="Add --where.")
    if where is not None and options.given:
        raise InvalidQueryError(
            "A record trace and a view are both asked for.", field="where", hint="Leave out --where, or the view's options."
        )
    if target is None and not between:
        raise InvalidQueryError("Nothing is named.", hint="Name a dataset, a run or a column, or two with --between.")
    request = TraceRequest(dataset=target or "", where=where, column=column, semantics=semantics, forward=forward, to=to)
    asyncio.run(_export(request, options, format, output, home, check=check))


async def _export(
    request: TraceRequest, options: ViewOptions, format: ProvFormat, output: Path | None, home: Path | None, *, check: bool
) -> None:
    async with open_answers(home) as answers:
        asked = await _asked(answers, request, options)
        if check:
            await _check(answers, asked)
        chunks = answers.provenance(asked, format)
        await put_out(chunks, output)


async def _asked(answers: Answers, request: TraceRequest, options: ViewOptions) -> Exported:
    if request.where is not None:
        return request
    focus = [(await find_target(answers, request.dataset)).id] if request.dataset else []
    if options.given:
        return (await with_ids(answers, options)).request(focus)
    return replace(request, dataset=focus[0])


async def _check(answers: Answers, asked: Exported) -> None:
    """Read the export back and check every constraint. An export that breaks one shows a fault of Headwater, and is not written."""
    from headwater.graph.prov.constraints import check
    from headwater.graph.prov.read import read

    written = b"".join([chunk async for chunk in answers.provenance(asked, ProvFormat.JSON)])
    broken = check(read(written, ProvFormat.JSON))
    if broken:
        raise HeadwaterError(
            f"This export would break {broken[0].clause}: {broken[0].message}",
            hint="Please report it, with the output of `headwater store check`.",
        )
    note("Satisfies PROV-CONSTRAINTS.")
