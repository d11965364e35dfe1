"""The ranking of `headwater trace --rank`: how much an aggregated value would change without each of its inputs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.output import Format, emit, emit_json, note
from headwater.errors import InvalidQueryError
from headwater.graph.trace import TraceRequest

_MOST = 1_000
_PLACE = ("without", "change", "file", "row")
_RANK = """query ($dataset: String!, $column: String!, $where: String, $row: RowRef, $first: Int!) {
  rankInputs(dataset: $dataset, column: $column, where: $where, row: $row, first: $first) {
    run function value total exact notes incomplete { what reason effect } row { file row values }
    records { without change isRowGone record { dataset file row line grain values } } } }"""


def rank_and_print(request: TraceRequest, *, format: Format, home: Path | None) -> None:
    """Rank the inputs of the value that a trace request names, and print the ranking."""
    if request.column is None:
        raise InvalidQueryError("Which value to rank is not given.", field="column", hint="Name its column: --column max_wind_mph")
    if len(request.rows) > 1:
        raise InvalidQueryError(f"{len(request.rows)} rows are named.", field="rows", hint="Inputs are ranked for one row.")
    ranking = asyncio.run(_ask(request, home))
    if format is Format.JSON:
        emit_json(ranking)
    else:
        rows = [_row(ranked) for ranked in ranking["records"]]
        names = list(dict.fromkeys(name for row in rows for name in row if name not in _PLACE))
        emit(rows, columns=[*_PLACE, *names], format=format, empty="No input is known.")
    note(f"{ranking['function']} is {ranking['value']}, of {ranking['total']:,} inputs.")
    for text in ranking["notes"]:
        note(text, label="note")
    if not ranking["exact"]:
        for item in ranking["incomplete"]:
            note(f"{item['what']}: {item['reason']}", label="not exact")


async def _ask(request: TraceRequest, home: Path | None) -> dict[str, Any]:
    row = {"file": request.rows[0][0], "row": request.rows[0][1]} if request.rows else None
    async with open_answers(home) as answers:
        found = await answers.ask(
            _RANK, dataset=request.dataset, column=request.column, where=request.where, row=row, first=max(1, min(request.limit, _MOST))
        )
    ranking: dict[str, Any] = found["rankInputs"]
    return ranking


def _row(ranked: Mapping[str, Any]) -> dict[str, Any]:
    record = ranked["record"]
    place = {"without": "no row" if ranked["isRowGone"] else ranked["without"], "change": ranked["change"]}
    return {**record["values"], **place, "file": (record["file"] or "").removeprefix("file:"), "row": record["row"]}
