"""Rights of people who sign in at an OpenID Connect issuer. The operator writes the rules to `people.toml` of the home.

    issuer = "https://login.example.com"   # exactly as the issuer names itself
    client = "headwater"                   # the name of this service at the issuer
    secret_file = "oidc-secret"            # only if the issuer requires a secret (PKCE is always used)
    url = "https://headwater.example.com"  # of this service in browsers; by default, the requested address
    audiences = ["headwater"]              # of tokens that programs send; by default, the client
    scopes = ["openid", "profile", "email", "groups"]

    [[grant]]
    claim = "groups"                       # in the token, or in the issuer's user information
    value = "data-engineers"               # the claim itself, or a member of its list
    roles = ["engineer"]
    tenant = "default"

    [[grant]]
    claim = "groups"
    value = "sales"
    roles = ["analyst:s3://sales*"]        # a role in the namespaces that match a pattern only

    [[grant]]
    claim = ["realm_access", "roles"]      # a claim within a claim, such as the roles of a realm in Keycloak
    value = "auditor"
    roles = ["auditor"]

`signed_out` is the page to which the issuer redirects a browser after signing out. By default, the browser stays at the issuer's own page.
People have only the rights that rules grant. An e-mail address counts only if the issuer has verified it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headwater.backend.access.keys import is_tenant
from headwater.backend.home.settings import DEFAULT_TENANT
from headwater.errors import ConfigurationError, InvalidInputError
from headwater.graph.access.rights import NOTHING, NamespacesByScope, Rights, rights_of
from headwater.graph.access.scopes import ROLES, Scope

_KEYS = {"issuer", "client", "secret_file", "url", "audiences", "scopes", "grant", "signed_out"}
_GRANT_KEYS = {"claim", "value", "roles", "tenant"}
_SCOPES = ("openid", "profile", "email")
_NAMES = ("email", "preferred_username", "name")
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule that grants `scopes` in one tenant to every person whose `claim` equals or contains `value`."""

    claim: tuple[str, ...]
    value: str
    scopes: frozenset[Scope]
    tenant: str
    within: NamespacesByScope = field(default_factory=dict, hash=False)

    @property
    def rights(self) -> Rights:
        return Rights(self.scopes, self.within)

    def fits(self, claims: Mapping[str, Any]) -> bool:
        """Whether the rule applies to a person with these claims."""
        stated: Any = claims
        for name in self.claim:
            stated = stated.get(name) if isinstance(stated, Mapping) else None
        if self.claim == ("email",) and claims.get("email_verified") is not True:
            return False
        return self.value in stated if isinstance(stated, list) else isinstance(stated, str) and stated == self.value


@dataclass(frozen=True, slots=True)
class Person:
    """A signed-in person with granted rights. `name` is for logs: a readable name, and a digest of the subject."""

    name: str
    tenant: str
    scopes: frozenset[Scope]
    within: NamespacesByScope = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Rules:
    """The content of `people.toml`. `digest` covers the file and the secret. If either changes, sessions end."""

    issuer: str
    client: str
    audiences: tuple[str, ...]
    grants: tuple[Grant, ...]
    digest: str
    secret: str | None = None
    secret_file: Path | None = None
    url: str | None = None
    signed_out: str | None = None
    scopes: tuple[str, ...] = _SCOPES

    def person(self, claims: Mapping[str, Any]) -> Person | None:
        """Return the person with these claims, with the granted rights, or None if nothing is granted.

        Raises:
            ConfigurationError: the grants belong to several tenants.
        """
        found = [grant for grant in self.grants if grant.fits(claims)]
        tenants = sorted({grant.tenant for grant in found})
        if len(tenants) > 1:
            raise ConfigurationError(
                f"{name_of(claims)} has grants of several tenants: {', '.join(tenants)}.", hint="Let the rules of people.toml grant one."
            )
        if not found:
            return None
        try:
            rights = reduce(Rights.__or__, (grant.rights for grant in found), NOTHING).settled()
        except InvalidInputError as error:
            raise ConfigurationError(f"The grants of {name_of(claims)} cannot be taken together: {error.message}") from None
        return Person(name_of(claims), tenants[0], rights.scopes, rights.within)


def name_of(claims: Mapping[str, Any]) -> str:
    """Return a person's name for logs and messages. The name is unique, and contains no control characters."""
    subject = sha256(str(claims.get("sub", "")).encode("utf-8", "replace")).hexdigest()[:8]
    shown = next((claims[key] for key in _NAMES if isinstance(claims.get(key), str) and claims[key]), "somebody")
    plain = "".join(letter if letter.isprintable() and letter not in ":/ " else "_" for letter in shown[:_LONGEST_NAME])
    return f"person:{plain}:{subject}"


