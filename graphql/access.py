"""What a caller may do, and which mutation or query needs what.

One table names every mutation. A mutation that the table does not name is refused to everybody, so that one that is added later
stays closed until somebody decides about it. Another names the queries that need more than to read the graph, which everybody may who
reaches the schema. The service decides whom a scope is given to; the schema only asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial, wraps
from typing import Any

from graphql import GraphQLObjectType, GraphQLResolveInfo

from headwater.errors import UnsupportedError


class Answering(StrEnum):
    """What an endpoint or a question has for a caller who is restricted to namespaces. What is not named is refused."""

    REFUSED = "refused"  # nothing: it is not open to him
    FILTERED = "filtered"  # what is of his namespaces, as if there were no others
    SILENT = "silent"  # what anybody is told: it shows nothing of any namespace


class Scope(StrEnum):
    """A thing that a caller may do. The home's key has all of them, a named key those that it was made with.

    A session of the page has what reads, and what else its link was made for, of what the key has that the link was made with.
    """

    READ = "read"  # the graph, and which records of which files a record came from
    RECORDS = "records"  # what records hold, and which of them a predicate selects
    UNMASKED = "unmasked"  # also what columns hold that are masked
    EXPORT = "export"  # documents of provenance, and exports for other catalogs
    DECLARE = "declare"
    REPLAY = "replay"
    INTAKE = "intake"  # events, manifests, segments and documents of provenance: with a key alone
    OPERATE = "operate"  # measures, the specification: with a key alone
    AUDIT = "audit"  # who asked what
    ADMIN = "admin"  # the named keys of the tenant: whoever has it can give himself the rest


ROLES: Mapping[str, frozenset[Scope]] = {
    "viewer": frozenset({Scope.READ}),
    "analyst": frozenset({Scope.READ, Scope.RECORDS, Scope.EXPORT}),
    "steward": frozenset({Scope.READ, Scope.RECORDS, Scope.EXPORT, Scope.DECLARE}),
    "engineer": frozenset({Scope.READ, Scope.RECORDS, Scope.EXPORT, Scope.DECLARE, Scope.REPLAY}),
    "investigator": frozenset({Scope.READ, Scope.RECORDS, Scope.UNMASKED, Scope.EXPORT}),
    "producer": frozenset({Scope.INTAKE}),
    "operator": frozenset({Scope.OPERATE}),
    "auditor": frozenset({Scope.READ, Scope.AUDIT}),
    "admin": frozenset({Scope.READ, Scope.AUDIT, Scope.ADMIN}),
}

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
NOT_OPEN = "This is not open to keys restricted to namespaces."


def unrestricted(scope: Scope) -> None:
    """The check of a caller who owns the home: the command line, which reads the files themselves."""


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
            raise UnsupportedError(f"{name} is closed.", hint="Name the scope that it needs in headwater/graphql/access.py.")
        info.context.require(scope)
        return resolve(source, info, **arguments)

    return checked
