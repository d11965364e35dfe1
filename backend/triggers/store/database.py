"""The two verbs that the store needs of a database. Statements name their values as `:name`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = Sequence[Any]


class Connection(Protocol):
    """A connection within a transaction."""

    def run(self, sql: str, **values: Any) -> list[Row]:
        """Run one statement, and return its rows."""

    def now(self) -> float:
        """Return the time. All replicas get it from the same clock."""


class Database(Protocol):
    """A database. Threads may share it. All verbs raise `UnavailableError` if it does not answer."""

    name: str

    def transaction(self) -> AbstractContextManager[Connection]:
        """Yield a connection. Its statements are committed together and durably, or not at all."""

    def clock(self) -> float:
        """Return the time of this machine, which may differ from that of a transaction."""

    def ask(self, sql: str, **values: Any) -> list[Row]:
        """Return the rows of a statement that only reads."""

    def close(self) -> None: ...