def read_rules(path: Path) -> Rules | None:
    """Read the rules of a file. Without a file, returns None, and nobody can sign in.

    Raises:
        ConfigurationError: the file is unreadable, or has invalid content.
    """
    try:
        content = path.read_bytes()
        stated = tomllib.loads(content.decode("utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.", hint="It says who may sign in.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is no TOML: {error}.", hint='It begins with issuer = "https://…".') from None
    if odd := sorted(stated.keys() - _KEYS):
        raise ConfigurationError(f"{path} states {odd[0]}.", hint=f"It may state {', '.join(sorted(_KEYS))}.")
    issuer = _url(stated.get("issuer"), f"issuer of {path}")
    client = _text(stated.get("client"), f"client of {path}")
    secret = _secret(path, stated["secret_file"]) if "secret_file" in stated else None
    grants = stated.get("grant", [])
    if not isinstance(grants, list):
        raise ConfigurationError(f"grant of {path} is no list of tables.", hint="Write [[grant]], then claim = …, value = ….")
    return Rules(
        issuer=issuer,
        client=client,
        audiences=_texts(stated.get("audiences", [client]), f"audiences of {path}"),
        grants=tuple(_grant(grant, f"{path}, grant {number}") for number, grant in enumerate(grants, start=1)),
        digest=sha256(content + b"\0" + (secret or "").encode()).hexdigest()[:16],
        secret=secret,
        secret_file=path.parent / str(stated["secret_file"]) if secret is not None else None,
        url=_url(stated["url"], f"url of {path}").rstrip("/") if "url" in stated else None,
        signed_out=_url(stated["signed_out"], f"signed_out of {path}") if "signed_out" in stated else None,
        scopes=tuple(dict.fromkeys(("openid", *_texts(stated.get("scopes", list(_SCOPES)), f"scopes of {path}")))),
    )


def is_trusted_address(url: str) -> bool:
    """Whether answers from an address can be trusted: TLS protects it, or it is on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in ("127.0.0.1", "localhost", "::1")))


def _grant(stated: object, where: str) -> Grant:
    if not isinstance(stated, dict):
        raise ConfigurationError(f"{where} is no table.", hint="Write [[grant]], then claim = …, value = …, roles = […].")
    if odd := sorted(stated.keys() - _GRANT_KEYS):
        raise ConfigurationError(f"{where} states {odd[0]}.", hint=f"It may state {', '.join(sorted(_GRANT_KEYS))}.")
    roles = _texts(stated.get("roles"), f"roles of {where}")
    try:
        rights = rights_of(
            roles, (), lambda _, name: ConfigurationError(f"{where} has the role {name}.", hint=f"There are {', '.join(ROLES)}.")
        )
    except InvalidInputError as error:
        raise ConfigurationError(f"roles of {where}: {error.message}", hint=error.hint) from None
    tenant = _text(stated.get("tenant", DEFAULT_TENANT), f"tenant of {where}")
    if not is_tenant(tenant):
        raise ConfigurationError(f"tenant of {where} is {tenant!r}.", hint="Use small letters, digits and -.")
    if Scope.OPERATE in rights.scopes and tenant != DEFAULT_TENANT:
        raise ConfigurationError(f"{where} lets people of the tenant {tenant} look after the whole service.", hint="Leave `operator` out.")
    claim = stated.get("claim")
    path = _texts(claim, f"claim of {where}") if isinstance(claim, list) else (_text(claim, f"claim of {where}"),)
    return Grant(path, _text(stated.get("value"), f"value of {where}"), rights.scopes, tenant, rights.within)


def _secret(path: Path, stated: Any) -> str:
    file = path.parent / _text(stated, f"secret_file of {path}")
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"secret_file of {path}, {file}, cannot be read: {error}.") from None


def _url(stated: Any, what: str) -> str:
    text = _text(stated, what)
    if not is_trusted_address(text):
        raise ConfigurationError(f"{what} is {text!r}.", hint="Write https://…; http:// is for this machine alone.")
    return text


def _texts(stated: Any, what: str) -> tuple[str, ...]:
    if not isinstance(stated, list) or not stated or not all(isinstance(one, str) and one for one in stated):
        raise ConfigurationError(f"{what} is no list of texts.", hint='Write it as ["engineer"].')
    return tuple(stated)


def _text(stated: Any, what: str) -> str:
    if not isinstance(stated, str) or not stated:
        raise ConfigurationError(f"{what} is no text.", hint="See docs/reference/service.md.")
    return stated
