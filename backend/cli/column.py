"""`headwater column`: the access to a column, its source columns, and its tags."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.display_names import job_of, shown_name
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.backend.cli.view_options import Since, Until
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError
from headwater.graph.model import Node, NodeKind, bare_name, node_id, parse_id
from headwater.graph.model.instants import instant_of
from headwater.graph.stores import Direction

app = typer.Typer(
    cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Show who touched a column, where it comes from, and its tags."
)

_ACCESS = """query ($column: ID!, $since: String, $until: String) { fieldAccess(column: $column, since: $since, until: $until) {
  job kind ways decidesOnly first last runs certain } }"""
_REPORT = """query ($column: ID!, $since: String, $until: String) {
  fieldAccess(column: $column, since: $since, until: $until) { job kind first last runs certain }
  fieldLineage(column: $column, direction: DOWNSTREAM, detailed: true, depth: 100) { edges { dst } truncated beyond } }"""
_READERS = """query ($dataset: ID!, $since: String!, $until: String) { datasetReaders(dataset: $dataset, since: $since, until: $until) {
  readers { who operations answers records first last } uncertain damaged searchedBackTo } }"""
_DAYS = 90  # of the audit log that a report reads, if no window is given
_LINEAGE = """query ($column: ID!, $direction: Direction!, $detailed: Boolean!, $depth: Int!) {
  fieldLineage(column: $column, direction: $direction, detailed: $detailed, depth: $depth) {
    edges { src dst hops way operations { job type subtype description masking } steps { operation description src dst } }
    truncated beyond } }"""
_TAGS = "query ($column: ID!) { fieldLineage(column: $column, depth: 1) { tags { tag origin distance way } } }"

_WAYS = ("direct", "masked", "indirect")  # best first
_KNOWN = 200  # limit of columns in a hint

Dataset = Annotated[str, typer.Argument(metavar="DATASET", help="A path, a name or an id; or the id of a column, alone.")]
Column = Annotated[str | None, typer.Argument(metavar="[COLUMN]", help="The column's name.", show_default=False)]


@app.callback()
def _group() -> None:
    """Show who used a column, where its values come from, and which tags reach it."""


@app.command()
def access(
    dataset: Dataset, column: Column = None, since: Since = None, until: Until = None, format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:  # fmt: skip
    """List the jobs that read, wrote, created or dropped a column, and when; reads that only filter or join count.

    For example:

      headwater column access out/report max_wind_mph --since 2026-03-01
    """

    async def ask(answers: Answers, identifier: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await answers.ask(_ACCESS, column=identifier, since=since, until=until))["fieldAccess"]
        return [
            {
                "kind": row["kind"].lower(), "job": row["job"], "first": row["first"], "last": row["last"], "ways": row["ways"],
                "decides_only": row["decidesOnly"], "certain": row["certain"], "runs": row["runs"],
            }
            for row in found
        ]  # fmt: skip

    rows = asyncio.run(_ask(dataset, column, home, ask))
    columns = ("kind", "job", "first", "last", "ways", "certain")
    if format is Format.TABLE:
        rows = [{**row, "job": job_of(bare_name(row["job"]))} for row in rows]
    empty = "No job is known to have used it in that time." if since or until else "No job is known to have used it."
    emit(rows, columns=columns if format is Format.TABLE else (*columns, "decides_only", "runs"), format=format, empty=empty)


@app.command()
def report(
    dataset: Dataset, column: Column = None, since: Since = None, until: Until = None, format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:  # fmt: skip
    """Report who touched a column: the jobs that used it, the columns that derive from it, and the people who read its dataset's records.

    People are in the audit log, which only callers with the scope `audit` may read. The log names datasets, and no columns.
    Without --since, the report has the readers of the last 90 days.

    For example:

      headwater column report raw/customers.csv email --since 2026-01-01 --until 2026-03-31

      headwater column report raw/customers.csv email -f json
    """
    readers_since = since or (datetime.now(UTC) - timedelta(days=_DAYS)).isoformat(timespec="seconds")

    async def ask(answers: Answers, identifier: str) -> list[dict[str, Any]]:
        found = await answers.ask(_REPORT, column=identifier, since=since, until=until)
        rows = [{"kind": row["kind"].lower(), "name": row["job"], **_times(row), "certain": row["certain"]} for row in found["fieldAccess"]]
        derived = dict.fromkeys(edge["dst"] for edge in found["fieldLineage"]["edges"])
        rows += [{"kind": "derived", "name": name} for name in derived]
        if left := found["fieldLineage"]["truncated"] + found["fieldLineage"]["beyond"]:
            note(f"at least {left:,} more columns derive from it and are not listed.", label="not complete")
        return [*rows, *await _readers(answers, _dataset_id(identifier), readers_since, until)]

    rows = asyncio.run(_ask(dataset, column, home, ask))
    if format is Format.TABLE:
        rows = [{**row, "name": _shown(row)} for row in rows]
    columns = ("kind", "name", "first", "last", "certain", "operations", "answers", "records")
    emit(rows, columns=columns, format=format, empty="Nothing is known to have used it.")


async def _readers(answers: Answers, dataset: str, since: str, until: str | None) -> list[dict[str, Any]]:
    begin, end = instant_of(since, "since", end=False, zone=None), instant_of(until, "until", end=True, zone=None) if until else None
    try:
        found = (await answers.ask(_READERS, dataset=dataset, since=begin, until=end))["datasetReaders"]
    except HeadwaterError as error:
        if not error.is_refusal:
            raise
        note("People are not listed: this key may not read the audit log.", label="not complete")
        return []
    if found["searchedBackTo"]:
        note(f"The audit log was read back to {found['searchedBackTo']} only. Ask again until then.", label="not complete")
    if found["uncertain"]:
        note(f"{found['uncertain']:,} answers had records of too many datasets for one line of the log; some may be of this one.",
             label="not complete")  # fmt: skip
    if found["damaged"]:
        note(f"{found['damaged']:,} lines of the audit log cannot be read.", label="not complete")
    return [
        {"kind": "reader", "name": one["who"], "first": one["first"], "last": one["last"], "certain": False,
         "operations": one["operations"], "answers": one["answers"], "records": one["records"]}
        for one in found["readers"]
    ]  # fmt: skip


def _times(row: dict[str, Any]) -> dict[str, Any]:
    return {"first": row["first"], "last": row["last"], "runs": row["runs"]}


def _shown(row: dict[str, Any]) -> str:
    if row["kind"] == "reader":
        return str(row["name"])
    return shown_name("column", "", row["name"]) if row["kind"] == "derived" else job_of(bare_name(row["name"]))


def _dataset_id(column: str) -> str:
    _, (namespace, name, _) = parse_id(column)
    return node_id(NodeKind.DATASET, namespace, name)


@app.command()
def lineage(
    dataset: Dataset,
    column: Column = None,
    direction: Annotated[
        Direction, typer.Option(help="upstream: what it is made of; downstream: what is made of it.")
    ] = Direction.UPSTREAM,
    detailed: Annotated[bool, typer.Option("--detailed", help="Show every step, not only the first and last columns.")] = False,
    depth: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of columns to follow.")] = 50,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List the source columns of a column, with the operations on the way. With --detailed, list every step.

    The way is direct if values flow, masked if an operation hides them, and indirect if they only decide (a filter, a
    join).

    For example:

      headwater column lineage out/report max_wind_mph --detailed
    """
    truncated = beyond = 0

    async def ask(answers: Answers, identifier: str) -> list[dict[str, Any]]:
        nonlocal truncated, beyond
        asked = {"column": identifier, "direction": direction.name, "detailed": detailed, "depth": depth}
        found = (await answers.ask(_LINEAGE, **asked))["fieldLineage"]
        truncated, beyond = found["truncated"], found["beyond"]
        edges = [
            {
                "from": edge["src"],
                "to": edge["dst"],
                "way": edge["way"].lower(),
                "hops": edge["hops"],
                "operations": edge["operations"],
                "steps": edge["steps"],
            }
            for edge in found["edges"]
        ]
        return sorted(edges, key=lambda edge: (_WAYS.index(edge["way"]), edge["hops"], edge["from"], edge["to"]))

    rows = asyncio.run(_ask(dataset, column, home, ask))
    if format is not Format.JSON:
        rows = [step for row in rows for step in _steps(row)]
        rows = [
            {
                **row,
                "from": _place(row["from"]),
                "to": _place(row["to"]),
                "operations": "; ".join(map(_operation, row["operations"])),
            }
            for row in rows
        ]
    empty = "It comes from no column that is known." if direction is Direction.UPSTREAM else "No column that is known is made of it."
    emit(rows, columns=("from", "to", "way", "hops", "operations"), format=format, empty=empty)
    if truncated:
        note(f"{truncated:,} more columns were reached than are listed.", label="warning")
    if beyond:
        note(f"at least {beyond:,} more columns lie beyond; --depth asks for more.", label="warning")


