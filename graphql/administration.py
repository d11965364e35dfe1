"""Keys, roles, tenants and grants in the schema.

For the page of an administrator. The service decides about the rights of a key. Only the mutation that makes a key shows its text.
"""

# mypy: disable-error-code="untyped-decorator"
# strawberry types what a resolver decorator returns as Any, so that the field may stand for its value.

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum

import strawberry

from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import ROLES
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.services import AdminService


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


@strawberry.type(description="What is administered: of the caller's tenant, of all where the home's own key asks.")
class Administration:
    """Each part is read when it is asked for."""

    service: strawberry.Private[AdminService]

    @strawberry.field(description="Named keys, latest first; `all` also those that have expired or were revoked.")
    async def keys(self, first: int = 200, all: bool = False) -> list[NamedKey]:
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
