"""Identifies callers and their rights. Programs send a key or a token. The page has a cookie, from a ticket or a sign-in.

The guard uses this module for every request. The home's key may do everything. A named key has its own rights, and a person of an OpenID
Connect issuer has the rights that `people.toml` grants. A key must never reach a browser: `headwater serve` prints a link with a ticket
that works once. The ticket becomes a signed cookie, which no script can read and no other site can send. The cookie becomes invalid with
the key, or when its holder signs out. A session may read. It may declare, start replays or administer only if its link was made for that,
and only if the request has the session's token, which no other page can learn. The tenant comes from the credential and nowhere else.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any

from headwater.backend.access.keys import KeyRing, NamedKey
from headwater.backend.access.people.directory import People, is_token
from headwater.backend.access.people.ended_sessions import EndedSessions
from headwater.backend.access.people.grants import Person, Rules, name_of
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.api.tickets import OwnTickets, Ticket, Tickets
from headwater.errors import ConfigurationError, NotFoundError, UnavailableError
from headwater.graph.access.rights import NamespacesByScope, Rights, kept_rights
from headwater.graph.access.scopes import NOT_OPEN, Scope

if TYPE_CHECKING:
    from headwater.backend.access.people.issuer import Issuer

_TOKEN = "x-headwater-token"  # noqa: S105 - the name of a header
READING = frozenset({Scope.READ, Scope.RECORDS, Scope.UNMASKED, Scope.EXPORT})
WRITING = READING | {Scope.DECLARE, Scope.REPLAY}
ADMINISTERING = READING | {Scope.AUDIT, Scope.ADMIN}
SESSION_SCOPES = WRITING | ADMINISTERING
_UNCONFIRMED = READING | {Scope.AUDIT}  # scopes that change nothing
_KEY_SCOPES = frozenset(Scope)
_TELLING = frozenset(Scope) - {Scope.INTAKE}  # the answers or refusals of these scopes depend on the graph
_MOST_RIGHTS = 2_000  # limit of characters for rights in a cookie
_PERSON = "@"  # no id of a key begins with this character
_TICKET_SECONDS = 24 * 3600
_SESSION_SECONDS = 7 * 24 * 3600
_PERSON_SECONDS = 8 * 3600  # until a person must sign in again
_SIGN_IN_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller. `tenant` owns everything that the caller sees and writes. `method` is `key` or `session`.

    `name` identifies the caller in logs and reveals no secret. `key` is the id of the named key that was used, directly or to open the
    session; it is empty for the home's key, and `@…` for a person. `holder` is the same for all sessions of one key or person, which share
    a turn among all callers. `within` has the namespaces of restricted scopes. `token` is the value that a session must send to change
    anything; `confirmed` is true if this request has it.
    """

    tenant: str
    method: str
    name: str
    scopes: frozenset[Scope] = _KEY_SCOPES
    key: str = ""
    token: str | None = None
    confirmed: bool = True
    holder: str = "home"
    within: NamespacesByScope = field(default_factory=dict, hash=False)

    @property
    def is_person(self) -> bool:
        """Whether the caller is a person of an issuer, by a token or a session."""
        return self.key.startswith(_PERSON)

    def is_restricted(self, scope: Scope) -> bool:
        """Whether the caller has the scope, or `read`, in some namespaces only."""
        return scope in self.within or (scope in _TELLING and Scope.READ in self.within)

    def require_whole(self, scope: Scope) -> None:
        """Check that the caller has a scope everywhere, for operations that cannot be restricted to namespaces.

        Raises:
            ForbiddenError: the caller has the scope in some namespaces only.
        """
        if self.is_restricted(scope):
            raise ForbiddenError(NOT_OPEN, hint="Ask who runs the service for a key that may do this everywhere.")

    def require(self, scope: Scope) -> None:
        """Check that the caller has a scope.

        Raises:
            ForbiddenError: the key or the session lacks it, or the request does not come from the page itself.
        """
        if scope not in SESSION_SCOPES and self.method != "key":
            raise ForbiddenError(f"This needs the service's key ({scope}); a session of the page will not do.", hint=_SEND_KEY)
        if scope not in self.scopes:
            may = f"{' and '.join(sorted(self.scopes)) or 'nothing'}, not {scope}"
            if self.key:
                raise ForbiddenError(f"{self.name} may {may}.", hint="Ask who runs the service for a key that may: headwater admin keys.")
            raise ForbiddenError(
                f"This session of the page may {may}.",
                hint="Send the service's key, or open the page by the link of: headwater serve --write-link (or --admin-link)",
            )
        if scope not in _UNCONFIRMED and not self.confirmed:
            raise ForbiddenError(
                "A request of a session that changes something must show that it comes from the page.",
                hint="Send the token of GET /api/v1/session in the header X-Headwater-Token.",
            )


