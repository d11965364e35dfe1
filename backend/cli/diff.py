"""`headwater diff`: the records that differ between two versions of a dataset, in a form for `headwater trace`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.diff_file import check_ending, write_changes
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.graph.trace.version_diff.answer import NOW, Change

app = typer.Typer(add_completion=False)

_PAGE = 20_000
_QUERY = """query ($dataset: ID!, $before: String!, $after: String!, $key: [String!], $changes: [Change!], $first: Int!, $offset: Int!) {
  diff(dataset: $dataset, before: $before, after: $after, key: $key, changes: $changes, first: $first, offset: $offset) {
    before { asOf } after { asOf } columns { name type } total added removed changed exact incomplete { what reason effect } notes
    entries { change before { file row line values run } after { file row line values run } } } }"""
_PLACE = ("change", "version", "file", "row", "line", "run", "as_of")


@app.command()
def diff(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="A path, a name or an id of a dataset.")],
    before: Annotated[str, typer.Argument(metavar="A", help="A version: a sequence, a snapshot, a run, an instant.")],
    after: Annotated[str, typer.Argument(metavar="B", help="Another version, or now.")] = NOW,
    key: Annotated[list[str] | None, typer.Option(help="A column of the key, for changed records. Repeatable.")] = None,
    only: Annotated[list[Change] | None, typer.Option(help="List this kind of change only. Repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of records that differ.")] = 100,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write all of them to a file: .csv, .json or .parquet.")] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List the records that version B of a dataset has and version A has not, and the reverse.

    A number names a block of `headwater versions`, or a snapshot of a Delta or Iceberg table. Without --key, records are compared as
    a whole. The columns file, row and as_of name a record for `headwater trace DATASET --row FILE:ROW --as-of AS_OF`.

    For example:

      headwater diff out/report 1 2

      headwater diff out/report 3 --key id --output changes.parquet
    """
    asyncio.run(_diff(dataset, before, after, key or [], only or list(Change), limit, output, format, home))


async def _diff(
    dataset: str, before: str, after: str, key: Sequence[str], only: Sequence[Change], limit: int, output: Path | None, format: Format,
    home: Path | None,
) -> None:  # fmt: skip
    if output is not None:
        check_ending(output)
    async with open_answers(home) as answers:
        identifier = await answers.find_dataset(dataset)
        asked = {
            "dataset": identifier, "before": before, "after": after, "key": list(key), "changes": [change.name for change in only],
        }  # fmt: skip
        if output is not None:
            written = await write_changes(_pages(answers, asked), output, _place_names, _rows)
            note(f"{written:,} records written to {output}.", label="note")
            return
        page = (await answers.ask(_QUERY, **asked, first=min(limit, _PAGE), offset=0))["diff"]
    places, names = _place_names(page["columns"]), [column["name"] for column in page["columns"]]
    shown = places[:4] if format is Format.TABLE else places
    emit(_rows(page), columns=[*shown, *names], format=format, empty="No record differs.")
    _report(page)


def _place_names(columns: Sequence[Mapping[str, str]]) -> list[str]:
    """Return names for the columns with a record's position. If the data has a column of the same name, `_` is put in front."""
    data = {column["name"].lower() for column in columns}
    return [next(name for count in range(len(data) + 1) if (name := "_" * count + place) not in data) for place in _PLACE]


async def _pages(answers: Answers, asked: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    offset, total = 0, 1
    while offset < total:
        page = (await answers.ask(_QUERY, **asked, first=_PAGE, offset=offset))["diff"]
        if offset == 0:
            _report(page, listed=page["total"])
        offset, total = offset + _PAGE, int(page["total"])
        yield page


def _rows(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each record. A changed record has two rows: its values before, and after."""
    names = [*_place_names(page["columns"]), *(column["name"] for column in page["columns"])]
    return [
        dict(zip(names, [entry["change"].lower(), version, *_place(record), page[version]["asOf"], *record["values"]], strict=True))
        for entry in page["entries"]
        for version in ("before", "after")
        if (record := entry[version]) is not None
    ]


def _place(record: Mapping[str, Any]) -> list[Any]:
    return [record["file"], int(record["row"]), record["line"], record["run"]]


def _report(page: dict[str, Any], listed: float | None = None) -> None:
    counts = ", ".join(f"{int(page[change.value]):,} {change.value}" for change in Change)
    note(f"{counts}.")
    shown = len(page["entries"]) if listed is None else listed
    if page["total"] > shown:
        note(f"{int(page['total'] - shown):,} more are not listed; --limit or --output asks for them.", label="note")
    for item in page["incomplete"]:
        note(f"{item['what']}: {item['reason']}", label="note" if page["exact"] else "not exact")
    for text in page["notes"]:
        note(text, label="note")
