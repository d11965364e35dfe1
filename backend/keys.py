"""Named keys: who besides the owner of a home may ask its service, for what, and until when.

For `headwater keys`, which writes them, and the guard of the service, which looks one up for every request. A key is shown once, when it is
made; the file holds a digest of it. What is revoked or has expired opens nothing from the next request on, nor do the sessions of the page
that were opened with it. The home's own key is not among them: it opens everything, so that nobody is ever shut out of a home of his own.
"""

from __future__ import annotations

import hmac
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock

from headwater.backend.settings import DEFAULT_TENANT
from headwater.errors import InvalidInputError, NotFoundError, UnavailableError
from headwater.graphql.access import ROLES, Scope

_MARK = "hwk"  # what a key begins with, so that scanners of leaked secrets can find it
_SECRET_BYTES = 32
_USE_SECONDS = 60.0  # the last use is known to the minute
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS key (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, tenant TEXT NOT NULL, digest BLOB NOT NULL, scopes TEXT NOT NULL,
  created REAL NOT NULL, expires REAL, revoked REAL, used REAL
) STRICT
"""
_COLUMNS = "id, name, tenant, digest, scopes, created, expires, revoked, used"


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A key as the file has it. Times are seconds since 1970; `id` is its beginning, which may be shown."""

    id: str
    name: str
    tenant: str
    digest: bytes
    scopes: frozenset[Scope]
    created: float
    expires: float | None
    revoked: float | None
    used: float | None

    def state(self, now: float) -> str:
        """`valid`, `expired` or `revoked`."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "valid"


class KeyRing:
    """The keys of one home, in a file of their own. Thread-safe; several processes may use one file."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = Lock()
        self._open: sqlite3.Connection | None = None

    def create(self, name: str, scopes: Collection[Scope], *, tenant: str, expires: float | None = None) -> tuple[NamedKey, str]:
        """A new key, and its text, which nobody can find out again.

        Raises:
            InvalidInputError: the name, the tenant, the scopes or the time cannot be used, or there is a valid key of that name.
        """
        _check(name, tenant, scopes, expires, self._clock())
        with self._writing() as database:
            if any((key.name, key.tenant, key.state(self._clock())) == (name, tenant, "valid") for key in _all(database)):
                raise InvalidInputError(
                    f"There is a key {name!r} already.", field="name", hint=f"Exchange it: headwater keys rotate {name}"
                )
            return self._add(database, name, frozenset(scopes), tenant, expires)

    def rotate(self, name: str, *, overlap: float, expires: float | None = None, tenant: str | None = None) -> tuple[NamedKey, str]:
        """A new key in the place of the valid one of that name or id, which stays valid for `overlap` seconds more.

        Raises:
            NotFoundError: there is no valid key of that name, of the tenant if one is given.
            InvalidInputError: the time lies in the past, or several tenants have a key of that name.
        """
        now = self._clock()
        with self._writing() as database:
            old = self._meant(database, name, tenant)[-1]
            _check(old.name, old.tenant, old.scopes, expires, now)
            end = now + max(0.0, overlap)
            of_name = "UPDATE key SET expires = min(coalesce(expires, ?), ?) WHERE name = ? AND tenant = ? AND revoked IS NULL"
            database.execute(of_name, (end, end, old.name, old.tenant))
            return self._add(database, old.name, old.scopes, old.tenant, expires)

    def revoke(self, name: str, *, tenant: str | None = None) -> int:
        """Make all keys of a name, or the one that begins with an id, worth nothing from now on; how many there were.

        Raises:
            NotFoundError: there is none that is still worth something, of the tenant if one is given.
            InvalidInputError: several tenants have a key of that name.
        """
        with self._writing() as database:
            meant = self._meant(database, name, tenant)
            database.executemany("UPDATE key SET revoked = ? WHERE id = ?", [(self._clock(), key.id) for key in meant])
            return len(meant)

    def listed(self) -> list[NamedKey]:
        """All keys that there ever were, latest last."""
        if not self._path.exists():
            return []
        with self._reading() as database:
            return _all(database)

    def find(self, shown: str) -> NamedKey | None:
        """The valid key that a text is; None where it is none.

        Raises:
            UnavailableError: the file cannot be read.
        """
        mark, _, rest = shown.partition("_")
        identifier, _, secret = rest.partition("_")
        if mark != _MARK or not secret:
            return None
        found = self.valid(identifier)
        if found is None or not hmac.compare_digest(_digest(shown), found.digest):
            return None
        self._note_use(found)
        return found

    def valid(self, identifier: str) -> NamedKey | None:
        """The key with an id, if it is still worth something. Raises as `find` does."""
        if not self._path.exists():
            return None
        with self._reading() as database:
            row = database.execute(f"SELECT {_COLUMNS} FROM key WHERE id = ?", (identifier,)).fetchone()
        found = _key(row) if row else None
        return found if found is not None and found.state(self._clock()) == "valid" else None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def _add(
        self, database: sqlite3.Connection, name: str, scopes: frozenset[Scope], tenant: str, expires: float | None
    ) -> tuple[NamedKey, str]:
        identifier = secrets.token_hex(4)
        text = f"{_MARK}_{identifier}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        key = NamedKey(identifier, name, tenant, _digest(text), scopes, self._clock(), expires, None, None)
        stated = (key.id, key.name, key.tenant, key.digest, " ".join(sorted(scopes)), key.created, key.expires, None, None)
        database.execute(f"INSERT INTO key ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", stated)
        return key, text

    def _meant(self, database: sqlite3.Connection, name: str, tenant: str | None) -> list[NamedKey]:
        """The valid keys of one tenant that a name or an id stands for, latest last; there is one at least."""
        now = self._clock()
        valid = [key for key in _all(database) if key.state(now) == "valid" and tenant in (None, key.tenant)]
        found = [key for key in valid if key.id == name] or [key for key in valid if key.name == name]
        if not found:
            raise NotFoundError(f"There is no valid key {name[:80]!r}.", hint="List them: headwater keys list")
        if len(tenants := {key.tenant for key in found}) > 1:
            raise InvalidInputError(
                f"The tenants {', '.join(sorted(tenants))} each have a key {name!r}.",
                field="tenant",
                hint="Name one, or give an id.",
            )
        return found

    def _note_use(self, key: NamedKey) -> None:
        """Best effort: a key opens what it opens, whether or not the disk takes a note of it."""
        now = self._clock()
        if key.used is not None and now - key.used < _USE_SECONDS:
            return
        try:
            with self._reading() as database:
                database.execute("UPDATE key SET used = ? WHERE id = ?", (now, key.id))
        except UnavailableError:
            return

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._open is None:
                    self._open = _connect(self._path)
                yield self._open
            except sqlite3.Error as error:
                if self._open is not None:
                    self._open.close()
                    self._open = None
                raise _unreadable(self._path, error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction of its own, over a file that is made for its owner alone."""
        try:
            self._path.touch(mode=0o600)
            self._path.chmod(0o600)
            with closing(_connect(self._path)) as database:
                database.execute(_SCHEMA)
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise _unreadable(self._path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=2, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    return database


def _unreadable(path: Path, error: Exception) -> UnavailableError:
    return UnavailableError(
        f"The file of named keys {path} cannot be used: {error}.",
        hint="The home's own key (file `key`) works without it; restore a backup.",
    )


def _all(database: sqlite3.Connection) -> list[NamedKey]:
    return [_key(row) for row in database.execute(f"SELECT {_COLUMNS} FROM key ORDER BY rowid")]


def _key(row: tuple[str, str, str, bytes, str, float, float | None, float | None, float | None]) -> NamedKey:
    identifier, name, tenant, digest, scopes, *times = row
    known = frozenset(Scope(scope) for scope in scopes.split() if scope in set(Scope))  # a later version may have more
    return NamedKey(identifier, name, tenant, digest, known, *times)  # type: ignore[arg-type]  # four times


def _digest(text: str) -> bytes:
    """A key has 256 random bits, so that nothing slower than a digest is needed against guessing."""
    return sha256(text.encode("utf-8", "replace")).digest()


def is_tenant(name: str) -> bool:
    """Whether a text is a name that a tenant may have."""
    return _TENANT.fullmatch(name) is not None


def _check(name: str, tenant: str, scopes: Collection[Scope], expires: float | None, now: float) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name[:80]!r} is no name for a key.", field="name", hint="Up to 64 letters, digits, dots, hyphens, @ and underscores."
        )
    if not is_tenant(tenant):
        raise InvalidInputError(
            f"{tenant[:80]!r} is no name of a tenant.", field="tenant", hint="Up to 63 small letters, digits and hyphens."
        )
    if Scope.OPERATE in scopes and tenant != DEFAULT_TENANT:
        raise InvalidInputError(
            f"A key of the tenant {tenant} would look after the whole service.", field="may", hint="Leave `operate` out."
        )
    if not scopes:
        raise InvalidInputError("The key may do nothing.", field="may", hint=f"Give a role: {', '.join(ROLES)}.")
    if expires is not None and expires <= now:
        raise InvalidInputError("The key would have expired already.", field="expires", hint="Give a time to come, as 90d.")