_NO_TAGS = "No tag reaches it. `headwater describe DATASET --column COLUMN --tag TAG` says one, here or where it comes from."


@app.command()
def tags(dataset: Dataset, column: Column = None, format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List the tags of a column, and those that reach it along its lineage: direct, masked or indirect.

    For example:

      headwater column tags out/report max_wind_mph
    """

    async def ask(answers: Answers, identifier: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await answers.ask(_TAGS, column=identifier))["fieldLineage"]["tags"]
        return [{**tag, "way": tag["way"].lower()} for tag in found]

    emit(asyncio.run(_ask(dataset, column, home, ask)), columns=("tag", "way", "distance", "origin"), format=format, empty=_NO_TAGS)


async def find_column(answers: Answers, dataset: str, column: str | None) -> Node:
    """Return the column that a person names.

    Raises:
        NotFoundError: the column is unknown. The error lists the known columns.
        InvalidQueryError: no column is named.
    """
    if column is None:
        if not dataset.startswith(f"{NodeKind.COLUMN}:"):
            raise InvalidQueryError(
                f"No column of {dataset} is named.", field="column", hint="Write DATASET COLUMN, or the id of a column."
            )
        return await answers.find(dataset, NodeKind.COLUMN)
    known = await answers.find(dataset, NodeKind.DATASET)
    found = await answers.graph.get(answers.tenant, [node_id(NodeKind.COLUMN, *parse_id(known.id)[1], column)])
    if not found:
        page = await answers.graph.children(answers.tenant, known.id, kinds=[NodeKind.COLUMN], first=_KNOWN)
        there = ", ".join(node.name for node in page.nodes) or "none"
        raise NotFoundError(f"{known.name} has no column {column} that is known.", hint=f"Its columns are: {there}.")
    return found[0]


async def _ask(dataset: str, column: str | None, home: Path | None, ask: Any) -> list[dict[str, Any]]:
    async with open_answers(home) as answers:
        found: list[dict[str, Any]] = await ask(answers, (await find_column(answers, dataset, column)).id)
        return found


def _steps(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each recorded step of a derivation, else the row itself."""
    return [
        {
            **row, "from": step["src"], "to": step["dst"],
            "operations": [{"type": step["operation"], "subtype": None, "description": step["description"]}],
        }
        for step in row["steps"]
    ] or [row]  # fmt: skip


def _place(end: str) -> str:
    return shown_name("column", "", end) if end.startswith(f"{NodeKind.COLUMN}:") else end


def _operation(step: dict[str, Any]) -> str:
    kind = step["type"] if not step["subtype"] else f"{step['type']}/{step['subtype']}"
    return ": ".join(part for part in (kind, step["description"]) if part)
