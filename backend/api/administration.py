"""Keys, tenants and grants of one caller: of his tenant, or of all where the home's own key asks.

Whoever administers a tenant may give any right of it, to himself too: the scope `admin` stands for all of them. He learns nothing of other
tenants, not even that a name is taken there. What only the file system of the home gives (its own key, `people.toml`) stays there.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import strawberry

from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.keys import NamedKey as KeptKey
from headwater.backend.keys import ring_of
from headwater.backend.people.grants import Rules, read_rules
from headwater.backend.settings import DEFAULT_TENANT
from headwater.errors import ConfigurationError, NotFoundError
from headwater.graphql.access import Scope
from headwater.graphql.administration import KeyState, KeyWanted, NamedKey, NewKey, People, PeopleGrant, Tenant

_DAY = 86_400.0


class PermittedAdministration:
    """The `AdminService` of one caller."""

    def __init__(self, parts: Service, who: Principal, *, clock: Callable[[], float] = time.time) -> None:
        self._parts = parts
        self._who = who
        self._tenant = who.tenant if who.key else None  # None: all
        self._clock = clock
        self._ring = parts.credentials.named or ring_of(parts.settings)

    def keys(self) -> list[NamedKey]:
        """See `AdminService`."""
        return [self._shown(key) for key in reversed(self._own())]

    def tenants(self) -> list[Tenant]:
        """See `AdminService`."""
        now = self._clock()
        valid = Counter(key.tenant for key in self._own() if key.state(now) == "valid")
        rules = self._rules()
        granted = Counter(grant.tenant for grant in rules.grants) if isinstance(rules, Rules) else Counter[str]()
        known = {DEFAULT_TENANT, *valid, *granted, *self._parts.settings.tenant_roots} if self._tenant is None else {self._tenant}
        return [Tenant(name=name, keys=valid[name], grants=granted[name]) for name in sorted(known)]

    def people(self) -> People:
        """See `AdminService`."""
        rules = self._rules()
        if isinstance(rules, ConfigurationError):
            message = rules.message if self._tenant is None else "The rules for people cannot be used."  # the file names other tenants, too
            return People(issuer=None, fault=message, grants=[])
        if rules is None:
            return People(issuer=None, fault=None, grants=[])
        grants = [
            PeopleGrant(claim=list(grant.claim), value=grant.value, tenant=grant.tenant, scopes=grant.rights.texts())
            for grant in rules.grants
            if self._tenant in (None, grant.tenant)
        ]
        return People(issuer=rules.issuer, fault=None, grants=grants)

    def create(self, wanted: KeyWanted) -> NewKey:
        """See `AdminService`."""
        tenant = wanted.tenant or self._who.tenant
        if self._tenant not in (None, tenant):
            raise ForbiddenError(f"{self._who.name} administers the tenant {self._tenant} alone.", hint="Leave `tenant` out.")
        if Scope.OPERATE in wanted.rights.scopes and Scope.OPERATE not in self._who.scopes:
            raise ForbiddenError(
                f"{self._who.name} does not look after the service, and gives nobody the right to.", hint="Leave `operate` out."
            )
        return self._new(*self._ring.create(wanted.name, wanted.rights, tenant=tenant, expires=self._end(wanted.days)))

    def rotate(self, identifier: str, overlap_hours: float, days: float | None) -> NewKey:
        """See `AdminService`."""
        key = self._by_id(identifier)
        if Scope.OPERATE in key.scopes and Scope.OPERATE not in self._who.scopes:
            raise ForbiddenError(f"{self._who.name} does not look after the service, as this key does.", hint="Ask the owner of the home.")
        return self._new(*self._ring.rotate(identifier, overlap=overlap_hours * 3600, expires=self._end(days), tenant=key.tenant))

    def revoke(self, identifier: str) -> NamedKey:
        """See `AdminService`."""
        key = self._by_id(identifier)
        self._ring.revoke(identifier, tenant=key.tenant)
        return self._shown(self._by_id(identifier))

    def _own(self) -> list[KeptKey]:
        return [key for key in self._ring.listed() if self._tenant in (None, key.tenant)]

    def _by_id(self, identifier: str) -> KeptKey:
        found = next((key for key in self._own() if key.id == identifier), None)
        if found is None:
            raise NotFoundError(f"There is no key {identifier[:80]!r}.", hint="Ask for { admin { keys { id name } } }.")
        return found

    def _rules(self) -> Rules | ConfigurationError | None:
        try:
            return read_rules(self._parts.settings.folder.people)
        except ConfigurationError as error:
            return error

    def _end(self, days: float | None) -> float | None:
        return None if days is None else self._clock() + days * _DAY

    def _new(self, key: KeptKey, secret: str) -> NewKey:
        return NewKey(key=self._shown(key), secret=secret)

    def _shown(self, key: KeptKey) -> NamedKey:
        return NamedKey(
            id=strawberry.ID(key.id),
            name=key.name,
            tenant=key.tenant,
            scopes=key.rights.texts(),
            state=KeyState(key.state(self._clock())),
            created=_instant(key.created) or "",
            expires=_instant(key.expires),
            used=_instant(key.used),
        )


def _instant(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
