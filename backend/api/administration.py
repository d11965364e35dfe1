"""Administration of keys, tenants and grants for one caller. The home's own key sees all tenants, other callers see one.

An administrator of a tenant may grant any right in it, even to himself, because the scope `admin` includes all of them. Administrators
learn nothing about other tenants, not even whether a name is used there. The home's own key and `people.toml` can be changed only in the
file system.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headwater.backend.access.administration import Administered
from headwater.backend.access.keys import NamedKey as KeptKey
from headwater.backend.access.keys import ring_of
from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.errors import NotFoundError
from headwater.graph.access.scopes import Scope
from headwater.graphql.administration import KeyWanted, NamedKey, NewKey, People, Tenant

_DAY = 86_400.0


class PermittedAdministration:
    def __init__(self, parts: Service, who: Principal, *, on_secret: Callable[[], None], clock: Callable[[], float] = time.time) -> None:
        self._who = who
        self._on_secret = on_secret  # called when an answer will hold the text of a key
        self._tenant = who.tenant if who.key else None  # None: all tenants
        self._clock = clock
        self._ring = parts.credentials.named or ring_of(parts.settings)
        self._administered = Administered(parts.settings, self._ring, self._tenant, clock=clock)

    def keys(self) -> list[NamedKey]:
        return self._administered.keys()

    def tenants(self) -> Sequence[Tenant]:
        return self._administered.tenants()

    def people(self) -> People:
        return self._administered.people()

    def create(self, wanted: KeyWanted) -> NewKey:
        tenant = wanted.tenant or self._who.tenant
        if self._tenant not in (None, tenant):
            raise ForbiddenError(f"{self._who.name} administers the tenant {self._tenant} alone.", hint="Leave `tenant` out.")
        if Scope.OPERATE in wanted.rights.scopes and Scope.OPERATE not in self._who.scopes:
            raise ForbiddenError(
                f"{self._who.name} does not look after the service, and gives nobody the right to.", hint="Leave `operate` out."
            )
        return self._new(*self._ring.create(wanted.name, wanted.rights, tenant=tenant, expires=self._end(wanted.days)))

    def rotate(self, identifier: str, overlap_hours: float, days: float | None) -> NewKey:
        key = self._by_id(identifier)
        if Scope.OPERATE in key.scopes and Scope.OPERATE not in self._who.scopes:
            raise ForbiddenError(f"{self._who.name} does not look after the service, as this key does.", hint="Ask the owner of the home.")
        return self._new(*self._ring.rotate(identifier, overlap=overlap_hours * 3600, expires=self._end(days), tenant=key.tenant))

    def revoke(self, identifier: str) -> NamedKey:
        key = self._by_id(identifier)
        self._ring.revoke(identifier, tenant=key.tenant)
        return self._administered.shown(self._by_id(identifier))

    def _by_id(self, identifier: str) -> KeptKey:
        found = next((key for key in self._administered.kept_keys() if key.id == identifier), None)
        if found is None:
            raise NotFoundError(f"There is no key {identifier[:80]!r}.", hint="Ask for { admin { keys { id name } } }.")
        return found

    def _end(self, days: float | None) -> float | None:
        return None if days is None else self._clock() + days * _DAY

    def _new(self, key: KeptKey, secret: str) -> NewKey:
        self._on_secret()
        return NewKey(key=self._administered.shown(key), secret=secret)
