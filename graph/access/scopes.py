"""Scopes: what a caller may do. Roles are named sets of scopes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

NOT_OPEN = "This is not open to keys restricted to namespaces."


class Answering(StrEnum):
    """How an endpoint or a question answers a caller who is restricted to namespaces. Unlisted endpoints are refused."""

    REFUSED = "refused"  # nothing: it is not open to him
    FILTERED = "filtered"  # what is of his namespaces, as if there were no others
    SILENT = "silent"  # public: it shows nothing of any namespace


class Scope(StrEnum):
    """An action that a caller may do. The home's key has all scopes, and a named key has its own.

    A session of the page has the reading scopes, and the scopes that its link was made for, as far as the link's key has them.
    """

    READ = "read"  # the graph, and the records of files that a record came from
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


def unrestricted(scope: Scope) -> None:
    """The check of a caller who owns the home: the command line, which reads the files themselves."""
