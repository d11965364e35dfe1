"""`headwater retention`: data that is kept longer than a term of its sources, or will be soon."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.display_names import dataset_of, shown_name
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.errors import InvalidQueryError
from headwater.graph.model.ids import bare_name, dataset_name, parse_id
from headwater.graph.policies.periods import read_period

app = typer.Typer(add_completion=False)

_MOST = 1_000
_SHOWN = 5
_TABLE = ("deadline", "state", "dataset", "source", "born", "rows", "path", "owners", "do")
_ALL = (*_TABLE, "stated_by", "days", "masked", "certain", "born_known", "blocks", "hold")
_QUERY = """query ($dataset: String, $days: Int!, $first: Int!) { retention(dataset: $dataset, withinDays: $days, first: $first) {
  total unread unknown
  expiring { dataset source statedBy days path masked certain born bornKnown deadline overdue blocks rows owners hold advice } } }"""


@app.command()
def retention(
    dataset: Annotated[
        str | None, typer.Argument(metavar="[DATASET]", help="One dataset: a path, a table, a name or an id.", show_default=False)
    ] = None,
    within: Annotated[
        str, typer.Option(metavar="TIME", help="Also list what is due within this time: 30d, 6m, P1Y. 0d: only what is overdue.")
    ] = "30d",
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List data that is older than a retention term of a source allows, or will be soon, with the path that brings the term.

    A term is a rule `must_expire` of an applied policy, or the period of `headwater describe DATASET --retention P7Y`. The command fails if
    data is overdue and no legal hold covers it.

    For example:

      headwater retention --within 90d

      headwater retention out/report --format json
    """
    period = timedelta(0) if within.strip() in {"0", "0d"} else read_period(within)
    if period is None:
        raise InvalidQueryError(f"{within!r} is no time.", field="within", hint="Write 30d, 6m or P1Y.")
    days = -(-period // timedelta(days=1))
    found = asyncio.run(_ask(home, dataset, int(days)))
    rows = [_row(each, as_text=format is not Format.JSON) for each in found["expiring"]]
    emit(rows, columns=_TABLE if format is Format.TABLE else _ALL, format=format, empty="No data is due.")
    if found["total"] > len(rows):
        note(f"{found['total'] - len(rows):,} more are not listed. Name a dataset.", label="warning")
    _warn(found["unread"], "The retention period of these is no period, so that it does not count")
    _warn(found["unknown"], "A term reaches these, but no write of them is known")
    if any(each["overdue"] and not each["hold"] for each in found["expiring"]):
        raise typer.Exit(1)


async def _ask(home: Path | None, dataset: str | None, days: int) -> dict[str, Any]:
    async with open_answers(home, creates=False) as answers:
        await answers.settle()
        found: dict[str, Any] = (await answers.ask(_QUERY, dataset=dataset, days=days, first=_MOST))["retention"]
        return found


def _row(found: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    state = "held" if found["hold"] else "overdue" if found["overdue"] else "due"
    made = {
        "deadline": found["deadline"][:10], "state": state, "dataset": dataset_of(dataset_name(found["dataset"])),
        "source": bare_name(found["source"]), "born": found["born"][:10] + ("" if found["bornKnown"] else " or before"),
        "rows": found["rows"], "path": [bare_name(node) for node in found["path"]], "owners": found["owners"], "do": found["advice"],
        "stated_by": found["statedBy"], "days": found["days"], "masked": found["masked"], "certain": found["certain"],
        "born_known": found["bornKnown"], "blocks": found["blocks"], "hold": found["hold"],
    }  # fmt: skip
    if not as_text:
        return made | {"deadline": found["deadline"], "born": found["born"]}
    joined = {"path": " > ".join(_name(node) for node in found["path"]), "owners": ", ".join(made["owners"]), "do": " ".join(made["do"])}
    return made | joined | {"blocks": ", ".join(map(str, found["blocks"]))}


def _name(node: str) -> str:
    kind, parts = parse_id(node)
    return shown_name(kind, parts[-1], node)


def _warn(nodes: list[str], sentence: str) -> None:
    if nodes:
        more = f" and {len(nodes) - _SHOWN:,} more" if len(nodes) > _SHOWN else ""
        note(f"{sentence}: {', '.join(map(bare_name, nodes[:_SHOWN]))}{more}.", label="warning")
