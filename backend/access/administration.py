"""Administration of the keys, tenants and grants of a home, for one tenant or for all. GraphQL and the command line use it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import strawberry

from headwater.backend.access.people.grants import Rules, read_rules
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.errors import ConfigurationError
from headwater.graphql.administration import KeyState, NamedKey, People, PeopleGrant, Tenant

if TYPE_CHECKING:
    from headwater.backend.access.keys import KeyRing
    from headwater.backend.access.keys import NamedKey as KeptKey
    from headwater.backend.home.quick_settings import HomeSettings


class Administered:
    """The keys, tenants and grants of a home. A `tenant` of None means all tenants."""

    def __init__(self, settings: HomeSettings, ring: KeyRing, tenant: str | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._ring = ring
        self._tenant = tenant
        self._clock = clock

    def kept_keys(self) -> list[KeptKey]:
        """Return all keys ever created, latest last."""
        return [key for key in self._ring.listed() if self._tenant in (None, key.tenant)]

    def keys(self) -> list[NamedKey]:
        """Return the keys as GraphQL objects, latest first."""
        return [self.shown(key) for key in reversed(self.kept_keys())]

    def tenants(self) -> Sequence[Tenant]:
        now = self._clock()
        valid = Counter(key.tenant for key in self.kept_keys() if key.state(now) == "valid")
        rules = self._rules()
        granted = Counter(grant.tenant for grant in rules.grants) if isinstance(rules, Rules) else Counter[str]()
        known = {DEFAULT_TENANT, *valid, *granted, *self._settings.tenant_roots} if self._tenant is None else {self._tenant}
        return [Tenant(name=name, keys=valid[name], grants=granted[name]) for name in sorted(known)]

    def people(self) -> People:
        """Return the grants of the tenant.

        A fault in people.toml is part of the answer, and is not raised. Only administrators of all tenants see its full text.
        """
        rules = self._rules()
        if isinstance(rules, ConfigurationError):
            message = rules.message if self._tenant is None else "The rules for people cannot be used."  # it may name other tenants
            return People(issuer=None, fault=message, grants=[])
        if rules is None:
            return People(issuer=None, fault=None, grants=[])
        grants = [
            PeopleGrant(claim=list(grant.claim), value=grant.value, tenant=grant.tenant, scopes=grant.rights.texts())
            for grant in rules.grants
            if self._tenant in (None, grant.tenant)
        ]
        return People(issuer=rules.issuer, fault=None, grants=grants)

    def shown(self, key: KeptKey) -> NamedKey:
        """Return a key as a GraphQL object."""
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

    def _rules(self) -> Rules | ConfigurationError | None:
        try:
            return read_rules(self._settings.folder.people)
        except ConfigurationError as error:
            return error


def _instant(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
