"""GraphQL queries for lists: jobs, datasets and tags in the order of their ids, runs and versions with the latest first."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import strawberry
from strawberry import UNSET

from headwater.errors import InvalidInputError, InvalidQueryError
from headwater.graph import model
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind, Stamp, node_id, parse_id
from headwater.graph.stores.write_times import with_ends
from headwater.graphql.connections import NodeConnection, place_of
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.root_fields import query
from headwater.graphql.types import Info

_LOOKED_AT = 5_000  # limit of checked entries for a page of selected ones
_TOGETHER = 500
_MOST_BYTES = 16 << 20  # approximate limit of the properties in a page of runs or versions; the first entry may have more
_AT_ONCE = 100  # entries to read before their bytes are counted
_MOST_STATES = 20


@strawberry.type
class CatalogQuery:
    @query("Jobs in the order of their ids, of one namespace or of all.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def jobs(self, info: Info, namespace: str | None = UNSET, first: int = 20, after: str | None = UNSET) -> NodeConnection:
        return await _listed(info, NodeKind.JOB, namespace or None, first, after or None)

    @query("Datasets in the order of their ids, of one namespace or of all.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def datasets(self, info: Info, namespace: str | None = UNSET, first: int = 20, after: str | None = UNSET) -> NodeConnection:
        return await _listed(info, NodeKind.DATASET, namespace or None, first, after or None)

    @query("Tags that anything bears or bore, in the order of their ids.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def tags(self, info: Info, first: int = 20, after: str | None = UNSET) -> NodeConnection:
        return await _listed(info, NodeKind.TAG, None, first, after or None)

    @query(
        "Types of actors and data that people or programs declared, in the order of their ids.",
        scope=Scope.READ,
        costly=False,
        in_namespaces=True,
    )
    async def types(self, info: Info, first: int = 20, after: str | None = UNSET) -> NodeConnection:
        return await _listed(info, NodeKind.TYPE, None, first, after or None)

    @query("Actors of a declared type, or of all, in the order of their ids.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def actors(self, info: Info, type: str | None = UNSET, first: int = 20, after: str | None = UNSET) -> NodeConnection:
        """Return a page of actors. A registered actor with runs is a job, with its type in the property `actorType`."""
        return await _listed(info, NodeKind.ACTOR, type or None, first, after or None)

    @query("Data of a declared type, or of all, in the order of their ids.", scope=Scope.READ, costly=False, in_namespaces=True)
    async def data(self, info: Info, type: str | None = UNSET, first: int = 20, after: str | None = UNSET) -> NodeConnection:
        return await _listed(info, NodeKind.DATA, type or None, first, after or None)

    @query(
        "Runs of a job, or of a pipeline's application, the latest first: of some states, that began from `since` on and were"
        " heard of until `until`. A page of chosen runs looks at 5,000, and one has 16 MB at most; where `hasNextPage` says so, more may"
        " follow.",
        scope=Scope.READ,
        costly=False,
        in_namespaces=True,
    )
    async def runs(
        self,
        info: Info,
        job: strawberry.ID,
        states: list[str] | None = UNSET,
        since: str | None = UNSET,
        until: str | None = UNSET,
        first: int = 20,
        after: str | None = UNSET,
    ) -> NodeConnection:
        """Return a page of runs. `states` are values of a run's property `state`; instants are ISO 8601 (UTC if they name no zone)."""
        wanted = {state.upper() for state in states or ()}
        if len(wanted) > _MOST_STATES:
            raise InvalidQueryError(f"{len(wanted)} states are asked for.", field="states", hint=f"{_MOST_STATES} are the most.")
        begin = _instant(since, "since")

        def fits(run: model.Node) -> bool:
            at = _time(run.properties.get("startedAt") or run.properties.get("updatedAt"))
            is_late = begin is None or (at is not None and at >= begin)
            return is_late and (not wanted or str(run.properties.get("state", "")).upper() in wanted)

        return await _latest(info, job, NodeKind.RUN, until, first, after or None, fits if wanted or begin else None)

    @query(
        "Versions of a dataset, that is what runs wrote there, the latest first, stated until `until`.",
        scope=Scope.READ,
        costly=False,
        in_namespaces=True,
    )
    async def versions(
        self, info: Info, dataset: strawberry.ID, until: str | None = UNSET, first: int = 20, after: str | None = UNSET
    ) -> NodeConnection:
        return await _latest(info, dataset, NodeKind.VERSION, until, first, after or None, None)


async def _listed(info: Info, kind: NodeKind, part: str | None, first: int, after: str | None) -> NodeConnection:
    context = info.context
    size, skip = bounded(first, "first", low=1, high=MAX_PAGE), place_of(after)
    prefix = node_id(kind, part, "") if part else f"{kind}:"
    found = await context.graph.listed(context.tenant, prefix, first=size, skip=skip)
    context.loaders.budget.spend(len(found.nodes))
    end = skip + len(found.nodes)
    return NodeConnection.of(list(enumerate(found.nodes, skip)), begin=skip, end=end, has_more=end < found.total, total=found.total)


async def _latest(
    info: Info, parent: str, kind: NodeKind, until: str | None, first: int, after: str | None, fits: Callable[[model.Node], bool] | None
) -> NodeConnection:
    """Return a page of a node's children, latest first. `fits` selects some of them; the number of checked children is limited.

    The page ends early if its entries have so many properties that the answer would be too large.
    """
    context = info.context
    size, begin = bounded(first, "first", low=1, high=MAX_PAGE), place_of(after)
    _check_id(parent)
    limit = Stamp.at(instant, "").time if (instant := _instant(until, "until")) is not None else None
    chosen: list[tuple[int, model.Node]] = []
    place, total, room = begin, begin + 1, _MOST_BYTES
    while len(chosen) < size and place < total and place - begin < _LOOKED_AT and room > 0:
        wanted = min(size - len(chosen), _AT_ONCE) if fits is None else _TOGETHER
        found = await context.graph.latest(context.tenant, parent, kind, until=limit, first=wanted, skip=place)
        context.loaders.budget.spend(len(found.nodes))
        total = found.total
        if not found.nodes:
            break
        for node in await with_ends(context.graph, context.tenant, found.nodes):
            if fits is None or fits(node):
                chosen.append((place, node))
                room -= _bytes_of(node)
            place += 1
            if len(chosen) == size or room <= 0:
                break
    count = total if fits is None else None
    return NodeConnection.of(chosen, begin=begin, end=place, has_more=place < total and bool(chosen or place > begin), total=count)


def _bytes_of(node: model.Node) -> int:
    return len(json.dumps(node.properties, default=str))


def _check_id(identifier: str) -> None:
    try:
        parse_id(identifier)
    except InvalidInputError as error:
        raise InvalidQueryError(f"{identifier[:80]!r} is no id of a node.", field="id", hint=error.hint) from None


def _instant(text: str | None, field: str) -> datetime | None:
    if not text:
        return None
    if (found := _time(text)) is None:
        raise InvalidQueryError(f"{text[:80]!r} is no instant.", field=field, hint="Write it as 2026-01-31T12:00:00Z.")
    return found


def _time(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
