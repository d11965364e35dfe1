"""Scopes: the actions that a caller may do. Roles are named sets of scopes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

NOT_OPEN = "This is not open to keys restricted to namespaces."


class Answering(StrEnum):
    """How an endpoint or a question answers a caller who is restricted to namespaces. Unlisted endpoints are refused."""

    REFUSED = "refused"  # no answer: the endpoint is closed to the caller
    FILTERED = "filtered"  # only the caller's namespaces, as if there were no others
    SILENT = "silent"  # public: the answer shows nothing of any namespace


class Scope(StrEnum):
    """An action that a caller may do. The home's key has all scopes, and a named key has its own.

    A session of the page has the reading scopes, and the scopes of the link that opened it, as far as the link's key has them.
    """

    READ = "read"  # read the graph, and the positions of the records from which a record came
    RECORDS = "records"  # read values of records, and select records by a predicate
    UNMASKED = "unmasked"  # read values of masked columns too
    EXPORT = "export"  # export documents of provenance, and exports for other catalogs
    DECLARE = "declare"
    REPLAY = "replay"
    INTAKE = "intake"  # send events, manifests, segments and documents of provenance: with a key only
    OPERATE = "operate"  # read metrics and the specification: with a key only
    AUDIT = "audit"  # read the audit log
    ADMIN = "admin"  # manage the tenant's named keys: this includes all other rights


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
    """Allow every scope. The command line uses this check, because its user owns the home and reads the files directly."""
