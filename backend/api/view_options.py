"""The query parameters of endpoints that return a lineage view."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from headwater.graph.model import NodeKind
from headwater.graph.stores import Direction
from headwater.graph.views import ViewOptions


async def view_options(
    view: Annotated[bool, Query(description="Show the view around the target; every other parameter of a view asks for that too.")] = False,
    direction: Annotated[Direction | None, Query(description="upstream, downstream or both (the default).")] = None,
    depth: Annotated[int | None, Query(description="How many hops; 20 if not given.")] = None,
    level: Annotated[list[NodeKind] | None, Query(description="A level of data, of actors, or one of each.")] = None,
    opened: Annotated[
        list[str] | None, Query(alias="open", description="A container that is shown finer than the rest, as ID=LEVEL.")
    ] = None,
    mask: Annotated[
        list[str] | None,
        Query(description="What is hidden: kind=, name=, namespace=, tag=, owner=, layer= or node=…; != hides all others."),
    ] = None,
    ends: Annotated[bool, Query(description="Hide all but what the lineage begins and ends with.")] = False,
    between: Annotated[list[str] | None, Query(description="Two ids: what lies on a way between them is kept.")] = None,
    as_of: Annotated[str | None, Query(description="As it stood at an instant (ISO 8601), or at the end of a date (UTC).")] = None,
    since: Annotated[str | None, Query(description="What was stated from an instant on.")] = None,
    until: Annotated[str | None, Query(description="What was stated up to an instant.")] = None,
) -> ViewOptions:
    return ViewOptions(
        view=view, direction=direction, depth=depth, levels=level or (), open=opened or (), masks=mask or (), ends=ends,
        between=between or (), as_of=as_of, since=since, until=until,
    )  # fmt: skip
