"""`headwater tags`: tags that travel along the lineage of columns, as proposals that people accept or refuse."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.errors import InvalidQueryError, NotFoundError

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Let tags travel along the lineage of columns.")

_CARRIED = """query ($rules: String, $tag: String, $states: [TagState!], $first: Int!) {
  carriedTags(rules: $rules, tag: $tag, states: $states, first: $first) {
    total silent tags { node tag origin originTag path way certain state } } }"""
_COLUMNS = ("node", "tag", "way", "state", "path")
_MOST = 1_000
_SHOWN = 5

Rules = Annotated[Path | None, typer.Option(help="A YAML file that says how tags go on. See docs/guide/tags.md.", show_default=False)]
Tag = Annotated[str | None, typer.Option(help="Only this tag.", show_default=False)]
Way = Annotated[str | None, typer.Option(help="Only proposals of this way: direct, masked or indirect.", show_default=False)]
Within = Annotated[str | None, typer.Option("--of", metavar="PATTERN", help="Only nodes whose id fits a pattern.", show_default=False)]
Node = Annotated[str | None, typer.Argument(metavar="[NODE]", help="The id of one node, as `propose` prints it.", show_default=False)]


@app.command()
def propose(
    rules: Rules = None,
    tag: Tag = None,
    all: Annotated[bool, typer.Option("--all", help="Also tags that the node bears, and those that were refused.")] = False,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List the tags that reach columns and datasets, each with the path that brought it. Nothing is stored.

    Example: headwater tags propose --tag pii --rules tags.yaml
    """
    states = ["PROPOSED", "BORNE", "REFUSED"] if all else ["PROPOSED"]
    found = asyncio.run(_carried(home, rules, tag, states))
    rows = [{**row, "path": row["path"] if format is Format.JSON else " > ".join(row["path"])} for row in map(_lowered, found["tags"])]
    columns = _COLUMNS if format is Format.TABLE else (*_COLUMNS, "origin", "originTag", "certain")
    emit(rows, columns=columns, format=format, empty="No tag reaches another column.")
    if found["total"] > len(rows):
        note(f"{found['total'] - len(rows):,} more are not listed. Choose a tag.", label="warning")
    if silent := found["silent"]:
        more = f" and {len(silent) - _SHOWN:,} more" if len(silent) > _SHOWN else ""
        note(
            f"Jobs that do not state what became of tagged columns, so that no tag goes on there: {', '.join(silent[:_SHOWN])}{more}.",
            label="warning",
        )


@app.command()
def accept(node: Node = None, tag: Tag = None, way: Way = None, within: Within = None, rules: Rules = None, home: Home = None) -> None:
    """Give proposed tags to their nodes: one node, or all proposals that fit the options.

    For example:

      headwater tags accept column:file:%2Fout%2Freport:email --tag pii

      headwater tags accept --tag pii --way direct --of "column:lake:gold/*"
    """
    done = asyncio.run(_answer(home, rules, node, tag, way, within, removed=False))
    note(f"{done:,} tags are accepted.", label="done")


@app.command()
def refuse(node: Node = None, tag: Tag = None, way: Way = None, within: Within = None, rules: Rules = None, home: Home = None) -> None:
    """Refuse proposed tags. A refused tag is not proposed again, and does not go on from there.

    Example: headwater tags refuse column:file:%2Fout%2Freport:city --tag pii
    """
    done = asyncio.run(_answer(home, rules, node, tag, way, within, removed=True))
    note(f"{done:,} tags are refused.", label="done")


async def _carried(home: Path | None, rules: Path | None, tag: str | None, states: Sequence[str]) -> dict[str, Any]:
    async with open_answers(home, creates=False) as answers:
        return await _ask(answers, rules, tag, states)


async def _ask(answers: Answers, rules: Path | None, tag: str | None, states: Sequence[str]) -> dict[str, Any]:
    await answers.settle()
    found: dict[str, Any] = await answers.ask(_CARRIED, rules=_read(rules), tag=tag, states=states, first=_MOST)
    carried: dict[str, Any] = found["carriedTags"]
    return carried


async def _answer(
    home: Path | None, rules: Path | None, node: str | None, tag: str | None, way: str | None, within: str | None, *, removed: bool
) -> int:
    """Accept or refuse the proposals that fit, and return their number."""
    from fnmatch import fnmatchcase

    if node is None and tag is None:
        raise InvalidQueryError("Nothing says which proposals are meant.", field="node", hint="Name a node, or give --tag.")
    async with open_answers(home, creates=False) as answers:
        found = await _ask(answers, rules, tag, ["PROPOSED"])
        if found["total"] > len(found["tags"]):
            note(f"Only the first {_MOST:,} of {found['total']:,} proposals are looked at. Give the command again.", label="warning")
        chosen = [
            row
            for row in map(_lowered, found["tags"])
            if node in (None, row["node"]) and way in (None, row["way"]) and (within is None or fnmatchcase(row["node"], within))
        ]
        if not chosen:
            raise NotFoundError("No proposal fits.", hint="`headwater tags propose` lists them.")
        stated = [{"id": row["node"], "aspect": "tag", "value": row["tag"], **({"removed": True} if removed else {})} for row in chosen]
        await answers.declare({"by": machine_user(), "descriptions": stated})
        return len(chosen)


def _lowered(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "way": row["way"].lower(), "state": row["state"].lower()}


def _read(file: Path | None) -> str | None:
    if file is None:
        return None
    from headwater.graph.yaml_reader import read_document

    return read_document(file, "docs/guide/tags.md")[0]
