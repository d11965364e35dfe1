"""Keys, roles, tenants and grants as the schema shows them, and the service that it asks for them.

For the page of whoever administers a tenant. What a key opens is decided by the service; the text of a key is told once, by the mutation
that makes it, and is in no other answer.
"""

# mypy: disable-error-code="untyped-decorator"
# strawberry types what a resolver decorator returns as Any, so that the field may stand for its value.

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import strawberry

from headwater.errors import UnsupportedError
from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import ROLES
from headwater.graphql.limits import MAX_PAGE, bounded


@strawberry.enum(description="Whether a named key opens anything.")
class KeyState(StrEnum):
    """Values are those of the key ring."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@strawberry.type(description="A named key to the service, without its text. Times are ISO 8601 in UTC.")
class NamedKey:
    """`id` is the key's beginning, which the audit log has too."""

    id: strawberry.ID
    name: str
    tenant: str
    scopes: list[str]
    state: KeyState
    created: str
    expires: str | None
    used: str | None = strawberry.field(description="When it was last shown, to the minute.")


@strawberry.type(description="A new key with its text, which is told this once.")
class NewKey:
    """`secret` is what its holder shows."""

    key: NamedKey
    secret: str


@strawberry.type(description="A role: a named set of scopes.")
class Role:
    """As keys and grants have it."""

    name: str
    scopes: list[str]


@strawberry.type(description="A tenant that has a key, a grant or data roots.")
class Tenant:
    """Counts are of keys that are valid, and of grants to people."""

    name: str
    keys: int
    grants: int


@strawberry.type(description="What people may, of whom the issuer says that `claim` (a path) is, or holds, `value`. From people.toml.")
class PeopleGrant:
    """One rule."""

    claim: list[str]
    value: str
    tenant: str
    scopes: list[str]


@strawberry.type(description="Where people sign in, and what is granted to whom.")
class People:
    """`fault` says that people.toml cannot be used; then nobody signs in."""

    issuer: str | None
    fault: str | None
    grants: list[PeopleGrant]


@dataclass(frozen=True, slots=True)
class KeyWanted:
    """A key to make. `days` None: it is valid for ever; `tenant` None: the caller's own."""

    name: str
    rights: Rights
    tenant: str | None
    days: float | None


class AdminService(Protocol):
    """Administers for one caller: his tenant, or all of them where he owns the home. All methods may block, and raise `HeadwaterError`."""

    def keys(self) -> Sequence[NamedKey]:
        """All keys that there are and were, latest first."""

    def tenants(self) -> Sequence[Tenant]:
        """By name."""

    def people(self) -> People:
        """The grants that concern the caller's tenant."""

    def create(self, wanted: KeyWanted) -> NewKey:
        """Make a key."""

    def rotate(self, identifier: str, overlap_hours: float, days: float | None) -> NewKey:
        """Make a key in the place of that with an id."""

    def revoke(self, identifier: str) -> NamedKey:
        """Make the key with an id worth nothing."""


@strawberry.type(description="What is administered: of the caller's tenant, of all where the home's own key asks.")
class Administration:
    """Each part is read when it is asked for."""

    service: strawberry.Private[AdminService]

    @strawberry.field(description="Named keys, latest first; `all` also those that have expired or were revoked.")
    async def keys(self, first: int = 200, all: bool = False) -> list[NamedKey]:
        """One page."""
        size = bounded(first, "first", low=1, high=MAX_PAGE)
        found = await asyncio.to_thread(self.service.keys)
        return [key for key in found if all or key.state is KeyState.VALID][:size]

    @strawberry.field(description="The roles that there are.")
    def roles(self) -> list[Role]:
        """As `headwater admin keys` has them."""
        return [Role(name=name, scopes=sorted(scopes)) for name, scopes in ROLES.items()]

    @strawberry.field(description="The tenants that are known, by name.")
    async def tenants(self) -> list[Tenant]:
        """Their own alone, for whoever administers one."""
        return list(await asyncio.to_thread(self.service.tenants))

    @strawberry.field(description="Who signs in at an issuer, and what is granted to whom.")
    async def people(self) -> People:
        """Read from people.toml, which its operator writes."""
        return await asyncio.to_thread(self.service.people)


def administration(context: Any) -> AdminService:
    """The service that administers.

    Raises:
        UnsupportedError: this is no service.
    """
    found: AdminService | None = context.administration
    if found is None:
        raise UnsupportedError("Keys are not administered here.", hint="Ask a running service, or use: headwater admin keys")
    return found
