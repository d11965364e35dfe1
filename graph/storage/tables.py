"""Tables of databases and partitions of topics, whose records are read by their key: what a trace may ask of one.

For the formats of `graph/files/formats`, by way of a root of `settings`. A row has changed since a run read it where the database
can tell; where it cannot, that is said too, never assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.graph.storage.row_keys import KeyColumn

Recorded = Callable[[Collection[int]], Mapping[int, bytes | None]]  # the keys of numbers that are known; None: two keys have the number


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAsked:
    """Rows of a table: those of some keys, or all (None), no more than `most`. `columns` are name and Spark's type.

    `snapshot` and `relation` are what the database said before a run read the table: by them it tells what has changed since. Where the
    key is no single whole number, `key_columns` are its columns, and `recorded` the keys that the numbers in `keys` stand for.
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
class RowsFound:
    """Rows as they are now, a list of each column's values by key; `changed`: why rows, by key, are not what the run read.

    `unknown`: why it cannot be told which rows have changed; None where it can. Of columns that are `uncertain`, Spark may have read
    other values than these.
    """

    keys: Sequence[int]
    columns: Sequence[Sequence[Any]]
    changed: Mapping[int, str]
    unknown: str | None
    uncertain: frozenset[str] = frozenset()


class TableStore(Protocol):
    """One database, or the brokers of topics."""

    def rows(self, parts: Sequence[str], asked: RowsAsked) -> RowsFound:
        """Rows of a table, named by database, schema and table, or of a topic, by its name, id and partition.

        Raises:
            SourceUnavailableError: the database does not give them, or not in time.
        """
        ...


@dataclass(slots=True)
class StoredTable:
    """A table to read rows from. It remembers, for one trace, what it could not give: `doubts`, by key, or -1 for the whole of it."""

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
        """It has no bytes."""
        raise OSError(f"{self.uri} is a table, and no file")
