"""Subscriptions over graphql-transport-ws: runs, captures, replays, recaptures, searches for culprits, the service's progress.

The rules are those of queries. Before each message the caller is identified again, and all data is looked up and masked for the caller's
present rights. A message shows the present state, so the first of two quick changes may be left out.
"""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import strawberry
from strawberry import UNSET

from headwater.errors import InvalidQueryError
from headwater.graph import model
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind
from headwater.graphql.context import Context
from headwater.graphql.culprits import CulpritSearch
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.recaptures import Recapture
from headwater.graphql.replay_fields import audit_differences
from headwater.graphql.replays import Replay
from headwater.graphql.root_fields import subscription
from headwater.graphql.services import CulpritSearchView, RecaptureView, ReplayView, available
from headwater.graphql.types import Info, Node


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


_View = TypeVar("_View", bound=_Identified)
_View_co = TypeVar("_View_co", bound=_Identified, covariant=True)

_PAUSE = 1.0  # seconds between two polls of services without announcements
_AT_ONCE = 500  # limit of nodes in one message
_REMEMBERED = 20_000  # limit of nodes whose last state a subscription remembers
_MOST_STATES = 20


@strawberry.type(
    description="How far the service has come with what was sent. For a key that is restricted to namespaces `pending` is 1 where any wait,"
    " and `captures` 0."
)
class Progress:
    """The progress of the service. `pending` is the number of log entries that are not in the graph, `captures` of stored captures."""

    pending: int
    captures: int


@strawberry.type
class Subscription:
    @subscription(
        "Runs that are new or say something new. First an empty list: from then on nothing is left out.",
        scope=Scope.READ,
        in_namespaces=True,
    )
    async def runs(
        self, info: Info, job: strawberry.ID | None = UNSET, states: list[str] | None = UNSET
    ) -> AsyncGenerator[list[Node], None]:
        """Yield changed runs. `job` is the id of their job; `states` are values of a run's property `state`."""
        wanted = {state.upper() for state in states or ()}
        if len(wanted) > _MOST_STATES:
            raise InvalidQueryError(f"{len(wanted)} states are asked for.", field="states", hint=f"{_MOST_STATES} are the most.")

        def state_of(node: model.Node) -> Any:
            return node.properties if not wanted or str(node.properties.get("state", "")).upper() in wanted else None

        async with aclosing(_changed(info.context, job or None, state_of)) as changes:
            async for nodes in changes:
                yield nodes

    @subscription(
        "Runs of which a capture arrived, with what it says of itself. First an empty list: from then on nothing is left out.",
        scope=Scope.READ,
        in_namespaces=True,
    )
    async def captures(self, info: Info, job: strawberry.ID | None = UNSET) -> AsyncGenerator[list[Node], None]:
        """Yield runs with a new capture. `job` is the id of their job."""
        async with aclosing(_changed(info.context, job or None, lambda node: node.properties.get("capture"))) as changes:
            async for nodes in changes:
                yield nodes

    @subscription("The latest replays, each when it is new or has come further; first as they stand.", scope=Scope.READ)
    async def replays(self, info: Info, id: strawberry.ID | None = UNSET, first: int = 20) -> AsyncGenerator[list[Replay], None]:
        size = bounded(first, "first", low=1, high=MAX_PAGE)

        def state_of(view: ReplayView) -> Any:
            return [view.state, [[step.job, step.state] for step in view.steps], view.error]

        async with aclosing(
            _further(info, lambda: available(info.context.services.replays, "Replays"), id or None, size, state_of)
        ) as changes:
            async for views in changes:
                await audit_differences(info, views)
                yield [Replay.of(view) for view in views]

    @subscription("The latest recaptures, each when it is new or has come further; first as they stand.", scope=Scope.READ)
    async def recaptures(self, info: Info, id: strawberry.ID | None = UNSET, first: int = 20) -> AsyncGenerator[list[Recapture], None]:
        size = bounded(first, "first", low=1, high=MAX_PAGE)

        def state_of(view: RecaptureView) -> Any:
            return [view.state, view.error]

        async with aclosing(
            _further(info, lambda: available(info.context.services.recaptures, "Recaptures"), id or None, size, state_of)
        ) as changes:
            async for views in changes:
                yield [Recapture.of(view) for view in views]

    @subscription("The latest searches for culprits, each when it is new or has come further; first as they stand.", scope=Scope.READ)
    async def culprit_searches(
        self, info: Info, id: strawberry.ID | None = UNSET, first: int = 20
    ) -> AsyncGenerator[list[CulpritSearch], None]:
        size = bounded(first, "first", low=1, high=MAX_PAGE)

        def state_of(view: CulpritSearchView) -> Any:
            return [view.state, view.trials, view.left, view.error]

        async with aclosing(
            _further(info, lambda: available(info.context.services.culprits, "Searches for culprits"), id or None, size, state_of)
        ) as changes:
            async for views in changes:
                yield [CulpritSearch.of(view) for view in views]

    @subscription("How far the service has come, at once and each time that it has come further.", scope=Scope.READ, in_namespaces=True)
    async def progress(self, info: Info) -> AsyncGenerator[Progress, None]:
        sent: Progress | None = None
        while True:
            context = info.context
            captures = 0 if context.is_restricted else await asyncio.to_thread(context.records.count, context.tenant)
            now = Progress(pending=await context.pending(), captures=captures)
            if now != sent:
                yield now
            sent = now
            await asyncio.sleep(_PAUSE)
            await _refreshed(context)


