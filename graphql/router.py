"""The router that serves the schema over HTTP and WebSockets. Only the service imports it, because it needs FastAPI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import Response
from strawberry.fastapi import BaseContext, GraphQLRouter
from strawberry.http import GraphQLRequestData
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types import ExecutionResult

from headwater.graphql.context import Context
from headwater.graphql.persisted import PersistedQueries
from headwater.graphql.schema import schema

_INIT = timedelta(seconds=10)  # time for a client to begin
_SUBSCRIPTIONS = 16  # limit of subscriptions of one connection


@dataclass(kw_only=True)
class RequestContext(Context, BaseContext):
    """The context of a request to the service. The router adds the request."""

    def __post_init__(self) -> None:
        BaseContext.__init__(self)
        super().__post_init__()


class _Router(GraphQLRouter[Context, Any]):
    read: Callable[[bytes], Any]
    persisted: PersistedQueries

    def decode_json(self, data: str | bytes) -> object:
        """Parse the body with the service's own reader."""
        return self.read(data.encode() if isinstance(data, str) else data)

    async def execute_single(
        self, request: Request, request_adapter: Any, sub_response: Response, context: Context, root_value: Any | None,
        request_data: GraphQLRequestData,
    ) -> ExecutionResult:  # fmt: skip
        """Execute the document in the request, or the persisted document that it names."""
        try:
            document = self.persisted.document(context.tenant, request_data.query, request_data.extensions)
        except GraphQLError as error:
            return ExecutionResult(data=None, errors=[error])
        named = replace(request_data, query=document)
        return await super().execute_single(request, request_adapter, sub_response, context, root_value, named)


def build_router(context_getter: Callable[..., Context | Awaitable[Context]], read: Callable[[bytes], Any]) -> GraphQLRouter[Context, Any]:
    """Return the router of `POST /graphql`. `context_getter` is a FastAPI dependency that makes the context from the request's credential.

    `read` parses a body, and raises errors for invalid ones. Queries use POST only, so that no link can cause one, and subscriptions use
    WebSockets only. There is no console, because it would load foreign scripts.
    """
    router = _Router(
        schema, path="/graphql", context_getter=context_getter, graphql_ide=None, allow_queries_via_get=False,
        subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL], connection_init_wait_timeout=_INIT,
        max_subscriptions_per_connection=_SUBSCRIPTIONS,
    )  # fmt: skip
    router.read = read
    router.persisted = PersistedQueries()
    return router
