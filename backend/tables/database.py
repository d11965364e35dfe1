"""The interface of a database of tables. Statements have named parameters in the form `:name`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one part of Headwater. `what` names the part in messages, and `prefix` begins the names of its tables.

    `steps` are the numbered migrations. Their statements are valid in SQLite and in PostgreSQL.
    """

    what: str
    prefix: str
    steps: Sequence[Sequence[str]]


class Connection(Protocol):
    """A connection within a transaction."""

    def run(self, sql: str, **values: Any) -> list[Row]:
        """Run one statement, and return its rows."""

    def now(self) -> float:
        """Return the time in seconds since 1970. All replicas use the same clock."""


class Database(Protocol):
    """A database that threads may share. All methods raise `UnavailableError` if the database does not answer."""

    name: str

    def transaction(self) -> AbstractContextManager[Connection]:
        """Open a transaction. Its statements are committed together and durably, or not at all."""

    def clock(self) -> float:
        """Return the time of this machine, which may differ from the time of a transaction."""

    def ask(self, sql: str, **values: Any) -> list[Row]:
        """Run a statement that only reads, and return its rows."""

    def close(self) -> None: ...
