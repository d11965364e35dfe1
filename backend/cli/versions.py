"""`headwater versions`: the blocks of a dataset (the data that each run wrote), and operations on them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli import collection, declared_versions
from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.backend.cli.versions_group import DEFAULT, DefaultListGroup

app = typer.Typer(
    cls=DefaultListGroup, add_completion=False, no_args_is_help=True, help="List, hold, merge and drop the blocks of a dataset."
)

_PAGE = 1_000
_COLUMNS = ("sequence", "mode", "written", "rows", "files", "bytes", "snapshot", "records", "run")
_QUERY = """query ($dataset: ID!, $first: Int!, $before: Int) { blocks(dataset: $dataset, first: $first, before: $before) {
  blocks { sequence version run writtenAt mode snapshot files rows bytes hasRecords } total before } }"""


@app.callback()
def _group() -> None:
    """List what runs wrote to a dataset, block by block; hold, merge and drop blocks.

    `headwater versions DATASET` lists the blocks.
    """


@app.command(DEFAULT)
def versions(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="A path, a name or an id of a dataset.")],
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of blocks.")] = 100,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List what runs wrote to a dataset, the latest first: one block for each completed run.

    A base block replaces the dataset. A delta block adds to it or changes it.

    For example:

      headwater versions out/report

      headwater versions out/report -f json
    """
    asyncio.run(_versions(dataset, limit, format, home))


async def _versions(dataset: str, limit: int, format: Format, home: Path | None) -> None:
    async with open_answers(home) as answers:
        identifier = await answers.find_dataset(dataset)
        blocks: list[dict[str, Any]] = []
        page: dict[str, Any] = {"before": None}
        while len(blocks) < limit:
            asked = {"dataset": identifier, "first": min(limit - len(blocks), _PAGE), "before": page["before"]}
            page = (await answers.ask(_QUERY, **asked))["blocks"]
            blocks += page["blocks"]
            if page["before"] is None:
                break
    columns = _COLUMNS if format is Format.TABLE else (*_COLUMNS, "version")
    emit([_row(block) for block in blocks], columns=columns, format=format, empty="No completed run is known to have written it.")
    if page["total"] > len(blocks):
        note(f"{page['total'] - len(blocks):,} earlier blocks are not listed; --limit asks for more.", label="note")


def _row(block: dict[str, Any]) -> dict[str, Any]:
    counts = {name: None if block[name] is None else int(block[name]) for name in ("files", "rows", "bytes")}
    return {
        **counts, "sequence": block["sequence"], "mode": block["mode"].lower(), "written": block["writtenAt"],
        "snapshot": block["snapshot"], "records": block["hasRecords"], "run": block["run"], "version": block["version"],
    }  # fmt: skip


for command in (
    collection.enrol, collection.withdraw, collection.gc, collection.compact, collection.restore, declared_versions.hold,
    declared_versions.release, declared_versions.declare,
):  # fmt: skip
    app.command()(command)
