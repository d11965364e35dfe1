"""How errors leave the API: ours with code (the class), hint, field and `transient`; others masked, with the details in the log alone."""

from __future__ import annotations

import logging

from graphql import GraphQLError
from strawberry.extensions import MaskErrors

from headwater.errors import HeadwaterError, InvalidInputError

logger = logging.getLogger("headwater.graphql")


def is_internal(error: GraphQLError) -> bool:
    """True for what is neither ours nor graphql-core's own finding about the document."""
    return error.original_error is not None and not isinstance(error.original_error, HeadwaterError | GraphQLError)


def graphql_error(cause: HeadwaterError, error: GraphQLError | None = None) -> GraphQLError:
    """An error of ours as the caller sees it; `error` says where in the document it came up."""
    extensions = {
        "code": type(cause).__name__,
        "hint": cause.hint,
        "field": cause.field if isinstance(cause, InvalidInputError) else None,
        "transient": cause.transient,
    }
    return GraphQLError(cause.message, nodes=error.nodes if error else None, path=error.path if error else None, extensions=extensions)


class DomainErrors(MaskErrors):
    """Gives every `HeadwaterError` its extensions, and masks what is internal."""

    def __init__(self) -> None:
        super().__init__(should_mask_error=lambda error: error.original_error is not None)

    def anonymise_error(self, error: GraphQLError) -> GraphQLError:
        """The error as the caller may see it."""
        cause = error.original_error
        if isinstance(cause, GraphQLError):
            return error
        if isinstance(cause, HeadwaterError):
            return graphql_error(cause, error)
        extensions = {"code": "InternalError", "hint": "The service's log has the details.", "field": None, "transient": False}
        return GraphQLError("The service failed to answer this field.", nodes=error.nodes, path=error.path, extensions=extensions)
