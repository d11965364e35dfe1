"""`headwater subject`: all records anywhere that derive from chosen records."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.display_names import dataset_of
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, count, emit, emit_json, note
from headwater.backend.cli.trace_command import reference
from headwater.errors import InvalidQueryError
from headwater.graph.model.ids import dataset_name

app = typer.Typer(add_completion=False)

_MOST = 20_000  # records in one answer of the schema
_PLACE = ("dataset", "file", "row", "line", "former")
_COLUMNS = ("dataset", "records", "former", "answer", "reasons")
_QUERY = """query ($dataset: String!, $where: String, $rows: [RowRef!], $limit: Int!, $asOf: String) {
  subjectAccess(dataset: $dataset, where: $where, rows: $rows, limit: $limit, asOf: $asOf) {
    exact complete total notes
    datasets { dataset records former complete exact coarse reasons }
    records { dataset file row line values isFormer }
    selected { dataset file row }
    incomplete { what reason effect } } }"""


@app.command()
def subject(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset of the source records: a path, a table, a name or an id.")],
    where: Annotated[str | None, typer.Option(help="The source records: an SQL predicate (DuckDB).", show_default=False)] = None,
    row: Annotated[list[str] | None, typer.Option(help="A source record as FILE:N, N from 0; may be repeated.", show_default=False)] = None,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME|RUN|VERSION", help="The dataset as it was, as for `headwater trace`.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=0, max=_MOST, help="The most records to list. The counts have no limit.")] = _MOST,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List all records anywhere that derive from source records, such as those of one person, in every dataset downstream.

    The table has a line for each dataset downstream, and says whether records may be missing in it. CSV and JSON list the records with
    their values.

    For example:

      headwater subject raw/customers.csv --where "customer_id = 42"

      headwater subject raw/customers.csv --where "customer_id = 42" --format csv
    """
    if where is None and not row:
        raise InvalidQueryError("No record is chosen.", hint="""Say which: --where "customer_id = 42" (DuckDB SQL), or --row FILE:N.""")
    rows = [{"file": file, "row": number} for file, number in map(reference, row or ())]
    asked = {"dataset": dataset, "where": where, "rows": rows or None, "limit": limit, "asOf": as_of}
    found = asyncio.run(_ask(home, asked))
    listed = [_record(record) for record in found["records"]]
    if format is Format.JSON:
        emit_json({
            "exact": found["exact"], "complete": found["complete"], "selected": len(found["selected"]), "total": found["total"],
            "datasets": [{**one, "dataset": dataset_name(one["dataset"])} for one in found["datasets"]],
            "records": listed, "incomplete": found["incomplete"], "notes": found["notes"],
        })  # fmt: skip
    elif format is Format.CSV:
        names = list(dict.fromkeys(name for record in listed for name in record["values"]))
        columns = [*_PLACE, *(name for name in names if name not in _PLACE)]
        emit([{**record["values"], **record} for record in listed], columns=columns, format=format)
    else:
        emit([_dataset(one) for one in found["datasets"]], columns=_COLUMNS, format=format, empty="No dataset is downstream.")
    _say(found, len(listed))


async def _ask(home: Path | None, asked: dict[str, Any]) -> dict[str, Any]:
    async with open_answers(home, creates=False) as answers:
        await answers.settle()
        found: dict[str, Any] = (await answers.ask(_QUERY, **asked))["subjectAccess"]
        return found


def _record(record: dict[str, Any]) -> dict[str, Any]:
    place = {name: record[name] for name in ("file", "row", "line")}
    return {"dataset": dataset_name(record["dataset"]), **place, "former": record["isFormer"], "values": record["values"]}


def _dataset(one: dict[str, Any]) -> dict[str, Any]:
    answer = "exact" if one["exact"] else "complete, perhaps too many" if one["complete"] else "records may be missing"
    reasons = "; ".join(one["reasons"]) or None
    return {
        "dataset": dataset_of(dataset_name(one["dataset"])),
        "records": one["records"],
        "former": one["former"],
        "answer": answer,
        "reasons": reasons,
    }


def _say(found: dict[str, Any], listed: int) -> None:
    note(f"{count(len(found['selected']), 'source record')}; {found['total']:,} derive from them.")
    unknown = [one for one in found["datasets"] if not one["complete"]]
    if unknown:
        note(f"records may be missing in {len(unknown):,} of {len(found['datasets']):,} datasets.", label="not complete")
    for entry in found["incomplete"]:
        note(f"{entry['what']}: {entry['reason']}", label=entry["effect"])
    for text in found["notes"]:
        note(text, label="note")
    if listed < sum(one["records"] + one["former"] for one in found["datasets"]):
        note(f"only {listed:,} records are listed.", label="warning")
