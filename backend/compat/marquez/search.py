"""`GET /api/v1/search`: datasets and jobs by a part of their name. Case is ignored.

`%` matches any characters, `_` matches one.

The index of names finds the names that contain the longest part without a wildcard. Other conditions (a wildcard, a
namespace, a day, another order) are checked for each name. A query that needs more names than the limit is refused, not
answered in part.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from fastapi import Query

from headwater.backend.compat.marquez.facts import NEVER, when_stated
from headwater.backend.compat.marquez.nodes import node_name
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, subject_router
from headwater.backend.compat.marquez.wildcards import Wildcards, literals
from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind, parse_id
from headwater.graph.stores.paging import fold

router = subject_router()

T = TypeVar("T", bound=StrEnum)

_DAY = r"^\d{4}-\d{2}-\d{2}$"
_LONGEST = 200  # limit of characters in the searched text
_LOOKED_AT = 5_000
_PORTION = 1_000


class Filter(StrEnum):
    DATASET = "dataset"
    JOB = "job"


class Sort(StrEnum):
    """The order of the results. Marquez's document has another name for the second order than its code and its page."""

    NAME = "name"
    UPDATED = "updated_at"
    UPDATE = "update_at"


@router.get("/search")
async def get_search(
    ask: Ask,
    query: Annotated[str, Query(alias="q", min_length=1, max_length=_LONGEST, description="A part of the name.")],
    kind: Annotated[str | None, Query(alias="filter", description="`dataset` or `job`, in any case; both where it is left out.")] = None,
    sort: Annotated[str, Query(description="`name`; or `updated_at` or `update_at`, for the latest first; in any case.")] = "name",
    limit: Annotated[int, Query(ge=0, le=1_000, description="Of the answers.")] = 10,
    namespace: Annotated[str | None, Query(description="Of the datasets and jobs.")] = None,
    before: Annotated[str | None, Query(pattern=_DAY, description="Stated last before this day.")] = None,
    after: Annotated[str | None, Query(pattern=_DAY, description="Stated last on this day or later.")] = None,
) -> dict[str, Any]:
    """Return datasets and jobs whose name matches: `{"totalCount", "results": […]}`.

    `totalCount` counts these results, as in Marquez.
    """
    kinds = _KINDS[_one_of(Filter, kind, "filter")] if kind else (NodeKind.DATASET, NodeKind.JOB)
    by_name = _one_of(Sort, sort, "sort") is Sort.NAME
    pattern = Wildcards(fold(query))
    found: list[dict[str, Any]] = []
    async for nodes in _holding(ask, _longest(query), kinds):
        # In a thread, because a thousand long names would block the event loop for a tenth of a second.
        fits = await asyncio.to_thread(pattern.fitting, [fold(node.name) for node in nodes])
        fitting = [node for node, fit in zip(nodes, fits, strict=True) if fit and namespace in (None, parse_id(node.id)[1][0])]
        stated = await when_stated(ask, [node.id for node in fitting])
        bodies = [_body(node, stated.get(node.id, NEVER).updated) for node in fitting]
        found += [one for one in bodies if (before or "~") > (one["updatedAt"] or "") >= (after or "")]
        if by_name and len(found) >= limit:
            break
    if not by_name:
        found.sort(key=lambda one: one["updatedAt"] or "", reverse=True)
    return {"totalCount": len(found[:limit]), "results": found[:limit]}


_KINDS = {Filter.DATASET: (NodeKind.DATASET,), Filter.JOB: (NodeKind.JOB,)}


async def _holding(ask: MarquezRequest, part: str, kinds: tuple[NodeKind, ...]) -> AsyncIterator[list[Node]]:
    """Yield the nodes whose name contains a part, in order of names, page by page.

    Raises:
        InvalidQueryError: more nodes match than the limit.
    """
    cursor, total = None, 0
    for _ in range(_LOOKED_AT // _PORTION):
        page = await ask.graph.search(ask.tenant, part, kinds=kinds, first=_PORTION, after=cursor)
        yield list(page.nodes)
        cursor, total = page.cursor, page.total
        if cursor is None:
            return
    raise InvalidQueryError(f"{total:,} names hold {part!r}.", field="q", hint="Search for a longer part, without a namespace or a day.")


def _longest(query: str) -> str:
    return max(literals(query), key=len)


def _one_of(kinds: type[T], stated: str, field: str) -> T:
    try:
        return kinds(stated.lower())
    except ValueError:
        known = ", ".join(kinds)
        raise InvalidQueryError(f"{field} is {stated[:100]!r}.", field=field, hint=f"It is one of: {known}.") from None


def _body(node: Node, updated: str | None) -> dict[str, Any]:
    namespace, name = parse_id(node.id)[1]
    kind = "DATASET" if node.kind is NodeKind.DATASET else "JOB"
    return {"type": kind, "name": name, "updatedAt": updated, "namespace": namespace, "nodeId": node_name(node.id)}
