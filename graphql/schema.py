"""The schema, with its limits, and the router that serves it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import strawberry
from graphql import GraphQLError
from strawberry.fastapi import GraphQLRouter
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from headwater.graphql.access import close_mutations, close_queries
from headwater.graphql.audit import Act, Decision
from headwater.graphql.context import Context
from headwater.graphql.document import DocumentLimits
from headwater.graphql.errors import DomainErrors, is_internal, logger
from headwater.graphql.mutation import Mutation
from headwater.graphql.query import Query
from headwater.graphql.values import to_json


class _Schema(strawberry.Schema):
    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        if (mutations := self._schema.mutation_type) is not None:
            close_mutations(mutations)
        if (queries := self._schema.query_type) is not None:
            close_queries(queries)

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Log what is a fault of ours, and audit a document that is over a bound; what else the caller did wrong is told to the caller."""
        context = execution_context.context if execution_context else None
        for error in errors:
            if is_internal(error):
                logger.error("GraphQL field %s failed", error.path, exc_info=error.original_error)
            elif error.path is None and (error.extensions or {}).get("code") and isinstance(context, Context):
                context.auditor.note(Act("graphql"), Decision.REFUSED, error.message)


_JSON = strawberry.scalar(
    name="JSON", description="Any JSON value. Integers beyond 2^53, NaN and infinities are text; times are ISO 8601.", serialize=to_json
)

schema: strawberry.Schema = _Schema(
    query=Query,
    mutation=Mutation,
    config=StrawberryConfig(scalar_map={JSON: _JSON}),
    extensions=[
        DocumentLimits,
        DomainErrors,
    ],
)


class _Router(GraphQLRouter[Context, Any]):
    read: Callable[[bytes], Any]

    def decode_json(self, data: str | bytes) -> object:
        """The body, variables and all, by the service's own reader."""
        return self.read(data.encode() if isinstance(data, str) else data)


def build_router(context_getter: Callable[..., Context | Awaitable[Context]], read: Callable[[bytes], Any]) -> GraphQLRouter[Context, Any]:
    """The router of `POST /graphql`. `context_getter` is a FastAPI dependency that makes the context from the request's credential.

    `read` parses a body, and raises what it refuses. Queries come by POST alone, so that no link can cause one; there is no console, since
    it would load scripts of others.
    """
    router = _Router(
        schema, path="/graphql", context_getter=context_getter, graphql_ide=None, allow_queries_via_get=False, subscription_protocols=()
    )
    router.read = read
    return router
