"""The tables that replicas share, in the database of the shared log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from headwater.backend.ingest.log.postgres.address import Address, Questions, drop
from headwater.backend.ingest.log.postgres.migrations import migrate
from headwater.backend.tables.database import Row, Schema
from headwater.errors import ConfigurationError

if TYPE_CHECKING:
    from pg8000.native import Connection

_LOCK = 7_305_461_211  # key of an advisory lock: one replica migrates at a time


class PostgresDatabase:
    """A `Database` with one connection for writing and one for reading."""

    def __init__(self, schema: Schema, address: Address) -> None:
        migrate(address)
        _create_tables(schema, address)
        self.name = f"The store of {schema.what} in {address.url}"
        self._address = address
        self._questions = Questions(address)
        self._lock = Lock()
        self._connection: Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[_Transaction]:
        with self._lock, self._address.faults():
            connection = self._opened()
            try:
                yield _Transaction(connection)
                connection.run("COMMIT")
            except BaseException:
                self._drop()  # this also ends the transaction, in any state
                raise

    def _opened(self) -> Connection:
        from pg8000.exceptions import DatabaseError, InterfaceError

        if self._connection is not None:
            try:
                self._connection.run("BEGIN")
                return self._connection
            except (DatabaseError, InterfaceError, OSError):
                self._drop()
        self._connection = self._address.connect()
        self._connection.run("BEGIN")
        return self._connection

    def clock(self) -> float:
        return time.time()

    def ask(self, sql: str, **values: Any) -> list[Row]:
        return self._questions.ask(sql, **values)

    def close(self) -> None:
        with self._lock:
            self._drop()
        self._questions.close()

    def _drop(self) -> None:
        drop(self._connection)
        self._connection = None


class _Transaction:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(self, sql: str, **values: Any) -> list[Row]:
        return self._connection.run(sql, **values) or []

    def now(self) -> float:
        return float(self._connection.run("SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)")[0][0])


def _create_tables(schema: Schema, address: Address) -> None:
    """Run the missing migration steps. Several replicas may start at the same time.

    Raises:
        ConfigurationError: a newer version of Headwater made the tables.
    """
    connection = address.connect()
    try:
        with address.faults():
            connection.run("BEGIN")
            connection.run("SELECT pg_advisory_xact_lock(:lock)", lock=_LOCK)
            connection.run(f"CREATE TABLE IF NOT EXISTS {schema.prefix}_step (number integer PRIMARY KEY)")
            version = int(connection.run(f"SELECT coalesce(max(number), 0) FROM {schema.prefix}_step")[0][0])
            for number, statements in enumerate(schema.steps[version:], version + 1):
                for statement in statements:
                    connection.run(statement)
                connection.run(f"INSERT INTO {schema.prefix}_step VALUES (:number)", number=number)
            connection.run("COMMIT")
    finally:
        drop(connection)
    if version > len(schema.steps):
        raise ConfigurationError(
            f"The {schema.what} in the shared database were written by a newer Headwater.", hint="Upgrade this replica."
        )
