"""The only way to append to a shared log: groups of writes, each group a transaction.

Offsets are assigned under a lock on the row of `counter`, held until the commit. A reader therefore sees an offset only after all smaller
ones, of any replica, and a document that two replicas accept at once gets one offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.backend.ingest.log.model import Draft, Receipt
from headwater.backend.ingest.log.postgres.address import Address, code_of, drop
from headwater.errors import UnavailableError

if TYPE_CHECKING:
    from pg8000.native import Connection


@dataclass(frozen=True, slots=True)
class Append:
    """Documents of one tenant to append."""

    tenant: str
    drafts: Sequence[Draft]
    received: str


Write = Append | Callable[["Connection"], Any]
_KNOWN = """
    SELECT e.tenant, e.key, e.number FROM unnest(CAST(:tenants AS text[]), CAST(:keys AS bytea[])) AS g(tenant, key)
    JOIN entry e ON e.tenant = g.tenant AND e.key = g.key"""
_INSERT = """
    INSERT INTO entry (number, tenant, kind, key, received, body)
    SELECT CAST(:first AS bigint) + g.place - 1, g.tenant, g.kind, g.key, g.received, g.body
    FROM unnest(CAST(:tenants AS text[]), CAST(:kinds AS text[]), CAST(:keys AS bytea[]), CAST(:received AS text[]),
        CAST(:bodies AS bytea[])) WITH ORDINALITY AS g(tenant, kind, key, received, body, place)"""


class Session:
    """The writing connection, reopened after it broke."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: Connection | None = None

    def commit(self, writes: Sequence[Write]) -> Sequence[Any]:
        """Do all writes in one transaction. If the server refuses the content of one, the others are done without it."""
        from pg8000.exceptions import DatabaseError

        try:
            with self._address.faults():
                return self._together(writes)
        except UnavailableError as error:
            cause = error.__context__
            if len(writes) == 1 or not isinstance(cause, DatabaseError) or code_of(cause)[:2] not in _OF_A_VALUE:
                raise
        return [self._alone(write) for write in writes]

    def close(self) -> None:
        drop(self._connection)
        self._connection = None

    def _alone(self, write: Write) -> Any:
        try:
            with self._address.faults():
                return self._together([write])[0]
        except UnavailableError as error:
            return error

    def _together(self, writes: Sequence[Write]) -> Sequence[Any]:
        try:
            connection = self._connection = self._connection or self._address.connect()
            connection.run("BEGIN")
            appended = iter(_append(connection, [write for write in writes if isinstance(write, Append)]))
            results = [next(appended) if isinstance(write, Append) else write(connection) for write in writes]
            connection.run("COMMIT")
        except BaseException:
            self.close()  # this also ends the transaction in any state
            raise
        return results


_OF_A_VALUE = {"22", "23", "54"}  # data exceptions, constraint violations, exceeded limits


def _append(connection: Connection, appends: Sequence[Append]) -> Sequence[Sequence[Receipt]]:
    if not appends:
        return []
    ((last,),) = connection.run("SELECT number FROM counter FOR UPDATE")
    wanted = {(append.tenant, draft.key): append for append in appends for draft in append.drafts}
    tenants, keys = [tenant for tenant, _ in wanted], _bytes(key for _, key in wanted)
    known = {(tenant, bytes(key)): int(number) for tenant, key, number in connection.run(_KNOWN, tenants=tenants, keys=keys)}
    new: list[tuple[str, Draft, str]] = []
    receipts: list[list[Receipt]] = []
    for append in appends:
        receipts.append([])
        for draft in append.drafts:
            number = known.get((append.tenant, draft.key))
            if number is None:
                new.append((append.tenant, draft, append.received))
                known[append.tenant, draft.key] = last + len(new)
            receipts[-1].append(Receipt(known[append.tenant, draft.key], duplicate=number is not None))
    if new:
        connection.run(
            _INSERT, first=last + 1, tenants=[tenant for tenant, _, _ in new], kinds=[draft.kind.value for _, draft, _ in new],
            keys=_bytes(draft.key for _, draft, _ in new), received=[received for _, _, received in new],
            bodies=_bytes(draft.body for _, draft, _ in new),
        )  # fmt: skip
        connection.run("UPDATE counter SET number = :number", number=last + len(new))
    return receipts


def _bytes(values: Iterable[bytes]) -> str:
    """Return an array of bytes in PostgreSQL's notation. The driver's own conversion takes three times as long."""
    return "{" + ",".join(f'"\\\\x{value.hex()}"' for value in values) + "}"
