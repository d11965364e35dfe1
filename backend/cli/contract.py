"""`headwater contract`: data contracts of the Open Data Contract Standard, checked and applied."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.errors import InvalidQueryError
from headwater.graph.contracts import Outcome

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Check and apply data contracts.")
_GUIDE = "docs/guide/contracts.md"
_CHECK = """query ($contract: JSON!, $datasets: [ContractDataset!]) { checkContract(contract: $contract, datasets: $datasets) {
  name version status ignored clauses { table column demand outcome detail dataset } } }"""
_APPLY = "mutation ($contract: JSON!, $datasets: [ContractDataset!]) { applyContract(contract: $contract, datasets: $datasets) }"
_COLUMNS = ("outcome", "table", "column", "demand", "detail")
_ORDER = [Outcome.BROKEN, Outcome.UNKNOWN, Outcome.KEPT]

File = Annotated[Path, typer.Argument(metavar="FILE", help="A contract in YAML or JSON, of version 3 of the standard.")]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", metavar="TABLE=NAME", help="The dataset of a table with another name. Repeatable.", show_default=False),
]


@app.callback()
def _group() -> None:
    """Check what is known of datasets against a data contract, or take over what a contract states about them."""


@app.command()
def check(
    file: File,
    dataset: Datasets = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail also if a clause is unknown.")] = False,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Check datasets against a contract: columns, types, nulls, repeated values, row counts, the age of the last write.

    No row is read: quality rules are compared with the last results that runs reported. The command fails if a clause
    is broken, so that it can be a step of continuous integration.

    For example:

      headwater contract check orders.odcs.yaml --dataset orders=out/orders
    """
    found = asyncio.run(_ask(_CHECK, file, dataset, home))["checkContract"]
    clauses = [{**each, "outcome": each["outcome"].lower(), "column": each["column"] or ""} for each in found["clauses"]]
    clauses.sort(key=lambda each: _ORDER.index(Outcome(each["outcome"])))
    emit(clauses, columns=_COLUMNS, format=format, empty="The contract demands nothing that can be checked.")
    if found["ignored"]:
        note(f"These service levels are not checked: {', '.join(found['ignored'])}.")
    outcomes = {each["outcome"] for each in clauses}
    if Outcome.BROKEN in outcomes or (strict and Outcome.UNKNOWN in outcomes):
        raise typer.Exit(1)


@app.command()
def apply(file: File, dataset: Datasets = None, home: Home = None) -> None:
    """State the descriptions, tags, classifications, owners and stewards of a contract about its datasets and columns.

    Nothing is removed. A classification becomes the tag `classification=VALUE`.

    For example:

      headwater contract apply orders.odcs.yaml
    """
    count = asyncio.run(_ask(_APPLY, file, dataset, home))["applyContract"]
    note(f"{count:,} statements of the contract are stored." if count else "The contract states nothing about its datasets.")


async def _ask(document: str, file: Path, datasets: list[str] | None, home: Path | None) -> dict[str, Any]:
    from headwater.graph.yaml_reader import read_document

    contract, named = read_document(file, _GUIDE)[0], [_named(text) for text in datasets or ()]
    async with open_answers(home, creates=False) as answers:
        await answers.settle()
        return await answers.ask(document, contract=contract, datasets=named)


def _named(text: str) -> dict[str, str]:
    table, equals, dataset = text.partition("=")
    if not (table and equals and dataset):
        raise InvalidQueryError(f"{text!r} names no dataset of a table.", field="--dataset", hint="Write it as orders=out/orders.")
    return {"table": table, "dataset": dataset}