_SEND_KEY = "Send it as `Authorization: Bearer KEY`; the home folder's file `key` holds it."


class Credentials:
    """Checks keys and sessions of one service, and issues tickets. Thread-safe."""

    def __init__(
        self, key: str, *, tenant: str, named: KeyRing | None = None, people: People | None = None, ended: EndedSessions | None = None,
        tickets: Tickets | None = None, clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        """`key` is the home's key, which belongs to `tenant`. `named` are the other keys. `people` sign in at an issuer.

        `ended` contains the ended sessions. Without `tickets`, a new store of tickets is made.
        """
        self._key = key.encode("utf-8")
        self._digest = sha256(self._key).digest()
        self.named = named
        self._people = people
        self._ended = ended
        self._tenant = tenant
        self._clock = clock
        self._tickets = tickets or OwnTickets()
        # All ports of a host share cookies. Services of two homes must not read each other's.
        self.cookie = f"headwater_{self._sign('cookie', '')[:8]}"
        self._holder = Principal(tenant, "key", f"key:{self._sign('name', '')[:12]}")

    async def identify(self, headers: Mapping[str, str]) -> Principal | None:
        """Return the caller like `principal`. If the caller shows a token, its issuer may be asked for its public keys first.

        Raises:
            TokenError: the token is invalid.
            ForbiddenError: the token is valid, and its person has no rights.
            UnavailableError: the issuer does not answer, or the rules for people or the named keys cannot be read.
        """
        shown = _shown_key(headers) or ""
        if is_token(shown) and (issuer := self._issuer()) is not None:
            if issuer.wants_keys(shown):
                await asyncio.to_thread(issuer.learn)
            return _of_person(issuer, shown)
        return self.principal(headers)

    def known(self, headers: Mapping[str, str]) -> Principal | None:
        """Return the caller like `identify`, but without asking an issuer. None also means that an issuer must be asked.

        Raises:
            TokenError, ForbiddenError, UnavailableError: see `identify`.
        """
        shown = _shown_key(headers) or ""
        if is_token(shown) and (issuer := self._issuer()) is not None:
            return None if issuer.wants_keys(shown) else _of_person(issuer, shown)
        return self.principal(headers)

    def principal(self, headers: Mapping[str, str]) -> Principal | None:
        """Return the caller by `Authorization: Bearer`, `X-Api-Key` or the cookie, or None without a valid credential.

        Raises:
            UnavailableError: the named keys, or the ended sessions, cannot be read.
        """
        shown = _shown_key(headers)
        if shown is not None:
            if self.is_key(shown):
                return self._holder
            found = self.named.find(shown) if self.named is not None else None
            return _of_key(found) if found is not None else None
        session = _cookie(headers.get("cookie", ""), self.cookie)
        return self._session(session, headers.get(_TOKEN, "")) if session else None

    def people_sign_in(self) -> bool:
        """Whether people may sign in at an issuer. Never raises."""
        return self._people is not None and self._people.are_known()

    def issuer(self) -> Issuer:
        """Return the issuer at which people sign in.

        Raises:
            NotFoundError: no issuer is configured.
            UnavailableError: the rules for people cannot be read.
        """
        found = self._issuer()
        if found is None:
            raise NotFoundError(
                "Nobody signs in here: this service knows keys alone.", hint="Its page opens by the link of: headwater serve"
            )
        return found

    def _issuer(self) -> Issuer | None:
        try:
            return self._people.issuer() if self._people is not None else None
        except ConfigurationError:  # unknown callers must not see faults in the operator's file
            raise UnavailableError("Nobody can sign in: the rules for people cannot be used.", hint="The service's log says why.") from None

    def ticket(self, scopes: Collection[Scope] = READING, *, of: Principal | None = None) -> str:
        """Issue a ticket for the page's link. It works once, within a day. Its session may read, and has the other requested scopes.

        `of` is the session's principal, by default the home's owner. The principal must have these scopes.
        """
        owner = of or self._holder
        now = self._clock()
        return self._tickets.add(Ticket(now + _TICKET_SECONDS, SESSION_SCOPES & READING.union(scopes) & owner.scopes, owner.key), now=now)

    def redeem(self, ticket: str, *, secure: bool = False) -> str | None:
        """Return the `Set-Cookie` value for a ticket, or None if the ticket is unknown, used or too old.

        With `secure`, browsers send the cookie over TLS only.
        """
        bought = self._tickets.take(ticket)
        if bought is None or bought.ends <= self._clock():
            return None
        return self._cookie_of(bought.scopes, bought.owner, _SESSION_SECONDS, secure=secure)

    def sign_in(self, rules: Rules, person: Person, *, secure: bool = False) -> str:
        """Return the `Set-Cookie` value for the session of a person. The session ends when the rules for people change.

        Raises:
            ForbiddenError: the granted rights are for programs only.
        """
        if Scope.READ not in person.scopes:
            raise ForbiddenError(
                f"{person.name} may {' and '.join(sorted(person.scopes))}, and the page is for those who may read.",
                hint="Show a token of the issuer in a program, or ask who runs the service for another grant.",
            )
        kept = Rights(person.scopes, person.within).kept() if person.within else ""
        if len(kept) > _MOST_RIGHTS:
            raise ForbiddenError(
                f"The grants of {person.name} name too many namespaces for a session of the page.", hint="Use fewer or shorter patterns."
            )
        stated = json.dumps([rules.digest, person.tenant, person.name, kept])
        key = _PERSON + urlsafe_b64encode(stated.encode("utf-8")).decode("ascii").rstrip("=")
        return self._cookie_of(SESSION_SCOPES & person.scopes, key, _PERSON_SECONDS, secure=secure)

    def sign_out(self, header: str) -> str:
        """End the session in a browser's cookies. Returns the `Set-Cookie` value that removes the cookie.

        Raises:
            UnavailableError: the end of the session cannot be stored.
        """
        session = _cookie(header, self.cookie) or ""
        if self._ended is not None and self._session(session, "") is not None:
            stated = session.rpartition(".")[0]
            self._ended.end(stated, float(stated.partition(".")[0]))
        return f"{self.cookie}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"

    def sealed(self, *parts: str) -> str:
        """Return a signed `Set-Cookie` value that proves later that the same browser began a sign-in.

        `parts` consist of letters, digits, `-` and `_`.
        """
        stated = ".".join((str(int(self._clock()) + _SIGN_IN_SECONDS), *parts))
        lasts = f"Path=/login; Max-Age={_SIGN_IN_SECONDS}; HttpOnly; SameSite=Lax"
        return f"{self.cookie}_login={stated}.{self._sign('login', stated)}; {lasts}"

    def opened(self, header: str) -> list[str] | None:
        """Return the parts in a browser's signed sign-in cookie, or None if the cookie is missing, invalid or too old."""
        stated, _, signature = (_cookie(header, f"{self.cookie}_login") or "").rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign("login", stated).encode("ascii")):
            return None
        end, *parts = stated.split(".")
        return parts if int(end) > self._clock() else None

    def _cookie_of(self, scopes: Collection[Scope], key: str, seconds: int, *, secure: bool) -> str:
        stated = f"{int(self._clock()) + seconds}.{secrets.token_urlsafe(9)}.{'-'.join(sorted(scopes))}.{key}"
        attributes = f"Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
        return f"{self.cookie}={stated}.{self._sign('session', stated)}; {attributes}"

    def is_key(self, shown: str) -> bool:
        return hmac.compare_digest(sha256(shown.encode("utf-8", "replace")).digest(), self._digest)

    def _session(self, session: str, shown: str) -> Principal | None:
        stated, _, signature = session.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign("session", stated).encode("ascii")):
            return None
        end, nonce, stated_scopes, key = stated.split(".")
        began = int(end) - (_PERSON_SECONDS if key.startswith(_PERSON) else _SESSION_SECONDS)
        if int(end) <= self._clock() or (self._ended is not None and self._ended.has(stated, began)):
            return None
        scopes, tenant, name = frozenset(Scope(scope) for scope in stated_scopes.split("-")), self._tenant, "session"
        holder, within = "home", Rights(frozenset()).within
        if key.startswith(_PERSON):
            digest, tenant, person, *kept = json.loads(urlsafe_b64decode(key.removeprefix(_PERSON) + "=="))
            if kept and kept[0]:
                rights = kept_rights(kept[0])
                scopes, within = scopes & rights.scopes, rights.within
            if self._people is None or not self._people.are_rules(digest):
                return None
            name, holder = f"session:{person}", person
        elif key:
            owner = self.named.valid(key) if self.named is not None else None
            if owner is None:
                return None
            rights = owner.rights.settled()
            scopes, tenant, name, within = scopes & rights.scopes, owner.tenant, f"session:{owner.name}", rights.within
            holder = f"key:{owner.id}"
        token = self._sign("token", stated)
        return Principal(
            tenant, "session", f"{name}:{sha256(nonce.encode()).hexdigest()[:12]}", scopes=scopes, key=key, token=token, holder=holder,
            confirmed=hmac.compare_digest(shown.encode("utf-8", "replace"), token.encode("ascii")), within=within,
        )  # fmt: skip

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"headwater {purpose} 3 {text}".encode("utf-8", "replace"), sha256).hexdigest()


