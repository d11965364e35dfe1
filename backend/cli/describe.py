"""`headwater describe`: owners, tags and other statements of people about data and jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.column import find_column
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit
from headwater.backend.cli.view_options import find_target
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model.declaration import Aspect
from headwater.graph.policies.periods import read_period

app = typer.Typer(add_completion=False)

_DESCRIBED = """query ($id: ID!) { node(id: $id) { descriptions {
  owners stewards tags tagValues terms description retention legalHold
  statements { aspect value by at produced removed overruled } } } }"""
_MANY = {"owners": Aspect.OWNER, "stewards": Aspect.STEWARD, "tags": Aspect.TAG, "terms": Aspect.TERM}

_NOBODY = {"by": "", "at": ""}

Names = list[str] | None


def _several(what: str) -> Any:
    return typer.Option(help=f"Add {what}. Repeatable.", show_default=False)


@app.command()
def describe(
    target: Annotated[str, typer.Argument(metavar="NAME", help="A path, a name or an id: of a dataset, job, pipeline, column.")],
    column: Annotated[str | None, typer.Option(help="Describe this column of the dataset.", show_default=False)] = None,
    owner: Annotated[Names, _several("an owner")] = None,
    steward: Annotated[Names, _several("a steward")] = None,
    tag: Annotated[Names, _several("a tag")] = None,
    term: Annotated[Names, _several("a term of the glossary")] = None,
    description: Annotated[str | None, typer.Option(help="Set the description.", show_default=False)] = None,
    retention: Annotated[str | None, typer.Option(help="Set the retention period, for example P7Y.", show_default=False)] = None,
    legal_hold: Annotated[str | None, typer.Option(help="Why it must not be erased.", show_default=False)] = None,
    remove: Annotated[
        Names,
        typer.Option(metavar="ASPECT=VALUE", help="Remove a description: tag=pii, owner=ann, retention. Repeatable.", show_default=False),
    ] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Set owners, tags, terms, retention or legal hold of a dataset, job or column, and show what describes it.

    A person's statement takes precedence over those of programs. A tag that you remove stays removed, whatever events
    say later.

    For example:

      headwater describe out/report --owner ann --tag gold --retention P7Y

      headwater describe out/report --column email --tag pii

      headwater describe out/report --column email --remove tag=pii
    """
    if retention is not None and read_period(retention) is None:
        raise InvalidQueryError(f"{retention!r} is no period.", field="retention", hint="Write 30d, 6m, P7Y or P1Y6M.")
    many = {Aspect.OWNER: owner, Aspect.STEWARD: steward, Aspect.TAG: tag, Aspect.TERM: term}
    single = {Aspect.DESCRIPTION: description, Aspect.RETENTION: retention, Aspect.LEGAL_HOLD: legal_hold}
    stated = [{"aspect": aspect.value, "value": value} for aspect, values in many.items() for value in values or ()]
    stated += [{"aspect": aspect.value, "value": value} for aspect, value in single.items() if value is not None]
    stated += [_removal(text) for text in remove or ()]
    empty = "Nobody has said anything of it yet. --owner, --tag, --description and others say it: headwater describe -h."
    emit(asyncio.run(_describe(target, column, stated, home)), columns=("aspect", "value", "by", "at"), format=format, empty=empty)


async def _describe(target: str, column: str | None, stated: Sequence[dict[str, Any]], home: Path | None) -> list[dict[str, str]]:
    async with open_answers(home) as answers:
        found = await (find_target(answers, target) if column is None else find_column(answers, target, column))
        if stated:
            declaration = {"by": machine_user(), "descriptions": [{"id": found.id, **one} for one in stated]}
            await answers.declare(declaration)
        return await _described(answers, found.id)


async def _described(answers: Answers, identifier: str) -> list[dict[str, str]]:
    node = (await answers.ask(_DESCRIBED, id=identifier))["node"]
    if node is None:
        raise NotFoundError(f"Nothing is known of {identifier}.", hint="Search for its name with `headwater lineage`.")
    about = node["descriptions"]
    valued = {text.partition("=")[0] for text in about["tagValues"]}
    about["tags"] = sorted([tag for tag in about["tags"] if tag not in valued] + about["tagValues"])
    authors = _authors(about["statements"])
    rows = [(aspect.value, value) for name, aspect in _MANY.items() for value in about[name]]
    rows += [(name, about[name]) for name in ("description", "retention", "legalHold") if about[name] is not None]
    return [{"aspect": aspect, "value": value, **authors.get((aspect, value.partition("=")[0]), _NOBODY)} for aspect, value in rows]


def _authors(statements: Sequence[dict[str, Any]]) -> dict[tuple[str, str], dict[str, str]]:
    """Return who stated each description, and when. People come first."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for one in statements:
        if not one["removed"] and not one["overruled"]:
            author = {"by": one["by"] or "", "at": one["at"] or ""}
            found.setdefault((one["aspect"], one["value"].partition("=")[0]), author)
    return found


def _removal(text: str) -> dict[str, Any]:
    aspect, _, value = text.partition("=")
    if aspect not in set(Aspect) or (not value and aspect in _MANY.values()):
        raise InvalidQueryError(
            f"{text!r} removes nothing.", field="remove", hint=f"Write it as tag=pii, owner=ann, retention. There are: {', '.join(Aspect)}."
        )
    return {"aspect": aspect, "value": value or "-", "removed": True}
