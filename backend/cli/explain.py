"""`headwater explain`: conditions that separate the records behind wrong rows from the records behind the others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.backend.questions.masked_answers import SHOWN
from headwater.errors import InvalidQueryError
from headwater.graph.culprits.explanations import Search, explain
from headwater.graph.model.ids import dataset_name
from headwater.graph.trace import Grain, TraceAnswer, TracedRecord, TraceRequest

app = typer.Typer(add_completion=False)

_COLUMNS = ("dataset", "condition", "bad", "good", "precision", "recall")
_MOST_LISTED = 50
_LIMIT = 500_000
_LIMIT_OF_SERVICE = 20_000  # the service lists no more records in one answer


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
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit of the search in each dataset.")] = 30.0,
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
    async with open_answers(home) as answers:
        of_bad = await _trace(answers, dataset, bad, to, limit)
        if not of_bad.total:
            raise InvalidQueryError(
                "No record was found behind rows that are wrong.", hint=f"headwater trace {dataset} --where … shows what is found, and why."
            )
        of_good = await _trace(answers, dataset, good or f"NOT coalesce(({bad}), false)", to, limit)
    _check_columns(without, of_bad)
    rows: list[dict[str, Any]] = []
    for source in sorted({record.dataset for record in of_bad.records if record.grain is Grain.RECORD}):
        wrong = {_place(record): record for record in of_bad.records if _is_of(record, source)}
        right = {_place(record): record for record in of_good.records if _is_of(record, source) and _place(record) not in wrong}
        if not right:
            note(f"{dataset_name(source)}: no record is behind other rows alone, so nothing separates the two.", label="note")
            continue
        bad_values, good_values = ([_values(record, without) for record in records.values()] for records in (wrong, right))
        search = explain(bad_values, good_values, most=most, seconds=seconds)
        _report(source, search, len(wrong), len(right))
        rows += _rows(source, search)
    emit(rows, columns=_COLUMNS, format=format, empty="No condition separates the records behind wrong rows from the others.")
    for name, answer in (("wrong", of_bad), ("other", of_good)):
        _report_gaps(name, answer)


async def _trace(answers: Answers, dataset: str, where: str, to: str | None, limit: int) -> TraceAnswer:
    return await answers.trace(TraceRequest(dataset=dataset, where=where, to=to, limit=limit, selected_values=False))


def _is_of(record: TracedRecord, dataset: str) -> bool:
    return record.dataset == dataset and record.grain is Grain.RECORD


def _place(record: TracedRecord) -> tuple[str | None, int | None]:
    return record.file, record.row


def _check_columns(without: Sequence[str], answer: TraceAnswer) -> None:
    """Check that each column that is to be left out exists."""
    columns = sorted({name for record in answer.records for name in record.values})
    if unknown := [name for name in without if name.casefold() not in {column.casefold() for column in columns}]:
        raise InvalidQueryError(
            f"No source has a column {unknown[0]}.", field="without", hint=f"The columns are: {', '.join(columns[:_MOST_LISTED])}."
        )


def _values(record: TracedRecord, without: Sequence[str]) -> dict[str, Any]:
    """Return the values of a record, without the columns in `without` and the values that the caller may not see."""
    left_out = {name.casefold() for name in without}
    return {name: value for name, value in record.values.items() if name.casefold() not in left_out and value != SHOWN}


def _rows(source: str, search: Search) -> Sequence[dict[str, Any]]:
    return [
        {
            "dataset": dataset_name(source),
            "condition": explanation.text,
            "bad": explanation.bad,
            "good": explanation.good,
            "precision": round(explanation.precision, 3),
            "recall": round(explanation.recall, 3),
        }
        for explanation in search.explanations
    ]


def _report(source: str, search: Search, wrong: int, right: int) -> None:
    note(f"{dataset_name(source)}: {wrong:,} records behind wrong rows, {right:,} behind other rows.")
    if search.unused:
        note(f"columns whose values cannot be compared: {', '.join(search.unused)}.", label="note")
    if not search.is_complete:
        note("the time limit ended the search; --seconds raises it.", label="not exact")


def _report_gaps(name: str, answer: TraceAnswer) -> None:
    if answer.total > len(answer.records):
        note(
            f"only the first {len(answer.records):,} of {answer.total:,} records behind {name} rows were compared, in file order."
            " Conditions on columns in this order may be false. --limit raises the number.",
            label="not exact",
        )
    for item in answer.incomplete:
        note(f"{name} rows: {item.what}: {item.reason}", label="not exact")
