"""Creates, finds and revokes named keys.

`headwater admin keys` writes keys, and the guard of the service looks one up for every request. The text of a key is shown once,
when it is created; the store has only its digest. A revoked or expired key is refused from the next request on (at another replica within
two seconds), and so are the page sessions that it opened. The home's own key is separate. It permits everything, so that owners are never
locked out of their home.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable, Collection
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.backend.access.keys.file import KeyFile
from headwater.backend.access.keys.model import Changes, KeyTable, NamedKey
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.errors import InvalidInputError, NotFoundError
from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import ROLES, Scope

if TYPE_CHECKING:
    from headwater.backend.home.quick_settings import HomeSettings

_MARK = "hwk"  # the prefix of every key, for scanners of leaked secrets
_SECRET_BYTES = 32
_USE_SECONDS = 60.0  # the resolution of the last use
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class KeyRing:
    """The keys of one home, or of all replicas of a service. Thread-safe; several processes may use one table."""

    def __init__(self, table: KeyTable | Path, *, clock: Callable[[], float] = time.time) -> None:
        """`table` is the store, or the path of a file."""
        self._table: KeyTable = KeyFile(table) if isinstance(table, Path) else table
        self._clock = clock

    def create(self, name: str, scopes: Collection[Scope] | Rights, *, tenant: str, expires: float | None = None) -> tuple[NamedKey, str]:
        """Create a key, and return it with its text, which cannot be recovered later. A plain collection of scopes applies everywhere.

        Raises:
            InvalidInputError: the name, the tenant, the scopes or the time is invalid, or a valid key has that name.
        """
        rights = scopes if isinstance(scopes, Rights) else Rights(frozenset(scopes))
        _check(name, tenant, rights, expires, self._clock())
        with self._table.changes() as changes:
            if any((key.name, key.tenant, key.state(self._clock())) == (name, tenant, "valid") for key in changes.all()):
                raise InvalidInputError(
                    f"There is a key {name!r} already.", field="name", hint=f"Exchange it: headwater admin keys rotate {name}"
                )
            return self._add(changes, name, rights, tenant, expires)

    def rotate(self, name: str, *, overlap: float, expires: float | None = None, tenant: str | None = None) -> tuple[NamedKey, str]:
        """Replace the valid key with that name or id by a new one. The old key stays valid for `overlap` seconds.

        Raises:
            NotFoundError: there is no valid key with that name (of the tenant, if given).
            InvalidInputError: the time is in the past, or several tenants have a key with that name.
        """
        now = self._clock()
        with self._table.changes() as changes:
            old = self._meant(changes, name, tenant)[-1]
            _check(old.name, old.tenant, old.rights, expires, now)
            changes.end(old.name, old.tenant, now + max(0.0, overlap))
            return self._add(changes, old.name, old.rights, old.tenant, expires)

    def revoke(self, name: str, *, tenant: str | None = None) -> int:
        """Revoke all keys with a name, or the key with an id. Returns the number of revoked keys.

        Raises:
            NotFoundError: there is no valid key (of the tenant, if given).
            InvalidInputError: several tenants have a key with that name.
        """
        with self._table.changes() as changes:
            meant = self._meant(changes, name, tenant)
            changes.revoke([key.id for key in meant], self._clock())
            return len(meant)

    def listed(self) -> list[NamedKey]:
        return self._table.all()

    def find(self, shown: str) -> NamedKey | None:
        """Return the valid key for a text, or None.

        Raises:
            UnavailableError: the keys cannot be read.
        """
        mark, _, rest = shown.partition("_")
        identifier, _, secret = rest.partition("_")
        if mark != _MARK or not secret:
            return None
        found = self.valid(identifier)
        if found is None or not hmac.compare_digest(_digest(shown), found.digest):
            return None
        now = self._clock()
        if found.used is None or now - found.used >= _USE_SECONDS:
            self._table.note_use(found.id, now)  # best effort: the key is accepted in any case
        return found

    def valid(self, identifier: str) -> NamedKey | None:
        found = self._table.one(identifier)
        return found if found is not None and found.state(self._clock()) == "valid" else None

    def close(self) -> None:
        self._table.close()

    def _add(self, changes: Changes, name: str, rights: Rights, tenant: str, expires: float | None) -> tuple[NamedKey, str]:
        identifier = secrets.token_hex(4)
        text = f"{_MARK}_{identifier}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        key = NamedKey(identifier, name, tenant, _digest(text), rights.scopes, self._clock(), expires, None, None, within=rights.within)
        changes.add(key)
        return key, text

    def _meant(self, changes: Changes, name: str, tenant: str | None) -> list[NamedKey]:
        """Return the valid keys of one tenant with a name or an id, latest last. The result is never empty."""
        now = self._clock()
        valid = [key for key in changes.all() if key.state(now) == "valid" and tenant in (None, key.tenant)]
        found = [key for key in valid if key.id == name] or [key for key in valid if key.name == name]
        if not found:
            raise NotFoundError(f"There is no valid key {name[:80]!r}.", hint="List them: headwater admin keys list")
        if len(tenants := {key.tenant for key in found}) > 1:
            raise InvalidInputError(
                f"The tenants {', '.join(sorted(tenants))} each have a key {name!r}.",
                field="tenant",
                hint="Name one, or give an id.",
            )
        return found


def ring_of(settings: HomeSettings) -> KeyRing:
    if settings.ingest_log is None:
        return KeyRing(settings.folder.named_keys)
    from headwater.backend.access.keys.shared import SharedKeys
    from headwater.backend.ingest.log.postgres.log import address_of
    from headwater.backend.ingest.log.postgres.migrations import migrate

    address = address_of(settings)
    migrate(address)
    return KeyRing(SharedKeys(address))


def _digest(text: str) -> bytes:
    """Return the digest of a key. A fast hash is sufficient, because a key has 256 random bits."""
    return sha256(text.encode("utf-8", "replace")).digest()


def is_tenant(name: str) -> bool:
    return _TENANT.fullmatch(name) is not None


def _check(name: str, tenant: str, rights: Rights, expires: float | None, now: float) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name[:80]!r} is no name for a key.", field="name", hint="Up to 64 letters, digits, dots, hyphens, @ and underscores."
        )
    if not is_tenant(tenant):
        raise InvalidInputError(
            f"{tenant[:80]!r} is no name of a tenant.", field="tenant", hint="Up to 63 small letters, digits and hyphens."
        )
    scopes = rights.scopes
    if Scope.OPERATE in scopes and tenant != DEFAULT_TENANT:
        raise InvalidInputError(
            f"A key of the tenant {tenant} would look after the whole service.", field="may", hint="Leave `operate` out."
        )
    if not scopes:
        raise InvalidInputError("The key may do nothing.", field="may", hint=f"Give a role: {', '.join(ROLES)}.")
    if Scope.READ in rights.within and (whole := sorted(scopes & {Scope.AUDIT, Scope.ADMIN})):
        raise InvalidInputError(
            f"A key that reads some namespaces alone would have {whole[0]}, which tells of all.", field="may",
            hint=f"Leave {whole[0]} out, or make another key for it.",
        )  # fmt: skip
    if expires is not None and expires <= now:
        raise InvalidInputError("The key would have expired already.", field="expires", hint="Give a time to come, as 90d.")
