"""The list of targets, `targets.toml` of the home.

[[webhook]]
name = "scheduler"
url = "https://scheduler.example.com/hooks/headwater"
secret_file = "scheduler-secret"     # requests are signed with its contents; relative to the home
private = true                       # the host may have an address of a private network

[[mail]]
name = "team"
host = "smtp.example.com"
from = "headwater@example.com"
to = ["data-team@example.com"]
security = "starttls"                # or "tls", or "none"
port = 587
user = "headwater"
password_file = "smtp-password"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from headwater.backend.targets.mail import MailTarget
from headwater.backend.targets.webhook import WebhookTarget
from headwater.errors import ConfigurationError, NotFoundError

T = TypeVar("T")
_WEBHOOK = {"name", "url", "secret_file", "private"}
_MAIL = {"name", "host", "port", "from", "to", "security", "user", "password_file", "private"}
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


@dataclass(frozen=True, slots=True)
class Targets:
    """The webhooks and the mail servers, by name."""

    webhooks: Mapping[str, WebhookTarget] = field(default_factory=dict)
    mails: Mapping[str, MailTarget] = field(default_factory=dict)

    def webhook(self, name: str) -> WebhookTarget:
        """Return a webhook.

        Raises:
            NotFoundError: the operator listed no webhook with this name.
        """
        return _named(name, self.webhooks, "webhook")

    def any(self, name: str) -> WebhookTarget | MailTarget:
        """Return a webhook or a mail server. Raises like `webhook`."""
        known: dict[str, WebhookTarget | MailTarget] = {**self.webhooks, **self.mails}
        return _named(name, known, "target")


def _named(name: str, known: Mapping[str, T], what: str) -> T:
    if name not in known:
        hint = f"There are {', '.join(sorted(known))}." if known else "The operator lists them in targets.toml of the home."
        raise NotFoundError(f"There is no {what} {name!r}.", hint=hint)
    return known[name]


def read_targets(path: Path) -> Targets:
    """Read `targets.toml`. A missing file means that there are no targets.

    Raises:
        ConfigurationError: the file, or a file with a secret, is invalid.
    """
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Targets()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", hint="Correct it; docs/guide/triggers.md shows one.") from error
    if extra := sorted(set(stated) - {"webhook", "mail"}):
        raise _odd(path, f"{extra[0]} is not a kind of target")
    webhooks = [_webhook(path, one) for one in _tables(path, stated, "webhook")]
    mails = [_mail(path, one) for one in _tables(path, stated, "mail")]
    names = [one.name for one in webhooks] + [one.name for one in mails]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise _odd(path, f"two targets are named {twice}")
    return Targets({one.name: one for one in webhooks}, {one.name: one for one in mails})


def _webhook(path: Path, stated: Mapping[str, Any]) -> WebhookTarget:
    _check_keys(path, stated, _WEBHOOK, ("name", "url", "secret_file"))
    url = str(stated["url"])
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        is_whole = is_whole and not parts.username and not parts.fragment
    except ValueError:
        is_whole = False
    if not is_whole or any(letter <= " " for letter in url):
        raise _odd(path, f"the url of {stated['name']} is not an http or https address without a user")
    return WebhookTarget(str(stated["name"]), url, _secret(path, str(stated["secret_file"])), is_private=stated.get("private") is True)


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
    password = _secret(path, str(stated["password_file"])).decode() if "password_file" in stated else None
    return MailTarget(
        str(stated["name"]), str(stated["host"]), port, security, str(stated["from"]), tuple(to), stated.get("user"), password,
        is_private=stated.get("private") is True,
    )  # fmt: skip


def _tables(path: Path, stated: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    tables = stated.get(kind, [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise _odd(path, f"{kind} is not a table: write [[{kind}]]")
    return tables


def _check_keys(path: Path, stated: Mapping[str, Any], known: set[str], needed: tuple[str, ...]) -> None:
    if missing := [name for name in needed if not stated.get(name)]:
        raise _odd(path, f"a target has no {missing[0]}")
    if extra := sorted(set(stated) - known):
        raise _odd(path, f"{stated['name']} has {extra[0]}, which no target has")


def _secret(path: Path, name: str) -> bytes:
    file = path.parent / name
    try:
        secret = file.read_bytes().strip()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}.", hint=f"{path.name} names it.") from error
    if len(secret) < 8:
        raise _odd(path, f"the secret in {name} has fewer than 8 bytes")
    return secret


def _odd(path: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(f"{path} cannot be used: {reason}.", hint="Correct it; docs/guide/triggers.md shows one.")
