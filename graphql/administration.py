"""Keys, roles, tenants and grants in the schema.

The service decides about the rights of a key. Only the mutation that makes a key shows its text.
"""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

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
    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@strawberry.type(description="A named key to the service, without its text. Times are ISO 8601 in UTC.")
class NamedKey:
    """A named key. `id` is the beginning of the key, which is also in the audit log."""

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
    """A new key. `secret` is the text that its holder sends."""

    key: NamedKey
    secret: str


@strawberry.type(description="A role: a named set of scopes.")
class Role:
    name: str
    scopes: list[str]


@strawberry.type(description="A tenant that has a key, a grant or data roots.")
class Tenant:
    """A tenant, with the numbers of its valid keys and of its grants to people."""

    name: str
    keys: int
    grants: int


@strawberry.type(description="What people may, of whom the issuer says that `claim` (a path) is, or holds, `value`. From people.toml.")
class PeopleGrant:
    claim: list[str]
    value: str
    tenant: str
    scopes: list[str]


@strawberry.type(description="Where people sign in, and what is granted to whom.")
class People:
    """The people who may sign in. `fault` is set if people.toml is invalid; then nobody can sign in."""

    issuer: str | None
    fault: str | None
    grants: list[PeopleGrant]


@dataclass(frozen=True, slots=True)
class KeyWanted:
    """A request for a new key. None means no limit for `days`, and the caller's own `tenant`."""

    name: str
    rights: Rights
    tenant: str | None
    days: float | None


@strawberry.type(description="What is administered: of the caller's tenant, of all where the home's own key asks.")
class Administration:
    service: strawberry.Private[AdminService]

    @strawberry.field(description="Named keys, latest first; `all` also those that have expired or were revoked.")
    async def keys(self, first: int = 200, all: bool = False) -> list[NamedKey]:
        size = bounded(first, "first", low=1, high=MAX_PAGE)
        found = await asyncio.to_thread(self.service.keys)
        return [key for key in found if all or key.state is KeyState.VALID][:size]

    @strawberry.field(description="The roles that there are.")
    def roles(self) -> list[Role]:
        return [Role(name=name, scopes=sorted(scopes)) for name, scopes in ROLES.items()]

    @strawberry.field(description="The tenants that are known, by name.")
    async def tenants(self) -> list[Tenant]:
        return list(await asyncio.to_thread(self.service.tenants))

    @strawberry.field(description="Who signs in at an issuer, and what is granted to whom.")
    async def people(self) -> People:
        return await asyncio.to_thread(self.service.people)
