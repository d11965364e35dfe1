"""A stored named key, and the interface of its store: a file of the home, or a table that replicas share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.graph.access.rights import NamespacesByScope, Rights, kept_rights
from headwater.graph.access.scopes import Scope


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A stored key. Times are seconds since 1970. `id` is the first part of the key, which is not secret.

    `within` has the namespaces of restricted scopes.
    """

    id: str
    name: str
    tenant: str
    digest: bytes
    scopes: frozenset[Scope]
    created: float
    expires: float | None
    revoked: float | None
    used: float | None
    within: NamespacesByScope = field(default_factory=dict, hash=False)

    @property
    def rights(self) -> Rights:
        return Rights(self.scopes, self.within)

    def state(self, now: float) -> str:
        """Return `valid`, `expired` or `revoked`."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "valid"


def key_of(row: Sequence[Any]) -> NamedKey:
    """Return the key of a row (id, name, tenant, digest, scopes, created, expires, revoked, used).

    Scopes that only a later version knows are left out.
    """
    identifier, name, tenant, digest, scopes, *times = row
    rights = kept_rights(str(scopes))
    created, expires, revoked, used = times
    return NamedKey(
        str(identifier), str(name), str(tenant), bytes(digest), rights.scopes, created, expires, revoked, used, within=rights.within
    )


class Changes(Protocol):
    """A transaction with exclusive write access."""

    def all(self) -> list[NamedKey]:
        """Return all keys ever created, latest last."""

    def add(self, key: NamedKey) -> None:
        """Store a new key."""

    def end(self, name: str, tenant: str, at: float) -> None:
        """Make the keys with a name and tenant expire at an instant, unless they expire earlier or are revoked."""

    def revoke(self, identifiers: Sequence[str], at: float) -> None:
        """Mark keys as revoked."""


class KeyTable(Protocol):
    """A store of keys. All methods may raise `UnavailableError`."""

    def all(self) -> list[NamedKey]:
        """Return all keys ever created, latest last."""

    def one(self, identifier: str) -> NamedKey | None:
        """Return the key with an id. Called for each request."""

    def changes(self) -> AbstractContextManager[Changes]: ...

    def note_use(self, identifier: str, at: float) -> None:
        """Record the last use of a key. Errors are ignored."""

    def close(self) -> None: ...
