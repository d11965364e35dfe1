"""Requests for records of tables and partitions of topics by key, and the answers.

`graph/files/formats` uses them, through a root of `settings`. The database determines whether a row has changed since a run read it. If it
cannot, the answer reports that, and nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.graph.storage.row_keys import KeyColumn

Recorded = Callable[[Collection[int]], Mapping[int, bytes | None]]  # returns the recorded keys of numbers; None: two keys have the number


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRequest:
    """A request for rows of a table: rows with some keys, or all (None), at most `most`. `columns` are name and Spark's type.

    `snapshot` and `relation` are the database's state before a run read the table, from which it determines later changes. If the key is
    not a single integer, `key_columns` are its columns, and `recorded` has the keys for the numbers in `keys`.
    """

    key: str
    key_columns: Sequence[KeyColumn] = ()
    recorded: Mapping[int, bytes] = field(default_factory=dict)
    keys: Sequence[int] | None = None
    columns: Sequence[tuple[str, str]] = ()
    snapshot: str | None = None
    relation: str | None = None
    most: int = 1_000_000

    @property
    def key_names(self) -> list[str]:
        """Return the names of the key's columns."""
        return [column.name for column in self.key_columns] or [self.key]


@dataclass(frozen=True, slots=True)
class TableRows:
    """The present rows: a list of each column's values by key. `changed` has reasons why rows, by key, differ from what the run read.

    `unknown` is the reason why changed rows cannot be determined, or None. For columns in `uncertain`, Spark may have read other values.
    """

    keys: Sequence[int]
    columns: Sequence[Sequence[Any]]
    changed: Mapping[int, str]
    unknown: str | None
    uncertain: frozenset[str] = frozenset()


class TableStore(Protocol):
    """One database, or the brokers of topics."""

    def rows(self, parts: Sequence[str], asked: RowRequest) -> TableRows:
        """Return rows of a table (database, schema, table) or of a topic (name, id, partition).

        Raises:
            SourceUnavailableError: the database does not return them, or not in time.
        """
        ...


@dataclass(slots=True)
class StoredTable:
    """A table to read rows from. For one trace, it remembers rows that it could not return: `doubts`, by key; -1 stands for all rows."""

    uri: str
    parts: Sequence[str]
    store: TableStore
    doubts: dict[int, str] = field(default_factory=dict)
    recorded: Recorded | None = None  # the keys of numbers, as far as runs have recorded them

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def identity(self) -> Hashable:
        return self.uri

    @property
    def scan(self) -> str:
        """Return the URI. DuckDB does not read it."""
        return self.uri

    @property
    def name_in_answers(self) -> str:
        """Return the URI. DuckDB does not read it."""
        return self.uri

    def content(self) -> bytes:
        """Raise an error, because a table has no bytes."""
        raise OSError(f"{self.uri} is a table, and no file")
