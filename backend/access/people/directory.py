"""The people who may sign in to a service: the rules in `people.toml`, which are read again after each change, and their issuer."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from headwater.backend.access.people.grants import Rules, read_rules
from headwater.errors import ConfigurationError

if TYPE_CHECKING:
    from headwater.backend.access.people.issuer import Issuer

_log = logging.getLogger("headwater.people")


def is_token(shown: str) -> bool:
    """Whether a credential looks like a signed token (JWS, RFC 7515). No named key does."""
    return shown.startswith("eyJ") and shown.count(".") == 2


class People:
    """The rules and the issuer of a home. If the file is invalid, every sign-in is refused. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._seen: list[tuple[int, int, int] | None] = []
        self._rules: Rules | None = None
        self._issuer: Issuer | None = None
        self._fault: ConfigurationError | None = None

    def are_known(self) -> bool:
        """Whether there are valid rules. Never raises."""
        try:
            return self.rules() is not None
        except ConfigurationError:
            return False

    def are_rules(self, digest: str) -> bool:
        """Whether the current rules have this digest. Never raises."""
        try:
            rules = self.rules()
        except ConfigurationError:
            return False
        return rules is not None and rules.digest == digest

    def rules(self) -> Rules | None:
        """Return the current rules, or None if there is no file.

        Raises:
            ConfigurationError: the rules are invalid.
        """
        with self._lock:
            if self._look() != self._seen:
                before = _state(self._path)
                self._read()
                self._seen = [before, *self._look()[1:]]
            if self._fault is not None:
                raise self._fault
            return self._rules

    def issuer(self) -> Issuer | None:
        """Return the issuer where people sign in, or None.

        Raises:
            ConfigurationError: the rules are invalid, or a package is missing.
        """
        if self.rules() is None:
            return None
        return self._issuer

    def _look(self) -> list[tuple[int, int, int] | None]:
        secret = self._rules.secret_file if self._rules is not None else None
        return [_state(path) for path in (self._path, secret) if path is not None]

    def _read(self) -> None:
        self._rules = self._issuer = self._fault = None
        try:
            self._rules = read_rules(self._path)
            if self._rules is not None:
                self._issuer = _issuer(self._rules)
        except ConfigurationError as error:
            self._rules, self._fault = None, error
            _log.error("nobody can sign in until this is mended: %s", error)


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _issuer(rules: Rules) -> Issuer:
    from headwater.backend.access.people.issuer import Issuer

    try:
        import httpx  # noqa: F401 - so that its absence is said before anybody signs in
        import jwt  # noqa: F401 - likewise
    except ImportError as error:
        raise ConfigurationError(
            f"people.toml names an issuer, and {error.name} is not installed.", hint='pip install "headwater[oidc]"'
        ) from None
    return Issuer(rules)
