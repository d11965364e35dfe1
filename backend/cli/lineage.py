"""`headwater lineage`: the neighbours of a dataset, a job or a column, with levels, masks and time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.lineage_text import LineageFormat, Shown, emit_changes, emit_lineage
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import note
from headwater.backend.cli.view_options import AsOf, Between, Depth, Ends, Levels, Masks, Opened, Since, Until, find_target, local_end
from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind
from headwater.graph.stores import Direction
from headwater.graph.views import Mask, levels_named
from headwater.graph.views.options import split_opened

app = typer.Typer(add_completion=False)

_PAGE = 2_000
_VIEW = """query ($view: ViewInput!, $first: Int!, $after: String) { view(view: $view, first: $first, after: $after) {
  nodes { node { id kind name unwritten } distance members focus upstream downstream }
  edges { src dst weight direct via } totals { nodes edges reached masked beyond } cursor notes } }"""
_CHANGES = """query ($view: ViewInput!, $before: String!, $after: String!) {
  viewDifference(view: $view, before: $before, after: $after) { before after kept notes
    nodesAdded { id kind name } nodesRemoved { id kind name } edgesAdded { src dst } edgesRemoved { src dst } } }"""


@app.command()
def lineage(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A path, a name or an id: of a dataset, job, pipeline, column.", show_default=False),
    ] = None,
    direction: Annotated[Direction, typer.Option(help="upstream: where it came from; downstream: where it went.")] = Direction.BOTH,
    depth: Annotated[int, Depth] = 20,
    level: Levels = None,
    open: Opened = None,
    mask: Masks = None,
    ends: Ends = False,
    between: Between = None,
    as_of: AsOf = None,
    since: Since = None,
    until: Until = None,
    changes: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="FROM TO", help="Show what changed between two instants or dates.", show_default=False),
    ] = None,
    format: Annotated[LineageFormat, typer.Option("--format", "-f", help="How to print the answer.")] = LineageFormat.TREE,
    home: Home = None,
) -> None:
    """Show the lineage around a dataset, a job or a column; of a pipeline, around all of its jobs.

    Masked nodes keep what they join: a link says via how many.

    For example:

      headwater lineage out/report --direction upstream

      headwater lineage out/report --level platform --level pipeline

      headwater lineage out/report --mask kind=job --mask 'name=*tmp*' --format mermaid

      headwater lineage --between raw/weather.csv out/report --as-of 2026-03-01
    """
    asked: dict[str, Any] = {
        "direction": direction.name, "depth": depth, "endsOnly": ends, "asOf": as_of, "since": since, "until": until,
        "masks": [_mask(text) for text in mask or ()], **{axis: named.name for axis, named in levels_named(level or ()).items()},
    }  # fmt: skip
    asyncio.run(_show(target, asked, open or (), between, changes, format, home))


async def _show(
    target: str | None,
    asked: dict[str, Any],
    opened: Sequence[str],
    between: tuple[str, str] | None,
    changes: tuple[str, str] | None,
    format: LineageFormat,
    home: Path | None,
) -> None:
    async with open_answers(home) as answers:
        if target is None and between is None:
            known = await answers.known(NodeKind.DATASET)
            raise InvalidQueryError("Nothing is named.", hint=f"Name a dataset, a job or a column, or two with --between. {known}")
        focus = await find_target(answers, target) if target is not None else None
        asked["focus"] = [focus.id] if focus else []
        asked["open"] = [await _open(answers, text) for text in opened]
        if between:
            asked["between"] = {"from": [(await find_target(answers, between[0])).id], "to": [(await find_target(answers, between[1])).id]}
        if focus and focus.kind is NodeKind.COLUMN and "data" not in asked:
            # Columns are linked directly. Through a job node, each output column would seem to depend on all input columns.
            asked["data"] = NodeKind.COLUMN.name
            asked["masks"].append({"by": "KIND", "values": [NodeKind.JOB.value]})
        if changes:
            found = await answers.ask(_CHANGES, view=asked, before=local_end(changes[0]), after=local_end(changes[1]))
            emit_changes(found["viewDifference"], format)
            return
        shown = await _pages(answers, asked)
    emit_lineage(focus, shown, format)
    if beyond := shown.totals["beyond"]:
        note(f"at least {beyond:,} more nodes lie beyond; --depth asks for more hops.", label="warning")
    if asked["masks"] and not shown.totals["masked"]:
        note("nothing in this lineage is of what the masks hide.", label="note")
    for remark in shown.notes:
        note(f"{remark}", label="note")


async def _pages(answers: Answers, asked: Mapping[str, Any]) -> Shown:
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = (await answers.ask(_VIEW, view=asked, first=_PAGE, after=cursor))["view"]
        nodes += [{**item, **item["node"]} for item in page["nodes"]]
        edges += page["edges"]
        cursor = page["cursor"]
        if cursor is None:
            return Shown(nodes, edges, page["totals"], page["notes"])


async def _open(answers: Answers, text: str) -> dict[str, str]:
    name, level = split_opened(text)
    return {"id": (await find_target(answers, name)).id, "level": level.name}


def _mask(text: str) -> dict[str, Any]:
    mask = Mask.parse(text)
    return {"by": mask.by.name, "values": list(mask.values), "negated": mask.negated}
