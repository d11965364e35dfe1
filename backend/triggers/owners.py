"""The owners of triggers. An action uses the rights that its trigger's owner has at the time of firing.

The owner of the home may do everything. A named key must still be valid, and have the scopes that the action needs. A person's rights
follow from the claims of a sign-in, which the service does not store. They therefore stay valid until `people.toml` changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.backend.access.keys import KeyRing
from headwater.backend.access.people.directory import People
from headwater.errors import ConfigurationError
from headwater.graph.access.rights import Rights, kept_rights
from headwater.graph.access.scopes import Scope

HOME: Mapping[str, Any] = {"kind": "home", "name": "home"}


def key_owner(identifier: str, name: str) -> dict[str, Any]:
    return {"kind": "key", "id": identifier, "name": name}


def person_owner(name: str, rights: Rights, digest: str) -> dict[str, Any]:
    """Return the description of a person as an owner. `digest` is the digest of the rules in `people.toml`."""
    return {"kind": "person", "name": name, "rights": rights.kept(), "rules": digest}


class Owners:
    """Looks up the present rights of owners."""

    def __init__(self, keys: KeyRing, people: People) -> None:
        self._keys = keys
        self._people = people

    def refusal(self, owner: Mapping[str, Any], tenant: str, needed: frozenset[Scope]) -> str | None:
        """Return the reason why an owner lacks some of the needed scopes now, or None if the owner has them.

        Raises:
            UnavailableError: the keys cannot be read.
        """
        if owner.get("kind") == "home":
            return None
        name = owner.get("name")
        if owner.get("kind") == "key":
            key = self._keys.valid(str(owner.get("id")))
            if key is None:
                return f"The key {name} is revoked or expired."
            if key.tenant != tenant:
                return f"The key {name} is of another tenant."
            rights = key.rights.settled()
        else:
            if not self._people.are_rules(str(owner.get("rules"))):
                return f"The rules for people changed since {name} owns the trigger."
            rights = kept_rights(str(owner.get("rights")))
        if lacking := sorted(needed - rights.scopes):
            return f"{name} may not {lacking[0]}."
        if partial := sorted(scope for scope in needed | {Scope.READ} if scope in rights.within):
            return f"{name} may {partial[0]} in some namespaces only."
        return None

    def close(self) -> None:
        self._keys.close()


def rules_digest(people: People) -> str:
    """Return the digest of the rules for people. The digest is empty if there are no rules."""
    try:
        rules = people.rules()
    except ConfigurationError:
        return ""
    return rules.digest if rules is not None else ""
