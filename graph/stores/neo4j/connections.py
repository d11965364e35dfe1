"""The driver of one Neo4j database: managed transactions, which it repeats after transient failures, and its errors as Headwater's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString, TypeVar

from neo4j import READ_ACCESS, AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction
from neo4j.exceptions import AuthError, ClientError, DriverError, Neo4jError, ServiceUnavailable
from neo4j.exceptions import ConfigurationError as DriverConfigurationError

from headwater.errors import ConfigurationError, UnavailableError

T = TypeVar("T")

# Seconds until a caller is told that the server is away: whoever can wait longer (the projector) tries again by itself.
_PATIENCE = 5.0
Work = Callable[[AsyncManagedTransaction], Awaitable[T]]


class Connections:
    """Runs functions of a transaction. `open` must have been awaited in the event loop that uses it."""

    def __init__(self, uri: str, *, user: str | None, password: str | None, database: str | None) -> None:
        self._uri = uri
        self._auth = (user or "neo4j", password) if password else None
        self._database = database
        self._driver: AsyncDriver | None = None

    async def open(self) -> None:
        """Connect. Where the server does not answer, this raises and may be repeated, and what is asked later is tried at the server."""
        await self.close()
        with _translated(self._uri):
            self._driver = AsyncGraphDatabase.driver(
                self._uri,
                auth=self._auth,
                connection_timeout=2 * _PATIENCE,
                connection_acquisition_timeout=2 * _PATIENCE,
                max_transaction_retry_time=_PATIENCE,
                # A label that no node bears yet is no mistake in a new database.
                notifications_disabled_classifications=["UNRECOGNIZED"],
            )
            await self._driver.verify_connectivity()

    async def close(self) -> None:
        """Close every connection."""
        if self._driver is not None:
            await self._driver.close()
            self._driver = None

    async def write_with(self, work: Work[T]) -> T:
        """Run `work` in a transaction; it may be run again after a transient failure."""
        with _translated(self._uri):
            async with self._connected().session(database=self._database) as session:
                return await session.execute_write(work)

    async def read_with(self, work: Work[T]) -> T:
        """As `write_with`, for work that only reads."""
        with _translated(self._uri):
            async with self._connected().session(database=self._database) as session:
                return await session.execute_read(work)

    async def read(self, statement: LiteralString, **parameters: Any) -> list[list[Any]]:
        """The rows of one statement that only reads."""
        return await self.read_with(lambda transaction: rows(transaction, statement, **parameters))

    async def read_at_once(self, statement: LiteralString, **parameters: Any) -> list[list[Any]]:
        """As `read`, in one trip to the server instead of two: the statement is its own transaction. For what is asked again and again."""
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
        """The rows of one statement that only reads, of which there may be any number, so many at a time."""
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
    """The rows of a statement, each as a list of its values."""
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
        # A connection that broke while a transaction was committed leaves open whether it was: merging again is right in both cases.
        if error.is_retryable() or isinstance(error, ServiceUnavailable):
            raise UnavailableError(f"Neo4j at {uri} does not answer now: {error}.") from error
        raise
