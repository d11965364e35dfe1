"""The list of targets, `targets.toml` of the home.

[[webhook]]
name = "scheduler"
url = "https://scheduler.example.com/hooks/headwater"
secret_file = "scheduler-secret"     # requests are signed with its contents; relative to the home
private = true                       # the host may have an address of a private network
retry_hours = 24                     # how long a delivery is repeated while the receiver does not answer

[[mail]]
name = "team"
host = "smtp.example.com"
from = "headwater@example.com"
to = ["data-team@example.com"]
security = "starttls"                # or "tls", or "none"
port = 587
user = "headwater"
password_file = "smtp-password"

[[timestamp]]
name = "authority"
url = "https://timestamp.example.com"   # http only to this machine
certificate_file = "authority.pem"      # of the authority, or of one that issued it; relative to the home

A target that is invalid disables only itself.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from headwater.backend.targets.mail import MailTarget
from headwater.backend.targets.timestamp import TimestampTarget
from headwater.backend.targets.webhook import WebhookTarget
from headwater.errors import ConfigurationError, NotFoundError
from headwater.graph.storage.open_files import read_small_file

T = TypeVar("T")
RETRY_HOURS = 24
_WEBHOOK = {"name", "url", "secret_file", "private", "retry_hours"}
_MAIL = {"name", "host", "port", "from", "to", "security", "user", "password_file", "private", "retry_hours"}
_TIMESTAMP = {"name", "url", "certificate_file", "private"}
_KINDS = ("webhook", "mail", "timestamp")
_MOST_BYTES = 1024 * 1024
_MOST_HOURS = 30 * 24
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


@dataclass(frozen=True, slots=True)
class Targets:
    """The webhooks, mail servers and time-stamp authorities, by name. `faults` has the reason why a target cannot be used, by name."""

    webhooks: Mapping[str, WebhookTarget] = field(default_factory=dict)
    mails: Mapping[str, MailTarget] = field(default_factory=dict)
    timestamps: Mapping[str, TimestampTarget] = field(default_factory=dict)
    faults: Mapping[str, ConfigurationError] = field(default_factory=dict)

    def webhook(self, name: str) -> WebhookTarget:
        """Return a webhook.

        Raises:
            NotFoundError: the operator listed no webhook with this name.
            ConfigurationError: the operator's description of the webhook is invalid.
        """
        return self._named(name, self.webhooks, "webhook")

    def timestamp(self, name: str) -> TimestampTarget:
        """Return a time-stamp authority. Raises like `webhook`."""
        return self._named(name, self.timestamps, "time-stamp authority")

    def any(self, name: str) -> WebhookTarget | MailTarget:
        """Return a webhook or a mail server. Raises like `webhook`."""
        known: dict[str, WebhookTarget | MailTarget] = {**self.webhooks, **self.mails}
        return self._named(name, known, "target")

    def _named(self, name: str, known: Mapping[str, T], what: str) -> T:
        if name in self.faults:
            raise self.faults[name]
        if name not in known:
            hint = f"There are {', '.join(sorted(known))}." if known else "The operator lists them in targets.toml of the home."
            raise NotFoundError(f"There is no {what} {name!r}.", hint=hint)
        return known[name]


def read_targets(path: Path) -> Targets:
    """Read `targets.toml`, and check all targets. A missing file means that there are no targets.

    Raises:
        ConfigurationError: the file, a target, or a file with a secret is invalid.
    """
    targets = read_usable_targets(path)
    for fault in targets.faults.values():
        raise fault
    return targets


def read_usable_targets(path: Path) -> Targets:
    """Read `targets.toml`. A target that is invalid is in `faults`, and the others can be used.

    Raises:
        ConfigurationError: the file is not a list of targets.
    """
    try:
        stated = tomllib.loads(read_small_file(path, _MOST_BYTES).decode("utf-8"))
    except FileNotFoundError:
        return Targets()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", hint="Correct it; docs/guide/triggers.md shows one.") from error
    if extra := sorted(set(stated) - {*_KINDS}):
        raise _odd(path, f"{extra[0]} is not a kind of target")
    faults: dict[str, ConfigurationError] = {}
    webhooks = _read_each(path, stated, "webhook", _webhook, faults)
    mails = _read_each(path, stated, "mail", _mail, faults)
    timestamps = _read_each(path, stated, "timestamp", _timestamp, faults)
    counts = Counter(str(one.get("name")) for kind in _KINDS for one in _tables(path, stated, kind))
    for name in (name for name, count in counts.items() if count > 1):
        faults[name] = _odd(path, f"two targets are named {name}")
        for known in (webhooks, mails, timestamps):
            known.pop(name, None)
    return Targets(webhooks, mails, timestamps, faults)


def _read_each(
    path: Path, stated: Mapping[str, Any], kind: str, read: Callable[[Path, Mapping[str, Any]], T], faults: dict[str, ConfigurationError]
) -> dict[str, T]:
    found: dict[str, T] = {}
    for number, table in enumerate(_tables(path, stated, kind), start=1):
        name = str(table.get("name") or f"{kind} number {number}")
        try:
            found[name] = read(path, table)
        except ConfigurationError as error:
            faults[name] = error
    return found


def _webhook(path: Path, stated: Mapping[str, Any]) -> WebhookTarget:
    _check_keys(path, stated, _WEBHOOK, ("name", "url", "secret_file"))
    return WebhookTarget(
        str(stated["name"]), _url(path, stated), _secret(path, str(stated["secret_file"])), is_private=stated.get("private") is True,
        retry_seconds=_retry_seconds(path, stated),
    )  # fmt: skip


def _timestamp(path: Path, stated: Mapping[str, Any]) -> TimestampTarget:
    _check_keys(path, stated, _TIMESTAMP, ("name", "url", "certificate_file"))
    url, file = _url(path, stated), path.parent / str(stated["certificate_file"])
    is_here = _is_loopback(urlsplit(url).hostname or "")
    if urlsplit(url).scheme != "https" and not is_here:
        raise _odd(path, f"the url of {stated['name']} is not https. Only an authority on this machine may have another one")
    try:
        certificate = read_small_file(file, _MOST_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}.", hint=f"{path.name} names it.") from error
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        raise _odd(path, f"{file.name} is no certificate in PEM form")
    return TimestampTarget(str(stated["name"]), url, certificate, is_private=is_here or stated.get("private") is True)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _url(path: Path, stated: Mapping[str, Any]) -> str:
    url = str(stated["url"])
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        is_whole = is_whole and not parts.username and not parts.fragment
    except ValueError:
        is_whole = False
    if not is_whole or any(letter <= " " for letter in url):
        raise _odd(path, f"the url of {stated['name']} is not an http or https address without a user")
    return url


def _mail(path: Path, stated: Mapping[str, Any]) -> MailTarget:
    _check_keys(path, stated, _MAIL, ("name", "host", "from", "to"))
    security, to = stated.get("security", "starttls"), stated["to"]
    if security not in _PORTS:
        raise _odd(path, f"security of {stated['name']} is {security!r}, not {', '.join(_PORTS)}")
    if not isinstance(to, list) or not to or not all(isinstance(one, str) and "@" in one and one.isprintable() for one in to):
        raise _odd(path, f"to of {stated['name']} is not a list of addresses")
    port = stated.get("port", _PORTS[security])
    if not isinstance(port, int) or not 0 < port < 65536:
        raise _odd(path, f"port of {stated['name']} is {port!r}")
    password = _text(path, str(stated["password_file"])) if "password_file" in stated else None
    return MailTarget(
        str(stated["name"]), str(stated["host"]), port, security, str(stated["from"]), tuple(to), stated.get("user"), password,
        is_private=stated.get("private") is True, retry_seconds=_retry_seconds(path, stated),
    )  # fmt: skip


def _retry_seconds(path: Path, stated: Mapping[str, Any]) -> float:
    hours = stated.get("retry_hours", RETRY_HOURS)
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours <= _MOST_HOURS:
        raise _odd(path, f"retry_hours of {stated['name']} is {hours!r}, not a number from 0 to {_MOST_HOURS}")
    return hours * 3600.0


def _tables(path: Path, stated: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    tables = stated.get(kind, [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise _odd(path, f"{kind} is not a table: write [[{kind}]]")
    return tables


def _check_keys(path: Path, stated: Mapping[str, Any], known: set[str], needed: tuple[str, ...]) -> None:
    if missing := [name for name in needed if not stated.get(name)]:
        raise _odd(path, f"the target {stated.get('name') or 'without a name'} has no {missing[0]}")
    if extra := sorted(set(stated) - known):
        raise _odd(path, f"{stated['name']} has {extra[0]}, which no target has")


def _secret(path: Path, name: str) -> bytes:
    file = path.parent / name
    try:
        secret = read_small_file(file, _MOST_BYTES).strip()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}.", hint=f"{path.name} names it.") from error
    if len(secret) < 8:
        raise _odd(path, f"the secret in {name} has fewer than 8 bytes")
    return secret


def _text(path: Path, name: str) -> str:
    try:
        return _secret(path, name).decode("utf-8")
    except UnicodeDecodeError:
        raise _odd(path, f"the text in {name} is not UTF-8") from None


def _odd(path: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(f"{path} cannot be used: {reason}.", hint="Correct it; docs/guide/triggers.md shows one.")
