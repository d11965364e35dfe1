"""The rights of a caller: scopes, each everywhere or in some namespaces, and roles as named sets of scopes.

`read` is a right everywhere. `read:s3://sales*` is a right in the namespaces that fit the pattern (`headwater.graph.access`), and
`viewer:s3://sales*` is a role there. All rights of one scope count together; a right everywhere includes the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from urllib.parse import quote, unquote

from headwater.errors import InvalidInputError
from headwater.graph.access.patterns import EVERY, Namespaces
from headwater.graph.access.scopes import ROLES, Scope

# Scopes that may be restricted. The others have no parts: replays run whole programs, the rest concerns the service or a tenant.
RESTRICTABLE = frozenset({Scope.READ, Scope.RECORDS, Scope.UNMASKED, Scope.EXPORT, Scope.DECLARE, Scope.INTAKE})
_KEPT = "!$&'()*+,/:;=?@[]~\\"  # what is kept as it is where rights are listed with spaces between them

NamespacesByScope = Mapping[Scope, Namespaces]
Refuse = Callable[[str, str], Exception]


@dataclass(frozen=True, slots=True)
class Rights:
    """The scopes of a caller. `within` has the namespaces of restricted scopes."""

    scopes: frozenset[Scope]
    within: NamespacesByScope = field(default_factory=dict, hash=False)

    def __or__(self, other: Rights) -> Rights:
        within: dict[Scope, Namespaces] = {}
        for scope in self.scopes | other.scopes:
            parts = [rights.within.get(scope) for rights in (self, other) if scope in rights.scopes]
            if None not in parts:
                within[scope] = Namespaces.of(pattern for part in parts if part is not None for pattern in part.patterns)
        return Rights(self.scopes | other.scopes, within)

    def texts(self) -> list[str]:
        """Return the rights in their written form, such as `read:s3://sales*`."""
        found = [scope.value for scope in self.scopes if scope not in self.within]
        found += [f"{scope}:{pattern}" for scope, namespaces in self.within.items() for pattern in namespaces.patterns]
        return sorted(found)

    def kept(self) -> str:
        """Return the rights in one text, separated by spaces. `kept_rights` is the inverse."""
        return " ".join(quote(text, safe=_KEPT) for text in self.texts())

    def settled(self) -> Rights:
        """Remove `unmasked` if it is given for fewer namespaces than records are. Masked columns of the other namespaces would be shown."""
        unmasked = self.within.get(Scope.UNMASKED)
        if unmasked is None:
            return self
        wider = [self.within[scope] for scope in (Scope.READ, Scope.RECORDS) if scope in self.within]
        within = dict(self.within)
        del within[Scope.UNMASKED]
        covers = any(set(other.patterns) <= set(unmasked.patterns) for other in wider)
        return Rights(self.scopes if covers else self.scopes - {Scope.UNMASKED}, within)


NOTHING = Rights(frozenset())


def rights_of(roles: Iterable[str], scopes: Iterable[str], refuse: Refuse) -> Rights:
    """Return the rights of roles and single scopes together. `refuse` makes the error for an unknown name in a field.

    Raises:
        InvalidInputError: a pattern is invalid, or restricts a scope that cannot be restricted.
    """
    stated = [_role(text, refuse) for text in roles] + [_scope(text, refuse) for text in scopes]
    return reduce(Rights.__or__, stated, NOTHING)


def kept_rights(text: str) -> Rights:
    """Return the rights in a stored text. Rights of a later version, and unreadable rights, are left out."""
    found = NOTHING
    for each in text.split():
        try:
            found |= _scope(unquote(each), _unknown)
        except (InvalidInputError, ValueError):
            continue
    return found


def _scope(text: str, refuse: Refuse) -> Rights:
    name, _, pattern = text.partition(":")
    if name not in set(Scope):
        raise refuse("scopes", name)
    return _within(frozenset({Scope(name)}), text, pattern)


def _role(text: str, refuse: Refuse) -> Rights:
    name, _, pattern = text.partition(":")
    if name not in ROLES:
        raise refuse("roles", name)
    return _within(ROLES[name], text, pattern)


def _within(scopes: Collection[Scope], text: str, pattern: str) -> Rights:
    granted = frozenset(scopes)
    if ":" not in text or pattern == EVERY:
        return Rights(granted)
    if whole := sorted(granted - RESTRICTABLE):
        raise InvalidInputError(
            f"{text[:80]!r} restricts {whole[0]}, which is of the whole tenant.", field="namespaces",
            hint=f"These may be restricted: {', '.join(sorted(RESTRICTABLE))}.",
        )  # fmt: skip
    namespaces = Namespaces.of([pattern])
    return Rights(granted, dict.fromkeys(granted, namespaces))


def _unknown(_: str, name: str) -> Exception:
    return ValueError(name)
