"""A named key as it is kept, and what keeps keys: a file of the home, or a table that replicas share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.graphql.access import Scope
from headwater.graphql.rights import Rights, Within, kept_rights


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A key as the file has it. Times are seconds since 1970; `id` is its beginning, which may be shown.

    `within` are the namespaces of those of its scopes that are restricted.
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
    within: Within = field(default_factory=dict, hash=False)

    @property
    def rights(self) -> Rights:
        """What it may, and in which namespaces."""
        return Rights(self.scopes, self.within)

    def state(self, now: float) -> str:
        """`valid`, `expired` or `revoked`."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "valid"


def key_of(row: Sequence[Any]) -> NamedKey:
    """A key of a row (id, name, tenant, digest, scopes, created, expires, revoked, used). Scopes of a later version are left out."""
    identifier, name, tenant, digest, scopes, *times = row
    rights = kept_rights(str(scopes))
    created, expires, revoked, used = times
    return NamedKey(
        str(identifier), str(name), str(tenant), bytes(digest), rights.scopes, created, expires, revoked, used, within=rights.within
    )


class Changes(Protocol):
    """A transaction that nobody else writes beside."""

    def all(self) -> list[NamedKey]:
        """All keys that there ever were, latest last."""

    def add(self, key: NamedKey) -> None:
        """Keep a new key."""

    def end(self, name: str, tenant: str, at: float) -> None:
        """Have the keys of a name and tenant that are not revoked expire at an instant, or before if they do so anyway."""

    def revoke(self, identifiers: Sequence[str], at: float) -> None:
        """Note that keys are revoked."""


class KeyTable(Protocol):
    """What keeps keys. All verbs may raise `UnavailableError`."""

    def all(self) -> list[NamedKey]:
        """All keys that there ever were, latest last."""

    def one(self, identifier: str) -> NamedKey | None:
        """The key with an id. Asked for each request."""

    def changes(self) -> AbstractContextManager[Changes]: ...

    def note_use(self, identifier: str, at: float) -> None:
        """Note when a key was used last. Best effort."""

    def close(self) -> None: ...
