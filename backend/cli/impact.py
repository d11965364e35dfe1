"""`headwater impact`: everything downstream or upstream of a node, with owners and last runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.display_names import shown_name
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.backend.cli.view_options import find_target
from headwater.errors import InvalidQueryError
from headwater.graph.stores import Direction
from headwater.graph.views import UNWRITTEN

app = typer.Typer(add_completion=False)

_PAGE = 1_000
_COLUMNS = ("distance", "kind", "name", "owners", "updated", "records")
_QUERY = """query ($focus: [ID!], $records: RecordSet, $direction: Direction!, $depth: Int!, $first: Int!, $after: String,
    $former: Boolean!) {
  impact(focus: $focus, records: $records, direction: $direction, depth: $depth, first: $first, after: $after,
      former: $former) {
    rows { node { id kind name unwritten } distance path owners lastRun updated records former }
    total beyond exact reasons former cursor } }"""


@app.command()
def impact(
    target: Annotated[str, typer.Argument(metavar="NAME", help="A path, a name or an id: of a dataset, job, column, version, run.")],
    direction: Annotated[Direction, typer.Option(help="downstream: the impact; upstream: the causes.")] = Direction.DOWNSTREAM,
    where: Annotated[
        str | None, typer.Option(help="Only the impact of the records that this SQL predicate (DuckDB) selects.", show_default=False)
    ] = None,
    depth: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of hops. With --where, the whole trace is followed.")] = 100,
    former: Annotated[bool, typer.Option("--former", help="Also follow links that their jobs have given up.")] = False,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List everything downstream of a dataset, job, column or records, nearest first: the impact of a change. Upstream: the causes.

    JSON and CSV have ids, a shortest path and the last run as well.

    For example:

      headwater impact raw/weather.csv

      headwater impact out/report --direction upstream -f json

      headwater impact raw/weather.csv --where "wind_speed > 1000"
    """
    if direction is Direction.BOTH:
        raise InvalidQueryError("A list goes one way.", field="direction", hint="Ask for downstream, or for upstream.")
    asyncio.run(_impact(target, where, direction, depth, former, format, home))


async def _impact(
    target: str, where: str | None, direction: Direction, depth: int, former: bool, format: Format, home: Path | None
) -> None:
    async with open_answers(home) as answers:
        asked: dict[str, Any] = {"direction": direction.name, "depth": depth, "first": _PAGE, "former": former}
        if where is None:
            asked["focus"] = [(await find_target(answers, target)).id]
        else:
            asked["records"] = {"dataset": target, "where": where}
        rows, last = await _pages(answers, asked)
    columns = _COLUMNS if format is Format.TABLE else ("id", *_COLUMNS, "path", "last_run", "unwritten", "former")
    if format is Format.TABLE:
        rows = [{**row, "name": shown_name(row["kind"], row["name"], row["id"]) + _mark(row)} for row in rows]
    empty = f"Nothing {direction.value} of it is known."
    emit(rows, columns=columns, format=format, empty=empty)
    for reason in last["reasons"]:
        note(f"not exact: {reason}", label="note")
    if last["former"] and not former:
        note(f"{last['former']:,} more only through links that their jobs have given up; --former lists them.", label="note")
    if last["beyond"]:
        note(f"at least {last['beyond']:,} more nodes lie beyond; --depth asks for more hops.", label="warning")
    if format is Format.TABLE:
        note(f"{last['total']:,} {'causes' if direction is Direction.UPSTREAM else 'affected'}.")


def _mark(row: dict[str, Any]) -> str:
    return "".join(f"  ({text})" for text, is_true in ((UNWRITTEN, row["unwritten"]), ("former", row["former"])) if is_true)


async def _pages(answers: Answers, asked: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return all rows, and the last page, which has the totals."""
    rows: list[dict[str, Any]] = []
    page: dict[str, Any] = {"cursor": None}
    while True:
        page = (await answers.ask(_QUERY, **asked, after=page["cursor"]))["impact"]
        rows += [_row(row) for row in page["rows"]]
        if page["cursor"] is None:
            return rows, page


def _row(row: dict[str, Any]) -> dict[str, Any]:
    node = row["node"]
    return {
        "id": node["id"], "kind": node["kind"].lower(), "name": node["name"], "distance": row["distance"], "owners": row["owners"],
        "updated": row["updated"], "records": row["records"], "path": row["path"], "last_run": row["lastRun"],
        "unwritten": node["unwritten"], "former": row["former"],
    }  # fmt: skip
