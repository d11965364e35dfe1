"""`headwater explain`: conditions that separate the records behind wrong rows from the records behind the others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.graph.model.ids import dataset_name

app = typer.Typer(add_completion=False)

_COLUMNS = ("dataset", "condition", "bad", "good", "precision", "recall")
_LIMIT = 500_000
_LIMIT_OF_SERVICE = 100_000  # the service limits the time and the memory of an answer
_EXPLAIN = """query ($dataset: String!, $bad: String!, $good: String, $to: String, $most: Int!, $without: [String!], $limit: Int!,
  $seconds: Float!) {
  explain(dataset: $dataset, bad: $bad, good: $good, to: $to, most: $most, without: $without, limit: $limit, seconds: $seconds) {
    sources { dataset bad good explanations { condition bad good precision recall } unused hidden isComplete }
    incomplete { what reason effect } } }"""


@app.command(name="explain")
def explain_command(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset with wrong rows: a path, a table, a name or an id.")],
    bad: Annotated[str, typer.Option(help="The predicate that selects the wrong rows (DuckDB SQL).")],
    good: Annotated[
        str | None, typer.Option(help="The predicate that selects right rows. All rows that are not wrong, if it is left out.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="DATASET", help="Explain by the records of this dataset. All sources, if it is left out.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, max=50, help="Maximum number of conditions for each dataset.")] = 3,
    without: Annotated[list[str] | None, typer.Option(help="A column that no condition may use, like a group key. Repeatable.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=2, help="Maximum number of records behind the wrong rows, and behind the others.", show_default=False),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="Time limit of the search in all datasets.")] = 30.0,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Find conditions that hold for the records behind wrong rows, and not for the records behind other rows.

    Traces both kinds of rows to their sources, and compares the values of the records there. `precision` is the share of wrong
    records among those that meet the condition. `recall` is the share of the wrong records that meet it. A condition is a hint where
    to look, and no proof of a cause.

    For example:

      headwater explain out/report --bad "max_wind_mph > 200"

      headwater explain out/report --bad "max_wind_mph > 200" --good "max_wind_mph < 80" --to raw/weather.csv
    """
    most_records = limit or (_LIMIT if home is not None or not os.environ.get("HEADWATER_URL") else _LIMIT_OF_SERVICE)
    asyncio.run(_explain(dataset, bad, good, to, most, without or [], most_records, seconds, format, home))


async def _explain(
    dataset: str, bad: str, good: str | None, to: str | None, most: int, without: Sequence[str], limit: int, seconds: float,
    format: Format, home: Path | None,
) -> None:  # fmt: skip
    rows: list[dict[str, Any]] = []
    async with open_answers(home) as answers:
        found = await answers.ask(
            _EXPLAIN, dataset=dataset, bad=bad, good=good, to=to, most=most, without=list(without), limit=limit, seconds=seconds
        )
    for source in found["explain"]["sources"]:
        _report(source)
        rows += _rows(source)
    emit(rows, columns=_COLUMNS, format=format, empty="No condition separates the records behind wrong rows from the others.")
    for item in found["explain"]["incomplete"]:
        note(f"{item['what']}: {item['reason']}", label="not exact")


def _rows(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "dataset": dataset_name(source["dataset"]),
            "condition": found["condition"],
            "bad": found["bad"],
            "good": found["good"],
            "precision": round(found["precision"], 3),
            "recall": round(found["recall"], 3),
        }
        for found in source["explanations"]
    ]


def _report(source: Mapping[str, Any]) -> None:
    name = dataset_name(source["dataset"])
    if not source["good"]:
        note(f"{name}: no record is behind other rows alone, so nothing separates the two.", label="note")
        return
    note(f"{name}: {source['bad']:,} records behind wrong rows, {source['good']:,} behind other rows.")
    for columns, what in ((source["unused"], "columns whose values cannot be compared"), (source["hidden"], "masked columns")):
        if columns:
            note(f"{what}: {', '.join(columns)}.", label="note")
    if not source["isComplete"]:
        note("the time limit ended the search; --seconds raises it.", label="not exact")
