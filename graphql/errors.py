"""Converts errors for callers.

Headwater's errors have code (the class), hint, field and `transient`; others are masked, and only logged.
"""

from __future__ import annotations

import logging

from graphql import GraphQLError
from strawberry.extensions import MaskErrors

from headwater.errors import HeadwaterError, InvalidInputError

logger = logging.getLogger("headwater.graphql")


def is_internal(error: GraphQLError) -> bool:
    """Whether an error is neither Headwater's nor graphql-core's error about the document."""
    return error.original_error is not None and not isinstance(error.original_error, HeadwaterError | GraphQLError)


def graphql_error(cause: HeadwaterError, error: GraphQLError | None = None) -> GraphQLError:
    """Convert an error of Headwater for the caller. `error` has its position in the document."""
    extensions = {
        "code": type(cause).__name__,
        "hint": cause.hint,
        "field": cause.field if isinstance(cause, InvalidInputError) else None,
        "transient": cause.transient,
    }
    return GraphQLError(cause.message, nodes=error.nodes if error else None, path=error.path if error else None, extensions=extensions)


class DomainErrors(MaskErrors):
    """Adds extensions to every `HeadwaterError`, and masks internal errors."""

    def __init__(self) -> None:
        super().__init__(should_mask_error=lambda error: error.original_error is not None)

    def anonymise_error(self, error: GraphQLError) -> GraphQLError:
        cause = error.original_error
        if isinstance(cause, GraphQLError):
            return error
        if isinstance(cause, HeadwaterError):
            return graphql_error(cause, error)
        extensions = {"code": "InternalError", "hint": "The service's log has the details.", "field": None, "transient": False}
        return GraphQLError("The service failed to answer this field.", nodes=error.nodes, path=error.path, extensions=extensions)