def granted(rules: Rules, claims: Mapping[str, Any]) -> Person:
    """Return the rights of a person of the issuer.

    Raises:
        ForbiddenError: the person has no rights, or rights in several tenants.
    """
    try:
        person = rules.person(claims)
    except ConfigurationError as error:
        raise ForbiddenError(error.message, hint=error.hint) from None
    if person is None:
        raise ForbiddenError(f"{name_of(claims)} may nothing here.", hint="Ask who runs the service for a grant (people.toml of its home).")
    return person


def _of_person(issuer: Issuer, token: str) -> Principal:
    person = granted(issuer.rules, issuer.claims(token, audiences=issuer.rules.audiences))
    return Principal(person.tenant, "key", person.name, scopes=person.scopes, key=_PERSON, holder=person.name, within=person.within)


def _of_key(key: NamedKey) -> Principal:
    rights = key.rights.settled()
    return Principal(
        key.tenant, "key", f"key:{key.name}:{key.id}", scopes=rights.scopes, key=key.id, holder=f"key:{key.id}", within=rights.within
    )


def _shown_key(headers: Mapping[str, str]) -> str | None:
    authorization = headers.get("authorization")
    if authorization is not None:
        scheme, _, value = authorization.partition(" ")
        return value.strip() if scheme.lower() == "bearer" else ""
    return headers.get("x-api-key")


def _cookie(header: str, name: str) -> str | None:
    try:
        morsel = SimpleCookie(header).get(name)
    except CookieError:
        return None  # malformed cookies contain no session
    return morsel.value if morsel else None
