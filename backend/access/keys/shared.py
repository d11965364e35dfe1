"""Named keys in the database of a shared log. Changes take effect in every replica within two seconds (see `copied`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwater.backend.access.keys.model import NamedKey, key_of
from headwater.backend.ingest.log.postgres.address import Address, Questions, drop
from headwater.backend.ingest.log.postgres.table_copy import Copied

if TYPE_CHECKING:
    from pg8000.native import Connection

_COLUMNS = "id, name, tenant, digest, scopes, created, expires, revoked, used"
_ALL = f"SELECT {_COLUMNS} FROM named_key ORDER BY number"


class SharedKeys:
    """The table of named keys in the database. Thread-safe."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._questions = Questions(address)
        self._used: dict[str, float] = {}
        self._known = Copied(self._read, "named keys")

    def all(self) -> list[NamedKey]:
        return [key_of(row) for row in self._questions.ask(_ALL)]

    def one(self, identifier: str) -> NamedKey | None:
        return self._known.now().get(identifier)

    def note_use(self, identifier: str, at: float) -> None:
        """Record the use in memory. The next read of the table stores it, so that a request does not wait."""
        self._used[identifier] = at

    def close(self) -> None:
        self._known.close()
        self._questions.close()

    def _read(self) -> dict[str, NamedKey]:
        while self._used:
            identifier, at = self._used.popitem()
            self._questions.ask("UPDATE named_key SET used = greatest(used, :at) WHERE id = :id", at=at, id=identifier)
        return {key.id: key for key in self.all()}

    @contextmanager
    def changes(self) -> Iterator[_Changes]:
        connection = self._address.connect()
        try:
            with self._address.faults():
                connection.run("BEGIN")
                connection.run("LOCK TABLE named_key IN SHARE ROW EXCLUSIVE MODE")
            yield _Changes(connection, self._address)
            with self._address.faults():
                connection.run("COMMIT")
        finally:
            drop(connection)


class _Changes:
    def __init__(self, connection: Connection, address: Address) -> None:
        self._connection = connection
        self._address = address

    def all(self) -> list[NamedKey]:
        with self._address.faults():
            return [key_of(row) for row in self._connection.run(_ALL) or ()]

    def add(self, key: NamedKey) -> None:
        with self._address.faults():
            self._connection.run(
                "INSERT INTO named_key (id, name, tenant, digest, scopes, created, expires)"
                " VALUES (:id, :name, :tenant, :digest, :scopes, :created, :expires)",
                id=key.id, name=key.name, tenant=key.tenant, digest=key.digest, scopes=key.rights.kept(), created=key.created,
                expires=key.expires,
            )  # fmt: skip

    def end(self, name: str, tenant: str, at: float) -> None:
        with self._address.faults():
            statement = "UPDATE named_key SET expires = least(expires, :at) WHERE name = :name AND tenant = :tenant AND revoked IS NULL"
            self._connection.run(statement, at=at, name=name, tenant=tenant)

    def revoke(self, identifiers: Sequence[str], at: float) -> None:
        with self._address.faults():
            statement = "UPDATE named_key SET revoked = :at WHERE id = ANY (CAST(:ids AS text[]))"
            self._connection.run(statement, at=at, ids=list(identifiers))
