"""`headwater consumers`: the jobs that read a dataset, their cursors, and the blocks that they have not read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note

app = typer.Typer(add_completion=False)

_COLUMNS = ("job", "mode", "cursor", "unread_blocks", "unread_rows", "unread_since", "run")
_QUERY = """query ($dataset: ID!) { consumers(dataset: $dataset) {
  job { id name } run mode cursor isInferred unreadBlocks unreadRows unreadSince } }"""


@app.command()
def consumers(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="A path, a name or an id of a dataset.")],
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List the jobs that read a dataset, the one that is furthest behind first.

    The cursor of a job is the last block that one of its completed runs has read. Later blocks are unread. `headwater versions` lists all
    blocks.

    For example:

      headwater consumers raw/events

      headwater consumers raw/events -f json
    """
    asyncio.run(_consumers(dataset, format, home))


async def _consumers(dataset: str, format: Format, home: Path | None) -> None:
    async with open_answers(home) as answers:
        identifier = await answers.find_dataset(dataset)
        listed = (await answers.ask(_QUERY, dataset=identifier))["consumers"]
    columns = _COLUMNS if format is Format.TABLE else ("job_id", *_COLUMNS, "inferred")
    emit([_row(consumer) for consumer in listed], columns=columns, format=format, empty="No job is known to read it.")
    inferred = sum(consumer["isInferred"] for consumer in listed)
    if inferred and format is Format.TABLE:
        note(f"{inferred:,} cursors follow from the time at which a run began: no capture tells which files it read.", label="note")


def _row(consumer: dict[str, Any]) -> dict[str, Any]:
    rows = consumer["unreadRows"]
    return {
        "job_id": consumer["job"]["id"], "job": consumer["job"]["name"], "mode": consumer["mode"].lower(), "cursor": consumer["cursor"],
        "unread_blocks": consumer["unreadBlocks"], "unread_rows": None if rows is None else int(rows),
        "unread_since": consumer["unreadSince"], "run": consumer["run"], "inferred": consumer["isInferred"],
    }  # fmt: skip
