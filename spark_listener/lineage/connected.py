"""The datasets of a connector, from the options of the program: tables of databases, topics of Kafka.

A description has `jdbc` or `kafka` (`servers`, `topics`) as the program gave them. `jdbc` has `url`, `dbtable` or `query`, `prepare` for
statements before that, and `schemas`, the columns of tables in its text if the database was asked. Next to it, `parts` has schema and table
if the catalog was asked. These may contain secrets. The results of this module contain none, and nothing else uses the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from headwater.spark_listener.lineage.jdbc import database_of, parts_of
from headwater.spark_listener.lineage.naming import Name, topic_name
from headwater.spark_listener.lineage.sqltext import ReadByQuery, read_by

TOLD = ("jdbc", "kafka", "parts", "catalog_of", "static_partitions", "unknown")  # members of a description for events only


@dataclass(frozen=True, slots=True)
class Connected:
    """Datasets that a connector reads or writes. If `by_query` is set, a database query reads them. `problem` states what is unknown."""

    datasets: Sequence[Name]
    by_query: ReadByQuery | None = None
    problem: str | None = None


def open_columns(described: Mapping[str, Any]) -> str | None:
    """Return a reason if sources of a query's columns are unknown. None if all are known."""
    found = connected(described)
    read = found.by_query if found is not None else None
    if read is None or not (read.unknown or read.are_rows_unknown):
        return None
    columns = f"the columns {', '.join(read.unknown[:8])}{' and others' if len(read.unknown) > 8 else ''}" if read.unknown else ""
    rows = "the choice of its rows" if read.are_rows_unknown else ""
    tables = ", ".join(name for _, name in read.tables[:8]) or "its tables"
    return f"which columns of {tables} make {' and '.join(filter(None, (columns, rows)))} of a query's result is not known"


def tables_to_ask(described: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tables whose columns determine the sources of a query's columns, named as in its text."""
    found = connected(described)
    return found.by_query.asks if found is not None and found.by_query is not None else ()


def connected(described: Mapping[str, Any]) -> Connected | None:
    if isinstance(jdbc := described.get("jdbc"), Mapping):
        columns = tuple(str(column["name"]) for column in described.get("columns") or ())
        parts = tuple(str(part) for part in described.get("parts") or ())
        schemas = tuple((str(table), tuple(map(str, names))) for table, names in (jdbc.get("schemas") or {}).items())
        texts = (str(jdbc.get(member) or "") for member in ("url", "dbtable", "query", "prepare"))
        return _of_jdbc(*texts, columns, parts, schemas)
    if isinstance(kafka := described.get("kafka"), Mapping):
        return _of_kafka(kafka)
    return None


@lru_cache(256)  # a query's source is looked up a few times
def _of_jdbc(
    url: str,
    table: str,
    query: str,
    prepare: str,
    columns: tuple[str, ...],
    parts: tuple[str, ...],
    schemas: tuple[tuple[str, tuple[str, ...]], ...],
) -> Connected:
    database = database_of(url)
    if parts:  # the catalog was asked
        return Connected([database.table(parts)])
    whole = database.whole()
    named = parts_of(table, database) if table and not prepare.strip() else None
    if named is not None:
        return Connected([database.table(named)])
    if not table and not query:
        return Connected([whole], problem=f"which tables of {whole[1]} it means cannot be told: it names none")
    # in Spark's form: a query follows `prepare` in brackets
    text = f"SELECT * FROM {table}" if table else f"SELECT * FROM ({query}\n) headwater_query" if prepare.strip() else query
    read = read_by(text, columns, database, dict(schemas), prepare)
    if isinstance(read, str):
        where = "its query" if query or table.lstrip().startswith("(") else "its dbtable"
        return Connected([whole], problem=f"which tables of {whole[1]} {where} reads is not known: {read}")
    if read.is_table and table and not prepare.strip():
        return Connected(list(read.tables))
    return Connected(list(read.tables), read)


def _of_kafka(kafka: Mapping[str, Any]) -> Connected:
    servers, topics = str(kafka.get("servers") or ""), kafka.get("topics")
    names = [topic_name(servers, str(topic)) for topic in topics or ()]
    found = [name for name in names if name is not None]
    if not found:
        return Connected([], problem="which topics it means is not known before it runs" if not names else "its brokers are not known")
    return Connected(found)
