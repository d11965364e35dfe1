"""Who asks: the key for programs, a ticket and a cookie for the page.

For the guard of every request. The key itself must never reach a browser: `headwater serve` prints a link with a ticket that works
once, the ticket becomes a signed cookie that no script can read and no other site can send, and that is forgotten with the key. The tenant
comes from here and nowhere else.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from threading import Lock

_TICKET_SECONDS = 24 * 3600
_SESSION_SECONDS = 7 * 24 * 3600
_MOST_TICKETS = 256


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom a request is from: `tenant` owns what it sees and writes; `method` is `key` or `session`."""

    tenant: str
    method: str


class Credentials:
    """Checks keys and sessions of one service, and issues tickets. Thread-safe."""

    def __init__(self, key: str, *, tenant: str, clock: Callable[[], float] = time.time) -> None:
        self._key = key.encode("utf-8")
        self._tenant = tenant
        self._clock = clock
        self._tickets: dict[str, float] = {}
        self._lock = Lock()
        # Cookies are shared by all ports of a host: services of two homes must not take each other's.
        self.cookie = f"headwater_{self._sign('cookie')[:8]}"

    def principal(self, headers: Mapping[str, str]) -> Principal | None:
        """The caller, by `Authorization: Bearer`, `X-Api-Key` or the cookie; None where nothing valid is shown."""
        shown = _shown_key(headers)
        if shown is not None:
            return Principal(self._tenant, "key") if self._is_key(shown) else None
        session = _cookie(headers.get("cookie", ""), self.cookie)
        return Principal(self._tenant, "session") if session and self._is_session(session) else None

    def ticket(self) -> str:
        """A ticket for the page's link. It works once, within a day."""
        ticket = secrets.token_urlsafe(24)
        with self._lock:
            now = self._clock()
            self._tickets = {t: end for t, end in self._tickets.items() if end > now}
            while len(self._tickets) >= _MOST_TICKETS:
                self._tickets.pop(next(iter(self._tickets)))
            self._tickets[ticket] = now + _TICKET_SECONDS
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """The `Set-Cookie` value that a ticket buys; None if it is unknown, used or too old."""
        with self._lock:
            end = self._tickets.pop(ticket, 0.0)
        if end <= self._clock():
            return None
        stated = f"{int(self._clock()) + _SESSION_SECONDS}.{secrets.token_urlsafe(9)}"
        return f"{self.cookie}={stated}.{self._sign(stated)}; Path=/; Max-Age={_SESSION_SECONDS}; HttpOnly; SameSite=Strict"

    def _is_key(self, shown: str) -> bool:
        return hmac.compare_digest(sha256(shown.encode("utf-8", "replace")).digest(), sha256(self._key).digest())

    def _is_session(self, session: str) -> bool:
        stated, _, signature = session.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(stated).encode("ascii")):
            return False
        return int(stated.partition(".")[0]) > self._clock()

    def _sign(self, text: str) -> str:
        return hmac.new(self._key, f"headwater session {text}".encode("utf-8", "replace"), sha256).hexdigest()


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
        return None  # what cannot be parsed holds no session
    return morsel.value if morsel else None
