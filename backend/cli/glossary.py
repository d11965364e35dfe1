"""`headwater glossary`: the business terms, and their import from a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.backend.cli.prov import contents
from headwater.graph.glossary import Term, declaration_of, read_glossary

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Business terms, and their import.")
_QUERY = "{ glossary { terms { name broader level description owners stewards } cut } }"
_COLUMNS = ("term", "parent", "owner", "steward", "description")
_PORTION = 800_000  # characters of one declaration


@app.callback()
def _group() -> None:
    """List the business terms, or import them from a file.

    A dataset, a column or a job gets a term with `headwater describe NAME --term TERM`.
    """


@app.command("list")
def list_terms(format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List the terms, each after the term above it."""
    terms = asyncio.run(_terms(home))
    indent = format is Format.TABLE
    rows = [
        {
            "term": f"{'  ' * term['level'] if indent else ''}{term['name']}", "parent": term["broader"] or "",
            "owner": "; ".join(term["owners"]), "steward": "; ".join(term["stewards"]), "description": term["description"] or "",
        }
        for term in terms
    ]  # fmt: skip
    emit(rows, columns=_COLUMNS, format=format, empty="There are no terms. Import some: headwater glossary import terms.csv")


@app.command("import")
def import_terms(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV (.csv), or SKOS in Turtle, RDF/XML or N-Triples (.ttl, .rdf, .nt).")],
    home: Home = None,
) -> None:
    """Import terms from a file. The file is checked before anything is imported. Terms that it does not name stay.

    The first line of a CSV file names its columns: term, parent, description, owner, steward. Only `term` is needed.
    Separate several owners with semicolons. SKOS needs the extra `prov`.

    For example:

      headwater glossary import terms.csv
    """
    count = asyncio.run(_import(read_glossary(contents(file), str(file)), home))
    note(f"{count:,} terms are imported.")


async def _import(terms: list[Term], home: Path | None) -> int:
    async with open_answers(home) as answers:
        present = [_term(one) for one in await _asked(answers)]
        document = declaration_of(terms, present, machine_user())
        stated = document["descriptions"]
        stored = 0
        for portion in _portions(stated):
            try:
                await answers.declare({**document, "descriptions": portion})
            except BaseException:
                if stored:
                    note(f"{stored:,} of {len(stated):,} statements are stored. Import the file again to store the rest.", label="warning")
                raise
            stored += len(portion)
    return len(terms)


def _portions(stated: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    portion: list[dict[str, Any]] = []
    size = 0
    for one in stated:
        length = len(json.dumps(one))
        if portion and size + length > _PORTION:
            yield portion
            portion, size = [], 0
        portion.append(one)
        size += length
    yield portion


async def _terms(home: Path | None) -> list[dict[str, Any]]:
    async with open_answers(home) as answers:
        return await _asked(answers)


async def _asked(answers: Answers) -> list[dict[str, Any]]:
    found = (await answers.ask(_QUERY))["glossary"]
    if found["cut"]:
        note("There are more terms than are listed.", label="warning")
    return list(found["terms"])


def _term(found: dict[str, Any]) -> Term:
    return Term(found["name"], found["broader"], found["description"], tuple(found["owners"]), tuple(found["stewards"]))
