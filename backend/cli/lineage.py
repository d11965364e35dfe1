"""`headwater lineage`: what is around a dataset, a job or a column, at the level, under the masks and as of the time asked for."""

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
from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind
from headwater.graph.stores import Direction
from headwater.graph.views import Mask
from headwater.graph.views.request import ACTORS, DATA

app = typer.Typer(add_completion=False)

# Which of several things that bear a name is meant: the first kind of these.
_TARGETS = (NodeKind.DATASET, NodeKind.PIPELINE, NodeKind.JOB, NodeKind.PLATFORM, NodeKind.SYSTEM, NodeKind.COLUMN, NodeKind.RUN)
_IDS = (*_TARGETS, NodeKind.VERSION, NodeKind.PARTITION, NodeKind.ACTOR, NodeKind.DATA)
_PAGE = 2_000
_VIEW = """query ($view: ViewInput!, $first: Int!, $after: String) { view(view: $view, first: $first, after: $after) {
  nodes { node { id kind name } distance members focus upstream downstream }
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
    depth: Annotated[
        int, typer.Option(min=1, max=1_000, help="How many hops: from dataset to dataset it takes two, by way of the job.")
    ] = 20,
    level: Annotated[
        list[NodeKind] | None, typer.Option(help="Zoom: a level of data, of actors, or one of each (twice).", show_default=False)
    ] = None,
    open: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LEVEL", help="Show what one container holds: report=column.", show_default=False),
    ] = None,
    mask: Annotated[
        list[str] | None,
        typer.Option(help="Hide kind=, name=, namespace=, tag=, layer= or node=…; != hides all others. Repeatable.", show_default=False),
    ] = None,
    ends: Annotated[bool, typer.Option("--ends", help="Hide all but what the lineage begins and ends with.")] = False,
    between: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Keep what lies on a way between two.", show_default=False)
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="As it stood at an instant (ISO 8601).", show_default=False)] = None,
    since: Annotated[str | None, typer.Option(help="What was stated from an instant on.", show_default=False)] = None,
    until: Annotated[str | None, typer.Option(help="What was stated up to an instant.", show_default=False)] = None,
    changes: Annotated[
        tuple[str, str] | None, typer.Option(metavar="FROM TO", help="What changed between two instants, instead.", show_default=False)
    ] = None,
    format: Annotated[LineageFormat, typer.Option("--format", "-f", help="How to print the answer.")] = LineageFormat.TREE,
    home: Home = None,
) -> None:
    """Show what is around a dataset, a job or a column. Of a pipeline, around its jobs together.

    Masked nodes keep what they join: a link says via how many.

    For example:

      headwater lineage out/report --direction upstream

      headwater lineage out/report --level platform --level pipeline

      headwater lineage out/report --mask kind=job --mask 'name=*tmp*' --format mermaid

      headwater lineage --between raw/weather.csv out/report --as-of 2026-03-01
    """
    asked: dict[str, Any] = {
        "direction": direction.name, "depth": depth, "endsOnly": ends, "asOf": as_of, "since": since, "until": until,
        "masks": [_mask(text) for text in mask or ()], **_levels(level or ()),
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
    if target is None and between is None:
        raise InvalidQueryError("Nothing is named.", hint="Name a dataset or a job, or two with --between.")
    async with open_answers(home) as answers:
        focus = await _find(answers, target) if target is not None else None
        asked["focus"] = [focus.id] if focus else []
        asked["open"] = [await _open(answers, text) for text in opened]
        if between:
            asked["between"] = {"from": [(await _find(answers, between[0])).id], "to": [(await _find(answers, between[1])).id]}
        if focus and focus.kind is NodeKind.COLUMN and "data" not in asked:
            # A job that makes ten columns of ten others would seem to make each of all: its columns are joined directly.
            asked["data"] = NodeKind.COLUMN.name
            asked["masks"].append({"by": "KIND", "values": [NodeKind.JOB.value]})
        if changes:
            found = await answers.ask(_CHANGES, view=asked, before=changes[0], after=changes[1])
            emit_changes(found["viewDifference"], format)
            return
        shown = await _pages(answers, asked)
    emit_lineage(focus, shown, format)
    if beyond := shown.totals["beyond"]:
        note(f"[yellow]warning:[/] at least {beyond:,} more nodes lie beyond; --depth asks for more hops.")
    for remark in shown.notes:
        note(f"[yellow]note:[/] {remark}")


async def _pages(answers: Answers, asked: Mapping[str, Any]) -> Shown:
    """The whole view, page after page."""
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


async def _find(answers: Answers, text: str) -> Node:
    kinds = _IDS if text.partition(":")[0] in set(_IDS) else _TARGETS
    return await answers.find(text, *kinds)


async def _open(answers: Answers, text: str) -> dict[str, str]:
    name, sign, level = text.rpartition("=")
    if not sign or level not in set(NodeKind):
        raise InvalidQueryError(f"{text!r} opens nothing.", field="open", hint="Write it as NAME=LEVEL, say report=column.")
    return {"id": (await _find(answers, name)).id, "level": NodeKind(level).name}


def _mask(text: str) -> dict[str, Any]:
    mask = Mask.parse(text)
    return {"by": mask.by.name, "values": list(mask.values), "negated": mask.negated}


def _levels(levels: Sequence[NodeKind]) -> dict[str, str]:
    asked: dict[str, str] = {}
    for level in levels:
        axis = "data" if level in DATA else "actors"
        if axis in asked:
            raise InvalidQueryError(
                f"--level names two levels of {axis}.", field="level", hint=f"The levels are: {', '.join(DATA)}; {', '.join(ACTORS)}."
            )
        asked[axis] = level.name
    return asked
