"""Requests for records of tables and partitions of topics by key, and the answers.

Used by `graph/files/formats`, through a root of `settings`. The database says whether a row has changed since a run read it. If it cannot,
the answer says so, and nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.graph.storage.row_keys import KeyColumn

Recorded = Callable[[Collection[int]], Mapping[int, bytes | None]]  # the keys of numbers that are known; None: two keys have the number


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRequest:
    """A request for rows of a table: rows with some keys, or all (None), at most `most`. `columns` are name and Spark's type.

    `snapshot` and `relation` are the database's state before a run read the table, from which it determines later changes. If the key is
    not a single integer, `key_columns` are its columns, and `recorded` has the keys behind the numbers in `keys`.
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
        """The columns of the key."""
        return [column.name for column in self.key_columns] or [self.key]


@dataclass(frozen=True, slots=True)
class TableRows:
    """The current rows: a list of each column's values by key. `changed` has reasons why rows, by key, are not what the run read.

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
        """Rows of a table, named by database, schema and table, or of a topic, by its name, id and partition.

        Raises:
            SourceUnavailableError: the database does not give them, or not in time.
        """
        ...


@dataclass(slots=True)
class StoredTable:
    """A table to read rows from. For one trace, it remembers rows that it could not return: `doubts`, by key; -1 stands for all rows."""

    uri: str
    parts: Sequence[str]
    store: TableStore
    doubts: dict[int, str] = field(default_factory=dict)
    recorded: Recorded | None = None  # what numbers stand for, as far as runs have recorded it

    @property
    def name(self) -> str:
        """Its last part."""
        return self.parts[-1]

    @property
    def identity(self) -> Hashable:
        return self.uri

    @property
    def scan(self) -> str:
        """DuckDB does not read it."""
        return self.uri

    @property
    def name_in_answers(self) -> str:
        """Likewise."""
        return self.uri

    def content(self) -> bytes:
        """Return no bytes: a table has none."""
        raise OSError(f"{self.uri} is a table, and no file")