class _Listed(Protocol[_View_co]):
    async def get(self, tenant: str, identifier: str) -> _View_co | None: ...
    async def list(self, tenant: str, first: int) -> Sequence[_View_co]: ...


async def _further(
    info: Info, service: Callable[[], _Listed[_View]], identifier: str | None, size: int, state_of: Callable[[_View], Any]
) -> AsyncGenerator[list[_View], None]:
    """Yield the items that a service lists, then new and changed ones."""
    known: dict[str, str] = {}
    while True:
        if identifier:
            one = await service().get(info.context.tenant, identifier)
            found = [one] if one else []
        else:
            found = list(await service().list(info.context.tenant, size))
        marks = {view.id: _mark(state_of(view)) for view in found}
        news = [view for view in found if known.get(view.id) != marks[view.id]]
        if news or not known:
            yield news
        known = marks or {"": ""}
        await asyncio.sleep(_PAUSE)
        await _refreshed(info.context)


async def _changed(context: Context, job: str | None, state_of: Callable[[model.Node], Any]) -> AsyncGenerator[list[Node], None]:
    """Yield runs for which `state_of` returns a value that differs from the last one."""
    runs = available(context.services.news, "News", "Subscribe at a running service, by a WebSocket.").runs()
    known: OrderedDict[str, str] = OrderedDict()
    async with aclosing(runs) as news:
        async for ids in news:
            if not ids:
                yield []
                continue
            await _refreshed(context)
            for begin in range(0, len(ids), _AT_ONCE):
                found = await context.graph.get(context.tenant, ids[begin : begin + _AT_ONCE])
                of_job = [node for node in found if node.kind is NodeKind.RUN and (job is None or await _is_of(context, node, job))]
                marks = {node.id: _mark(state) for node in of_job if (state := state_of(node)) is not None}
                new = [node for node in of_job if node.id in marks and known.get(node.id) != marks[node.id]]
                for node in new:
                    known[node.id] = marks[node.id]
                    known.move_to_end(node.id)
                while len(known) > _REMEMBERED:
                    known.popitem(last=False)
                if new:
                    yield [Node.of(node) for node in new]


async def _is_of(context: Context, run: model.Node, job: str) -> bool:
    return any(container.id == job for container in await context.loaders.containers.load(run.id))


async def _refreshed(context: Context) -> None:
    if context.renew is not None:
        context.become(await context.renew())


def _mark(state: Any) -> str:
    return sha256(json.dumps(state, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()
