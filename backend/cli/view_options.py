"""The options of commands that show a lineage view, and the ids of the nodes that they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from headwater.backend.cli.answers import Answers
from headwater.graph.model import Node, NodeKind
from headwater.graph.model.instants import instant_of
from headwater.graph.views.options import ViewOptions, level_called, split_opened

# If several nodes have the same name, the first of these kinds wins.
_NAMED = (NodeKind.DATASET, NodeKind.PIPELINE, NodeKind.JOB, NodeKind.PLATFORM, NodeKind.SYSTEM, NodeKind.COLUMN, NodeKind.RUN)
_BY_ID = (
    *_NAMED, NodeKind.VERSION, NodeKind.PARTITION, NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR, NodeKind.ACTOR, NodeKind.DATA,
)  # fmt: skip


def local_end(text: str) -> str:
    """Parse an instant in local time. A date means its end in the local time zone.

    Raises:
        InvalidQueryError: the text is not an instant.
    """
    return instant_of(text, "instant", end=True, zone=None)


def local_begin(text: str) -> str:
    """Parse an instant in local time. A date means its beginning."""
    return instant_of(text, "instant", end=False, zone=None)


Levels = Annotated[
    list[NodeKind] | None,
    typer.Option(
        "--level",
        parser=level_called,
        metavar="LEVEL",
        show_default=False,
        help="Level to zoom to, of data or of jobs; give the option twice for one of each.",
    ),
]
Opened = Annotated[
    list[str] | None,
    typer.Option(
        "--open",
        metavar="NAME=LEVEL",
        help="Show the content of one container at a finer level, for example report=column.",
        show_default=False,
    ),
]
Masks = Annotated[
    list[str] | None,
    typer.Option(
        "--mask", help="Hide kind=, name=, namespace=, tag=, owner=, layer= or node=…; != hides all others. Repeatable.", show_default=False
    ),
]
Ends = Annotated[bool, typer.Option("--ends", help="Show only the nodes where the lineage begins and ends.")]
Between = Annotated[
    tuple[str, str] | None,
    typer.Option("--between", metavar="A B", help="Show only what lies on a path between two nodes.", show_default=False),
]
AsOf = Annotated[
    str | None,
    typer.Option(parser=local_end, metavar="WHEN", help="Show the lineage as of an instant, or the end of a date.", show_default=False),
]
Since = Annotated[
    str | None,
    typer.Option(parser=local_begin, metavar="WHEN", help="Show only what was reported from an instant or date on.", show_default=False),
]
Until = Annotated[
    str | None,
    typer.Option(
        parser=local_end, metavar="WHEN", help="Show only what was reported up to an instant, or the end of a date.", show_default=False
    ),
]
Depth = typer.Option(
    min=1, max=1_000, help="Maximum number of hops, the same at every level. One dataset to the next takes two.", show_default="20"
)


async def find_target(answers: Answers, text: str) -> Node:
    return await answers.find(text, *(_BY_ID if text.partition(":")[0] in set(_BY_ID) else _NAMED))


async def with_ids(answers: Answers, options: ViewOptions) -> ViewOptions:
    opened = [split_opened(text) for text in options.open]
    return replace(
        options,
        open=[f"{(await find_target(answers, name)).id}={level}" for name, level in opened],
        between=await _ids(answers, options.between),
    )


async def _ids(answers: Answers, names: Sequence[str]) -> list[str]:
    return [(await find_target(answers, name)).id for name in names]
