"""The connection to one Neo4j database: transactions that are repeated after transient failures, and translation of errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString, TypeVar

from neo4j import READ_ACCESS, AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction
from neo4j.exceptions import AuthError, ClientError, DriverError, Neo4jError, ServiceUnavailable
from neo4j.exceptions import ConfigurationError as DriverConfigurationError

from headwater.errors import ConfigurationError, UnavailableError

T = TypeVar("T")

# Seconds until a caller gets the error that the server is away. Callers that can wait longer (the projector) retry themselves.
_PATIENCE = 5.0
Work = Callable[[AsyncManagedTransaction], Awaitable[T]]


class Connections:
    """Runs functions in a transaction. `open` must have been awaited in the same event loop."""

    def __init__(self, uri: str, *, user: str | None, password: str | None, database: str | None) -> None:
        self._uri = uri
        self._auth = (user or "neo4j", password) if password else None
        self._database = database
        self._driver: AsyncDriver | None = None

    async def open(self) -> None:
        """Connect. If the server does not answer, this raises and may be repeated; later calls still try the server."""
        await self.close()
        with _translated(self._uri):
            self._driver = AsyncGraphDatabase.driver(
                self._uri,
                auth=self._auth,
                connection_timeout=2 * _PATIENCE,
                connection_acquisition_timeout=2 * _PATIENCE,
                max_transaction_retry_time=_PATIENCE,
                # In a new database, a label without nodes is not a mistake.
                notifications_disabled_classifications=["UNRECOGNIZED"],
            )
            await self._driver.verify_connectivity()

    async def close(self) -> None:
        if self._driver is not None:
            await self._driver.close()
            self._driver = None

    async def write_with(self, work: Work[T]) -> T:
        """Run `work` in a transaction. It may run again after a transient failure."""
        with _translated(self._uri):
            async with self._connected().session(database=self._database) as session:
                return await session.execute_write(work)

    async def read_with(self, work: Work[T]) -> T:
        """Run `work` in a transaction that only reads. It may run again after a transient failure."""
        with _translated(self._uri):
            async with self._connected().session(database=self._database) as session:
                return await session.execute_read(work)

    async def read(self, statement: LiteralString, **parameters: Any) -> list[list[Any]]:
        return await self.read_with(lambda transaction: rows(transaction, statement, **parameters))

    async def read_at_once(self, statement: LiteralString, **parameters: Any) -> list[list[Any]]:
        """Run a reading statement in its own transaction, with one trip to the server instead of two. Use it for frequent statements."""
        with _translated(self._uri):
            async with self._connected().session(database=self._database, default_access_mode=READ_ACCESS) as session:
                try:
                    return await (await session.run(statement, parameters)).values()
                except (Neo4jError, DriverError) as error:
                    if not error.is_retryable():
                        raise
        return await self.read(statement, **parameters)

    async def run(self, statement: LiteralString, **parameters: Any) -> None:
        """Run one statement that makes its own transactions (a schema command, a deletion in portions)."""
        with _translated(self._uri):
            async with self._connected().session(database=self._database) as session:
                await (await session.run(statement, parameters)).consume()

    async def stream(self, statement: LiteralString, *, portion: int, **parameters: Any) -> AsyncIterator[list[list[Any]]]:
        """Yield the rows of a reading statement in portions. The number of rows is unlimited."""
        with _translated(self._uri):
            async with self._connected().session(database=self._database, default_access_mode=READ_ACCESS, fetch_size=portion) as session:
                result = await session.run(statement, parameters)
                while records := await result.fetch(portion):
                    yield [record.values() for record in records]

    def _connected(self) -> AsyncDriver:
        if self._driver is None:
            raise ConfigurationError("The Neo4j store is not open.", hint="Await open() first.")
        return self._driver


async def rows(transaction: AsyncManagedTransaction, statement: LiteralString, **parameters: Any) -> list[list[Any]]:
    result = await transaction.run(statement, parameters)
    return await result.values()


@contextmanager
def _translated(uri: str) -> Iterator[None]:
    try:
        yield
    except AuthError as error:
        raise ConfigurationError(f"Neo4j at {uri} refuses the login.", hint="Check user and password.") from error
    except DriverConfigurationError as error:
        raise ConfigurationError(f"Neo4j at {uri} cannot be used so: {error}.") from error
    except (Neo4jError, DriverError) as error:
        if isinstance(error, ClientError) and "DatabaseNotFound" in (error.code or ""):
            raise ConfigurationError(f"Neo4j at {uri} has no such database: {error.message}.", hint="Name one that exists.") from error
        # If the connection breaks during a commit, the outcome is unknown. Merging again is correct in both cases.
        if error.is_retryable() or isinstance(error, ServiceUnavailable):
            raise UnavailableError(f"Neo4j at {uri} does not answer now: {error}.") from error
        raise
