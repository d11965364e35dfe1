"""The scope that each mutation and each query needs.

One table names every mutation. Every caller is refused a mutation that the table does not name, so that a new one stays closed until
somebody decides about it. Another table names the queries that need more than the scope `read`. The service decides who has a scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

from graphql import GraphQLObjectType, GraphQLResolveInfo

from headwater.errors import UnsupportedError
from headwater.graph.access.scopes import Answering, Scope

MUTATIONS: Mapping[str, Scope] = {
    "startReplay": Scope.REPLAY,
    "removeReplay": Scope.REPLAY,
    "startRecapture": Scope.REPLAY,
    "declare": Scope.DECLARE,
    "startTrace": Scope.READ,  # and `records` for what holds values, as of the query `trace`
    "cancelTrace": Scope.READ,
    "createKey": Scope.ADMIN,
    "rotateKey": Scope.ADMIN,
    "revokeKey": Scope.ADMIN,
}
QUERIES: Mapping[str, Scope] = {"admin": Scope.ADMIN, "audit": Scope.AUDIT, "auditVerification": Scope.AUDIT, "registrations": Scope.REPLAY}


# What the questions have for a caller who is restricted to namespaces: a question that is not here is refused to him.
QUERIES_WITHIN: Mapping[str, Answering] = dict.fromkeys(
    (
        "service", "node", "search", "lineage", "jobs", "datasets", "tags", "types", "actors", "data", "runs", "versions", "view",
        "blocks", "consumers", "viewLink", "viewDifference", "impact", "fieldAccess", "fieldLineage", "quality", "dataflow", "rows",
        "trace",
    ),
    Answering.FILTERED,
)  # fmt: skip
MUTATIONS_WITHIN: Mapping[str, Answering] = {"declare": Answering.FILTERED}
SUBSCRIPTIONS_WITHIN: Mapping[str, Answering] = {"runs": Answering.FILTERED, "captures": Answering.FILTERED, "progress": Answering.FILTERED}


def close_mutations(mutations: GraphQLObjectType) -> None:
    """Let every mutation ask its context for the scope that MUTATIONS names, before anything else happens."""
    for name, field in mutations.fields.items():
        if field.resolve is not None:
            asked = _open(MUTATIONS_WITHIN.get(name, Answering.REFUSED), partial(_of_mutation, name), field.resolve)
            field.resolve = _checked(partial(_of_mutation, name), name, asked)


def close_queries(queries: GraphQLObjectType) -> None:
    """Let the queries that QUERIES names ask their context for its scope, and all whether they are open to the caller, at first.

    Raises:
        KeyError: there is no such query.
    """
    for name, field in queries.fields.items():
        if field.resolve is not None:
            field.resolve = _open(QUERIES_WITHIN.get(name, Answering.REFUSED), partial(QUERIES.get, name, Scope.READ), field.resolve)
    for name in QUERIES:
        field = queries.fields[name]
        if field.resolve is not None:
            field.resolve = _checked(partial(QUERIES.get, name), name, field.resolve)


def close_subscriptions(subscriptions: GraphQLObjectType) -> None:
    """Let every subscription ask whether it is open to the caller, before anything else happens."""
    for name, field in subscriptions.fields.items():
        if field.subscribe is not None:
            answering = SUBSCRIPTIONS_WITHIN.get(name, Answering.REFUSED)
            field.subscribe = _open(answering, partial(QUERIES.get, name, Scope.READ), field.subscribe)


def _of_mutation(name: str) -> Scope | None:
    return MUTATIONS.get(name)


def _open(answering: Answering, needed: Callable[[], Scope | None], resolve: Callable[..., Any]) -> Callable[..., Any]:
    """A resolver that is refused to those who are restricted in the scope that it needs, where it has nothing for them."""
    if answering is not Answering.REFUSED:
        return resolve

    @wraps(resolve)
    def asked(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        info.context.require_whole(needed() or Scope.READ)
        return resolve(source, info, **arguments)

    return asked


def _checked(needed: Callable[[], Scope | None], name: str, resolve: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(resolve)
    def checked(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        scope = needed()
        if scope is None:
            raise UnsupportedError(f"{name} is closed.", hint="Name the scope that it needs in headwater/graphql/authorization.py.")
        info.context.require(scope)
        return resolve(source, info, **arguments)

    return checked
