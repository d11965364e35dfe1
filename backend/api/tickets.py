"""Tickets in the page's links. Each ticket works once, on any replica of a service."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from headwater.graph.access.scopes import Scope

if TYPE_CHECKING:
    from headwater.backend.ingest.log.postgres.address import Address

_MOST = 64  # limit of tickets of one owner


@dataclass(frozen=True, slots=True)
class Ticket:
    """The session that a ticket opens: scopes, an owner (the id of a named key; empty for the home's key), and an end."""

    ends: float
    scopes: frozenset[Scope]
    owner: str


class Tickets(Protocol):
    """The unused tickets of a service. Thread-safe."""

    def add(self, stated: Ticket, *, now: float) -> str:
        """Add a ticket, and return its text. Expired tickets are removed, and the oldest ticket of an owner with too many."""

    def take(self, ticket: str) -> Ticket | None:
        """Return the session of a ticket, and remove the ticket."""


class OwnTickets:
    """Tickets in the memory of one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tickets: dict[str, Ticket] = {}

    def add(self, stated: Ticket, *, now: float) -> str:
        ticket = secrets.token_urlsafe(24)
        with self._lock:
            self._tickets = {known: other for known, other in self._tickets.items() if other.ends > now}
            own = [known for known, other in self._tickets.items() if other.owner == stated.owner]
            for known in own[: max(0, len(own) - _MOST + 1)]:
                del self._tickets[known]
            self._tickets[ticket] = stated
        return ticket

    def take(self, ticket: str) -> Ticket | None:
        with self._lock:
            return self._tickets.pop(ticket, None)


class SharedTickets:
    """Tickets in the database of a shared log, stored as digests."""

    def __init__(self, address: Address) -> None:
        from headwater.backend.ingest.log.postgres.address import Questions

        self._questions = Questions(address)

    def add(self, stated: Ticket, *, now: float) -> str:
        ticket = secrets.token_urlsafe(24)
        self._questions.ask("DELETE FROM ticket WHERE ends <= :now", now=now)
        self._questions.ask(
            "DELETE FROM ticket WHERE digest IN (SELECT digest FROM ticket WHERE owner = :owner ORDER BY ends DESC OFFSET :most)",
            owner=stated.owner, most=_MOST - 1,
        )  # fmt: skip
        self._questions.ask(
            "INSERT INTO ticket VALUES (:digest, :ends, :scopes, :owner)",
            digest=_digest(ticket), ends=stated.ends, scopes=" ".join(sorted(stated.scopes)), owner=stated.owner,
        )  # fmt: skip
        return ticket

    def take(self, ticket: str) -> Ticket | None:
        rows = self._questions.ask("DELETE FROM ticket WHERE digest = :digest RETURNING ends, scopes, owner", digest=_digest(ticket))
        if not rows:
            return None
        ends, scopes, owner = rows[0]
        return Ticket(ends, frozenset(Scope(scope) for scope in scopes.split() if scope in set(Scope)), owner)


def _digest(ticket: str) -> bytes:
    return sha256(ticket.encode("utf-8", "replace")).digest()
