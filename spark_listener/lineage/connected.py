"""What a plan reads or writes through a connector, by what the connector was told: tables of databases, topics of Kafka.

A description has `jdbc` (`url`, and `dbtable` or `query`; beside it `parts`, schema and table, where the catalog was asked) or `kafka`
(`servers`, `topics`) as the program gave them. These may hold secrets: what comes from here does not, and they go nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from headwater.spark_listener.lineage.jdbc import database_of, parts_of
from headwater.spark_listener.lineage.naming import Name, topic_name
from headwater.spark_listener.lineage.sqltext import ReadByQuery, read_by

TOLD = ("jdbc", "kafka", "parts", "catalog_of", "static_partitions")  # members of a description that are for events alone

# a table with a name in the query that Spark makes: `(select …) t`, `(select …) as t`
_IN_BRACKETS = re.compile(r"\((?P<query>.*)\)\s*(?:as\s+)?(?:[\w$]+|\"[^\"]*\"|`[^`]*`)?\s*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Connected:
    """What is read or written. `by_query` where a query of the database's own reads it; `problem` says what is not known."""

    datasets: Sequence[Name]
    by_query: ReadByQuery | None = None
    problem: str | None = None


def connected(described: Mapping[str, Any]) -> Connected | None:
    """What a description names; None where it is of no connector that is known here."""
    if isinstance(jdbc := described.get("jdbc"), Mapping):
        columns = tuple(str(column["name"]) for column in described.get("columns") or ())
        parts = tuple(str(part) for part in described.get("parts") or ())
        return _of_jdbc(*(str(jdbc.get(member) or "") for member in ("url", "dbtable", "query")), columns, parts)
    if isinstance(kafka := described.get("kafka"), Mapping):
        return _of_kafka(kafka)
    return None


@lru_cache(256)  # one query's source is asked for a few times
def _of_jdbc(url: str, table: str, query: str, columns: tuple[str, ...], parts: tuple[str, ...]) -> Connected:
    database = database_of(url)
    if parts:  # the catalog was asked
        return Connected([database.table(parts)])
    if table:
        named = parts_of(table, database)
        if named is not None:
            return Connected([database.table(named)])
        found = _IN_BRACKETS.fullmatch(table.strip())
        query = found["query"] if found else ""
    if not query:
        return Connected([database.whole()], problem=f"which tables of {database.whole()[1]} it means cannot be told: it names none")
    read = read_by(query, columns, database)
    if isinstance(read, str):
        return Connected([database.whole()], problem=f"which tables of {database.whole()[1]} its query reads is not known: {read}")
    return Connected(list(read.tables), read)


def _of_kafka(kafka: Mapping[str, Any]) -> Connected:
    servers, topics = str(kafka.get("servers") or ""), kafka.get("topics")
    names = [topic_name(servers, str(topic)) for topic in topics or ()]
    found = [name for name in names if name is not None]
    if not found:
        return Connected([], problem="which topics it means is not known before it runs" if not names else "its brokers are not known")
    return Connected(found)
