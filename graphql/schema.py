"""The schema with its limits. `router` serves it, and commands execute it directly."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import strawberry
from graphql import GraphQLError
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.schema import StreamResult
from strawberry.types import ExecutionContext
from strawberry.types.execution import PreExecutionError
from strawberry.types.graphql import OperationType

from headwater.errors import HeadwaterError
from headwater.graphql.audit import Act, Decision
from headwater.graphql.context import Context
from headwater.graphql.document import DocumentLimits
from headwater.graphql.errors import DomainErrors, graphql_error, is_internal, logger
from headwater.graphql.mutation import Mutation
from headwater.graphql.query import Query
from headwater.graphql.root_fields import access_of, costly_fields, guard_fields
from headwater.graphql.row_numbers import SCALAR, RowNumber
from headwater.graphql.subscription import Subscription
from headwater.graphql.values import to_json


class _Schema(strawberry.Schema):
    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        guard_fields(self._schema)
        self.access = access_of(self._schema)
        self.costly_fields = costly_fields(self._schema)

    async def stream(
        self, query: str | None, variable_values: dict[str, Any] | None = None, context_value: Any = None, *rest: Any, **more: Any
    ) -> StreamResult:
        """Answer on a WebSocket: subscriptions only, each with a separate context. Queries must use POST."""
        more["allowed_operation_types"] = (OperationType.SUBSCRIPTION,)

        async def results() -> StreamResult:
            try:
                own = context_value
                if isinstance(own, Context) and own.renew is not None:
                    own = await own.renew()
                async with aclosing(await super(_Schema, self).stream(query, variable_values, own, *rest, **more)) as results:
                    async for result in results:
                        yield result
            except HeadwaterError as error:
                yield PreExecutionError(data=None, errors=[graphql_error(error)])
            except GraphQLError as error:  # a document beyond a limit
                yield PreExecutionError(data=None, errors=[error])

        return results()

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Log internal faults, and audit a document beyond a limit. Other errors are returned to the caller and not logged."""
        context = execution_context.context if execution_context else None
        for error in errors:
            if is_internal(error):
                logger.error("GraphQL field %s failed", error.path, exc_info=error.original_error)
            elif error.path is None and (error.extensions or {}).get("code") and isinstance(context, Context):
                context.auditor.note(Act("graphql"), Decision.REFUSED, error.message)


_JSON = strawberry.scalar(
    name="JSON", description="Any JSON value. Integers beyond 2^53, NaN and infinities are text; times are ISO 8601.", serialize=to_json
)

schema = _Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=StrawberryConfig(scalar_map={JSON: _JSON, RowNumber: SCALAR}),
    extensions=[DocumentLimits, DomainErrors],
)
