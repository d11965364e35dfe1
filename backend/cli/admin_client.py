"""The keys and the audit log for `headwater admin`: those of the home, or of the service in HEADWATER_URL.

The service is asked through GraphQL, with a key that has the scope `admin`. The service checks the rights of the caller for the tenant of
the key. Its audit log contains each key that is created or revoked.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from headwater.backend.access.keys import NamedKey, ring_of
from headwater.backend.audit.chain import Verified
from headwater.backend.audit.lines import Entry, MatchingEntries, Wanted
from headwater.backend.cli.output import note
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.quick_settings import settings_of
from headwater.errors import InvalidInputError, NotFoundError, UnsupportedError
from headwater.graph.access.rights import Rights, kept_rights

if TYPE_CHECKING:
    from headwater.backend.home.quick_settings import HomeSettings
    from headwater.transport import GraphQLClient

_KEY = "id name tenant scopes state created expires used"
_DAY, _HOUR = 86_400.0, 3_600.0
_MOST = 1_000  # limit of keys in an answer of the service


class Keys(Protocol):
    """Named keys of a home or a service.

    A `tenant` of None selects all tenants. A new key then belongs to the caller's tenant. Methods raise the same errors as those of
    `KeyRing`.
    """

    def create(self, name: str, rights: Rights, *, tenant: str | None, expires: float | None) -> tuple[NamedKey, str]: ...
    def rotate(self, name: str, *, overlap: float, expires: float | None, tenant: str | None) -> tuple[NamedKey, str]: ...
    def revoke(self, name: str, *, tenant: str | None) -> int: ...
    def listed(self) -> list[NamedKey]: ...


def service_named(home: Path | None) -> GraphQLClient | None:
    """Return the service in HEADWATER_URL, or None for a home."""
    url = os.environ.get("HEADWATER_URL")
    if not url or home is not None:
        return None
    from headwater.backend.cli.answers import shown_key
    from headwater.transport import GraphQLClient

    return GraphQLClient(url, shown_key())


def keys_of(home: Path | None, *, make: bool = False) -> Keys:
    """Return the keys of a home or a service. With `make`, a missing home is created."""
    if (service := service_named(home)) is not None:
        return ServiceKeys(service)
    settings = settings_of(home)
    if make:
        settings.folder.create()
    return HomeKeys(settings)


class HomeKeys:
    def __init__(self, settings: HomeSettings) -> None:
        self._ring = ring_of(settings)

    def create(self, name: str, rights: Rights, *, tenant: str | None, expires: float | None) -> tuple[NamedKey, str]:
        return self._ring.create(name, rights, tenant=tenant or DEFAULT_TENANT, expires=expires)

    def rotate(self, name: str, *, overlap: float, expires: float | None, tenant: str | None) -> tuple[NamedKey, str]:
        return self._ring.rotate(name, overlap=overlap, expires=expires, tenant=tenant)

    def revoke(self, name: str, *, tenant: str | None) -> int:
        return self._ring.revoke(name, tenant=tenant)

    def listed(self) -> list[NamedKey]:
        return self._ring.listed()


class ServiceKeys:
    """The keys that a service shows its caller."""

    def __init__(self, service: GraphQLClient) -> None:
        self._service = service

    def create(self, name: str, rights: Rights, *, tenant: str | None, expires: float | None) -> tuple[NamedKey, str]:
        document = (
            "mutation ($n: String!, $s: [String!], $t: String, $d: Float)"
            f" {{ createKey(name: $n, roles: [], scopes: $s, tenant: $t, days: $d) {{ secret key {{ {_KEY} }} }} }}"
        )
        made = self._service.execute(document, n=name, s=rights.texts(), t=tenant, d=_days(expires))["createKey"]
        return _named(made["key"]), made["secret"]

    def rotate(self, name: str, *, overlap: float, expires: float | None, tenant: str | None) -> tuple[NamedKey, str]:
        document = (
            f"mutation ($i: ID!, $o: Float!, $d: Float) {{ rotateKey(id: $i, overlapHours: $o, days: $d) {{ secret key {{ {_KEY} }} }} }}"
        )
        old = self._meant(name, tenant)[-1]
        made = self._service.execute(document, i=old.id, o=overlap / _HOUR, d=_days(expires))["rotateKey"]
        return _named(made["key"]), made["secret"]

    def revoke(self, name: str, *, tenant: str | None) -> int:
        meant = self._meant(name, tenant)
        for key in meant:
            self._service.execute("mutation ($i: ID!) { revokeKey(id: $i) { id } }", i=key.id)
        return len(meant)

    def listed(self) -> list[NamedKey]:
        found = self._told(ended=True)
        if len(found) >= _MOST:
            note(f"These are the latest {_MOST:,}; there may be further ones, which a service does not tell.", label="warning")
        return found

    def _told(self, *, ended: bool) -> list[NamedKey]:
        wanted = f"first: {_MOST}, all: {str(ended).lower()}"
        found = self._service.execute(f"{{ admin {{ keys({wanted}) {{ {_KEY} }} }} }}")["admin"]["keys"]
        return [_named(key) for key in reversed(found)]

    def _meant(self, name: str, tenant: str | None) -> list[NamedKey]:
        """Return the valid keys of one tenant with a name or an id, newest last. The result is never empty.

        Raises:
            UnsupportedError: more keys of that name may exist than the service lists.
        """
        told = self._told(ended=False)
        valid = [key for key in told if key.state(time.time()) == "valid" and tenant in (None, key.tenant)]
        if by_id := [key for key in valid if key.id == name]:
            return by_id
        if len(told) >= _MOST:
            raise UnsupportedError(
                f"The service tells of {_MOST:,} valid keys, and there may be older ones called {name[:80]!r}.",
                hint="Give the id of a key, or run it on the home of the service.",
            )
        found = [key for key in valid if key.name == name]
        if not found:
            raise NotFoundError(f"There is no valid key {name[:80]!r}.", hint="List them: headwater admin keys list")
        if len(tenants := {key.tenant for key in found}) > 1:
            raise InvalidInputError(
                f"The tenants {', '.join(sorted(tenants))} each have a key {name!r}.", field="tenant", hint="Name one, or give an id."
            )
        return found


def told_of(home: Path | None, part: str, fields: str) -> Any:
    """Return a field of the GraphQL type behind `admin`, for a home as for a service."""
    if (service := service_named(home)) is not None:
        return service.execute(f"{{ admin {{ {part} {{ {fields} }} }} }}")["admin"][part]
    from dataclasses import asdict

    from headwater.backend.access.administration import Administered

    settings = settings_of(home)
    found = getattr(Administered(settings, ring_of(settings)), part)()
    return [asdict(each) for each in found] if isinstance(found, list) else asdict(found)


class ServiceAudit:
    """The audit log that a service shows its caller."""

    def __init__(self, service: GraphQLClient) -> None:
        self._service = service

    def latest(self, wanted: Wanted, most: int, *, quickly: bool = False) -> MatchingEntries:
        del quickly
        document = (
            "query ($b: String, $d: String, $x: Decision, $s: String, $u: String, $n: Int!)"
            " { audit(by: $b, dataset: $d, decision: $x, since: $s, until: $u, last: $n)"
            " { entries { at who tenant operation subjects more records decision reason address request } damaged searchedBackTo } }"
        )
        decision = wanted.decision.upper() if wanted.decision else None
        asked = {"b": wanted.who, "d": wanted.dataset, "x": decision, "s": _text(wanted.since), "u": _text(wanted.until), "n": most}
        found = self._service.execute(document, **asked)["audit"]
        left_at = datetime.fromisoformat(found["searchedBackTo"]) if found["searchedBackTo"] else None
        return MatchingEntries(tuple(_entry(told) for told in reversed(found["entries"])), found["damaged"], left_at=left_at)

    def verify(self, *, head: str | None = None, quickly: bool = False) -> Verified:
        """Refuse the verification, because all lines can be verified on the home of the service only.

        Raises:
            UnsupportedError: always.
        """
        del head, quickly
        raise UnsupportedError(
            "All lines of an audit log are verified where they are kept.",
            hint="Run it on the home of the service. Its page, and `auditVerification` of GraphQL, verify the latest.",
        )

    def close(self) -> None:
        """Do nothing, because no file is open."""


def _entry(told: dict[str, Any]) -> Entry:
    names = {"operation": "what", "subjects": "on", "address": "from"}
    return {names.get(name, name): value for name, value in told.items() if value not in (None, []) and (name, value) != ("more", 0)}


def _named(told: dict[str, Any]) -> NamedKey:
    rights = kept_rights(" ".join(quote(scope, safe="") for scope in told["scopes"]))  # without scopes that only a later version knows
    created, expires, used = (_seconds(told[name]) for name in ("created", "expires", "used"))
    revoked = created if told["state"] == "REVOKED" else None
    return NamedKey(
        told["id"], told["name"], told["tenant"], b"", rights.scopes, created or 0.0, expires, revoked, used, within=rights.within
    )


def _days(expires: float | None) -> float | None:
    return None if expires is None else (expires - time.time()) / _DAY


def _seconds(instant: str | None) -> float | None:
    return None if instant is None else datetime.fromisoformat(instant).timestamp()


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.astimezone(UTC).isoformat()
